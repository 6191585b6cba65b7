//! Waiting for changes of a working tree, and choosing the jobs to run after them.
//!
//! [`TreeWatch`] reports changed files; [`Rounds`] records what ran. Each round is an ordinary run
//! ([`LocalRun`](crate::LocalRun)) with its own number.
//!
//! An event of the system only starts a comparison: the files of a snapshot are listed again and compared by their
//! metadata, then by their contents. So ignored files, editors' temporary files and a `touch` are not changes, a lost
//! event does no harm, and a `git checkout` of thousands of files is one change.

mod debounce;
mod editor_files;
mod fs_watches;
mod messages;
mod rounds;
mod stamp;
mod tree_news;
mod tree_state;
mod tree_watch;
mod watcher;

pub use rounds::Rounds;
pub use tree_news::{TreeNews, WatchMeans};
pub use tree_watch::TreeWatch;
