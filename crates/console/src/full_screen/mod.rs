//! The full screen of `--progress tui`: the graph by stage, the log of the selected job, and keys that
//! start, retry and cancel jobs.
//!
//! # Shape
//!
//! ```text
//! threads of jobs: events -> ScreenState <- keys, mouse, time: the thread of the screen
//!                              |  \-> Action -> RunHandle: the run's controls
//!                              \-> draw: a picture -> Canvas: the bytes that change -> the terminal
//! ```
//!
//! The `ScreenState` is what is known and what was asked to be shown; `draw` makes a picture of it for any
//! size. Both touch nothing, so tests need no terminal. The edge is small: `FullScreen` takes events,
//! `reader` is the thread, `screen` has the terminal and gives it back.
//!
//! # Who waits for whom
//!
//! Jobs never wait for the terminal. A picture is made while the state is locked, which takes a
//! moment, and written when it is not. There are ten frames a second at most besides those that a key
//! asked for, one a second when nothing happens, and each is one write that a terminal shows at once.
//!
//! # Shells
//!
//! For a shell the screen gives the terminal back and takes it again afterwards; its thread waits
//! meanwhile. In a job that runs the shell is one of the run's `Terminals`; for any other job this
//! program is started once more, as `runwright shell`, which has Ctrl-C for itself.
//!
//! # Logs
//!
//! The last lines of each log are in memory, all others in one file without a name, in blocks whose
//! beginnings are known. Lines are cleaned before they are kept.

mod ansi;
mod draw;
mod layout;
mod log;
mod run_handle;
mod screen_thread;
mod shells;
mod state;
mod terminal;
mod tones;
mod view;

pub use run_handle::RunHandle;
pub use shells::Shells;
pub use view::FullScreen;
