//! What a Git repository on this host says about itself.

mod ask;
mod git_dir;
mod inspect;
mod known_refs;
mod ref_state;
mod refs;

pub use ask::{ask_git, project_files, taken_files};
pub(crate) use git_dir::GitDir;
pub use git_dir::{common_dir, toplevel};
pub(crate) use inspect::origin;
pub use inspect::{Commit, Head, RepositoryError, RepositoryFacts, glance, inspect};
pub use known_refs::RepositoryRefs;
pub use ref_state::ref_state;
pub(crate) use refs::{HeadRef, head, resolve};
