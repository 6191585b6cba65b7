//! The full screen of `--progress tui`: the graph by stage, the log of the selected job, and keys that
//! start, retry and cancel jobs.
//!
//! # Shape
//!
//! ```text
//! threads of jobs: events -> ScreenState <- keys, mouse, time: the screen's thread
//!                              |  \-> Action -> RunHandle: the run's controls
//!                              \-> draw: a picture -> Canvas: the bytes that change -> the terminal
//! ```
//!
//! `ScreenState` is the run and the choices of the user; `draw` makes a picture of it for any size. Both
//! are pure, so tests need no terminal. The edge is small: `FullScreen` takes events, `screen_thread` draws
//! and reads keys, `terminal` takes and restores the terminal.
//!
//! # Waiting
//!
//! Jobs never wait for the terminal. A picture is made while the state is locked, which takes a moment,
//! and written after it is unlocked. Besides frames for keys there are at most ten a second, and one a
//! second when nothing happens. Each frame is one write, which the terminal shows at once.
//!
//! # Shells
//!
//! For a shell the screen restores the terminal and takes it again afterwards; its thread waits meanwhile.
//! In a running job the shell is one of the run's `ReachableJobs`. For any other job the screen starts this
//! program again as `runwright shell`, which gets Ctrl-C for itself.
//!
//! # Logs
//!
//! The last lines of each log are in memory, all others in one unnamed file, in indexed blocks. Lines are
//! cleaned before they are stored.

mod ansi;
mod draw;
mod layout;
mod log;
mod run_handle;
mod screen_thread;
mod shared;
mod shells;
mod state;
mod terminal;
mod tones;
mod view;

pub use run_handle::{RunHandle, Shells};
pub use view::FullScreen;
