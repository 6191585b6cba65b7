//! What a Git repository on this host says about itself.

mod git_dir;
mod inspect;
mod refs;

pub(crate) use git_dir::GitDir;
pub use git_dir::toplevel;
pub(crate) use inspect::origin;
pub use inspect::{Commit, Head, RepositoryError, RepositoryFacts, inspect};
pub(crate) use refs::{HeadRef, head, resolve};
