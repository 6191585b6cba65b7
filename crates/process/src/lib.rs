//! Starts process trees and ends them, whatever happens.
//!
//! ```
//! use process::{Command, NeverStop, Settings, Stdin, Stream, Supervisor, Timing};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), process::ProcessError> {
//! let supervisor = Supervisor::start(Settings::default())?;
//! let tree = supervisor.tree();
//! let shell = Command::new("sh")
//!     .env("PATH", "/usr/bin:/bin")
//!     .stdin(Stdin::Bytes(b"setsid sleep 600 & echo hello".to_vec()));
//!
//! let mut output = Vec::new();
//! let mut sink = |_: Stream, bytes: &[u8]| output.extend_from_slice(bytes);
//! let outcome = tree.spawn(&shell)?.run(&mut sink, &NeverStop, &Timing::default()).await?;
//!
//! assert!(outcome.success());
//! assert_eq!(output, b"hello\n");
//! tree.close().await?;
//! # Ok(())
//! # }
//! ```
//!
//! The types a newcomer needs:
//!
//! - [`Supervisor`]: one per run of the runner;
//! - [`ProcessTree`]: one per job, holds everything the job starts;
//! - [`Process`]: one started [`Command`]; [`Process::run`] waits for its [`Outcome`].
//!
//! # What is killed when
//!
//! | event | effect |
//! |---|---|
//! | the main process of a [`Process`] ends | what it started and what still lives is killed, `setsid` children included |
//! | [`StopLevel::Terminate`] | SIGTERM to the process group, SIGKILL after the grace |
//! | [`StopLevel::Kill`] | SIGKILL to everything the process started |
//! | a [`Process`] or its wait is dropped | the same, without waiting |
//! | [`ProcessTree::close`] | everything in the tree is killed and gone on return |
//!
//! # How processes are held
//!
//! A job has a cgroup and each of its processes a leaf in it, where the system
//! allows it; see [`Containment`] for what is done where it does not. A child is
//! started inside its leaf, so there is no moment in which it could escape.
//!
//! Linux only: it needs pidfds (5.4), and cgroups are used from 5.14 on.

mod supervisor;
mod tree;

mod command;
mod process;
mod sink;
mod status;
mod stop;

mod capture;
mod temp_dir;

mod guardian;
mod journal;
mod recover;

mod cgroup;
mod children;
mod error;
mod pump;
mod remove;
mod scan;
mod sys;

pub use capture::{CaptureLimits, Captured};
pub use command::{Command, Stdin};
pub use error::ProcessError;
pub use journal::Journal;
pub use process::{Process, Timing};
pub use recover::{Recovered, recover};
pub use remove::remove_tree;
pub use sink::{OutputSink, Stream};
pub use status::{Ended, ExitStatus, Outcome, Usage};
pub use stop::{NeverStop, StopLevel, StopSignal};
pub use supervisor::{Containment, Settings, Supervisor};
pub use temp_dir::TempDir;
pub use tree::ProcessTree;
