//! What a Git repository on this host says about itself.

mod git_dir;
mod inspect;
mod refs;

pub(crate) use git_dir::GitDir;
pub use git_dir::toplevel;
pub use inspect::{Commit, Head, RepositoryError, RepositoryFacts, inspect};
pub(crate) use inspect::{origin, without_credentials};
pub(crate) use refs::{HeadRef, head, resolve};
