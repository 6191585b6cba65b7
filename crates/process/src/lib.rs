//! Starts process trees, and ends them in every case.
//!
//! ```
//! use process::{Command, NeverStop, Settings, Stdin, Stream, Supervisor, Timing, recover};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let temporary = tempfile::tempdir()?;
//! # let state_dir = temporary.path();
//! // Removes the leftovers of killed runs.
//! recover(state_dir)?;
//! let settings = Settings { state_dir: Some(state_dir.to_owned()), ..Settings::default() };
//! let supervisor = Supervisor::start(settings)?;
//!
//! let tree = supervisor.tree();
//! let shell = Command::new("sh")
//!     .env("PATH", "/usr/bin:/bin")
//!     .stdin(Stdin::Bytes(b"setsid sleep 600 >/dev/null & echo hello".to_vec()));
//! let mut output = Vec::new();
//! let mut sink = |_: Stream, bytes: &[u8]| output.extend_from_slice(bytes);
//! let outcome = tree.spawn(&shell)?.run(&mut sink, &NeverStop, &Timing::default()).await?;
//! assert!(outcome.success());
//! assert_eq!(output, b"hello\n");
//!
//! tree.close().await?;
//! supervisor.shutdown().await?;
//! # Ok(())
//! # }
//! ```
//!
//! The main types:
//!
//! - [`Supervisor`]: one per run of the runner, with its [`Journal`] and its guardian;
//! - [`ProcessTree`]: one per job, contains all processes of the job;
//! - [`Process`]: one started [`Command`]; [`Process::run`] waits for its [`Outcome`],
//!   [`ProcessTree::output`] does so for a short tool call.
//!
//! # What is killed when
//!
//! | event | effect |
//! |---|---|
//! | the main process of a [`Process`] ends | all other processes that it started are killed and gone when `run` returns, `setsid` children included; a pipe that is still open is read for [`Timing::pipe_grace`] first |
//! | the same, after [`Command::keep_descendants`] | the others live on until the tree is closed |
//! | [`StopLevel::Cancel`](executor_core::StopLevel::Cancel) | SIGTERM to the process group, SIGKILL after [`Timing::terminate_grace`] |
//! | [`StopLevel::Abort`](executor_core::StopLevel::Abort) | SIGKILL to all processes that it started |
//! | a [`Process`] or the future of its `run` is dropped | the same, without waiting |
//! | [`ProcessTree::close`] | all processes in the tree are killed and gone on return |
//! | [`Supervisor::shutdown`] | all processes of the run are killed and gone, and the guardian and the journal with them |
//! | the runner is killed | the guardian kills the processes, unmounts the [`Mount`]s and removes the [`TempDir`]s |
//! | the guardian is killed as well | [`recover`] does the same at the next start |
//!
//! # Containment
//!
//! Where the system allows it, a job has a cgroup, and each of its processes a leaf cgroup in it. A child
//! starts inside its leaf, so it cannot escape. A job that leaves both empty and unchanged passes them on to
//! the next one; a killed cgroup is removed.
//!
//! Without cgroups the runner becomes a subreaper, and finds processes by group, by ancestry, by the
//! variable `RUNWRIGHT_PROCESS_MARKER` and by a limit that they inherit; [`Containment::NoCgroup`] describes what that
//! misses. Such a runner must start all its processes through this crate: a child with a process group of its own that
//! this crate does not await counts as a job's leftover, unless [`adopt_orphans`] announces orphans of other programs.
//!
//! Neither method of starting copies the runner's page tables, so the cost does not grow with the runner's
//! memory; see `benches/spawn.rs`.
//!
//! Linux only: pidfds need 5.4, and cgroups are used from 5.14 on.

mod supervisor;
mod tree;

mod command;
mod process;
mod sink;
mod status;
mod stop;

mod capture;
mod environment;
mod file_lock;
mod folder;
mod new_file;
mod private_dir;
mod program_file;
mod temp_dir;

mod mount;
mod mount_table;
mod overlay;
mod unmount;
mod user_namespace;

mod guardian;
mod journal;
mod recover;

mod cgroup;
mod cgroup_state;
mod children;
mod error;
mod job_cgroup;
mod leaf;
mod limits;
mod pump;
mod remove;
mod scan;
mod scope;
mod sys;

pub use capture::{CaptureLimits, Captured};
pub use children::{adopt_orphans, collect_adopted, collect_orphans};
pub use command::{Command, Stdin};
pub use environment::Environment;
pub use error::ProcessError;
pub use file_lock::{FileLock, LockKind};
pub use folder::{Folder, parent_and_name};
pub use guardian::wait_for_guardians;
pub use journal::Journal;
pub use limits::{
    check_runtime_files, raise_open_file_limit, restore_open_file_limit, survive_file_size_limit,
};
pub use mount::Mount;
pub use new_file::{NewFile, replace_file};
pub use overlay::{Layers, Overlays};
pub use private_dir::{make_private_dir, make_private_dir_all};
pub use process::{Process, Timing};
pub use program_file::write_program;
pub use recover::{Recovered, recover};
pub use remove::{remove_tree, remove_tree_off_thread};
pub use sink::{OutputSink, Stream, TraceOutput};
pub use status::{Ended, ExitStatus, Outcome, Usage};
pub use stop::{NeverStop, StopSignal};
pub use supervisor::{Containment, Settings, Supervisor};
pub use temp_dir::TempDir;
pub use tree::ProcessTree;
pub use unmount::remove_job_tree;
pub use user_namespace::{can_mount, enter_user_namespace};
