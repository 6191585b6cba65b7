//! Waiting for changes of a working tree, and what of a pipeline runs again because of them.
//!
//! [`TreeWatch`] tells which files changed; [`Rounds`] keeps account of what ran. Each round is a run as any
//! other ([`LocalRun`](crate::LocalRun)), with a number of its own.
//!
//! What the system tells of changes is only a reason to look: the files that a snapshot of the tree would
//! take are listed again, and compared by what they are, and by their contents where that has changed. So
//! ignored files, what editors leave beside files, and a `touch` are no changes, a lost message costs
//! nothing, and a `git checkout` of thousands of files is one change.

mod debounce;
mod editor_files;
mod fs_watches;
mod messages;
mod rounds;
mod stamp;
mod tree_state;
mod tree_watch;
mod watcher;

pub use rounds::Rounds;
pub use tree_watch::{TreeNews, TreeWatch, WatchMeans};
