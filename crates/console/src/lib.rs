//! Shows a running pipeline on a terminal, and prints what the commands of `cli` report.
//!
//! Besides the examples, this is the only place of the project that prints. There are two views of a run: lines
//! ([`Console`], with a live region at the bottom) and the full screen ([`tui`]). Both take the events of the run.
//!
//! # Shape
//!
//! Events come in from the threads of jobs, one at a time, and go the same way in all layouts:
//!
//! ```text
//! JobLog pieces -> Lines: whole lines -> Entry -> Fold: what is worth showing -> Printer: clean text
//!                                          \-> Spill, until the job ends (group, live)
//! ```
//!
//! [`Console`] is the sink that chooses the way: in [`Layout::Prefix`] a job's log is printed as it
//! comes, behind its name; in [`Layout::Group`] and [`Layout::Live`] it waits for the job's end in a
//! `Spill`, which holds little in memory and the rest in a file without a name. `Live` shows the
//! logs of failed jobs only, and that of a pipeline's only job as it comes.
//!
//! [`SharedWriter`] takes text at once, and a thread of its own shows it. For `Live`, that thread
//! draws a footer below the text: `region` says which lines (a pure function of a `Board`, a size
//! and a time), `Screen` which bytes. A frame is one write: it goes to where the footer begins,
//! writes the new text over it, and the footer again. There are ten frames a second at most, one a
//! second when nothing happens, and none per line.
//!
//! # What the terminal is spared
//!
//! No raw mode, no hidden cursor, no switched-off wrapping, no second screen: there is nothing to
//! restore, whatever ends the program. Footer lines end before the last column. Of what jobs write,
//! only colours pass, and they end with their line.

pub mod artifacts;
pub(crate) mod board;
pub(crate) mod clean;
mod console;
mod count;
pub(crate) mod entry;
pub mod environments;
mod explain;
mod findings;
mod fold;
pub mod grid;
pub mod history;
mod job;
pub(crate) mod lineage;
pub(crate) mod lines;
mod live;
mod log;
mod ndjson;
pub(crate) mod outcome;
mod place;
pub mod plan;
mod printer;
mod products;
pub mod quoted;
mod region;
mod sarif;
mod screen;
pub(crate) mod section;
mod shared;
#[cfg(feature = "full-screen")]
pub mod signal;
pub mod size;
mod skipped;
mod spill;
pub mod stored_log;
mod style;
mod summary;
#[cfg(feature = "full-screen")]
pub mod terminal;
pub mod time;
pub mod times;
#[cfg(feature = "full-screen")]
pub mod tui;
mod view;
pub(crate) mod width;

pub use clean::{is_direction, shown_name, strip_controls};
pub use console::Console;
#[cfg(feature = "full-screen")]
pub(crate) use console::source_of;
pub use count::counted;
pub use explain::{explained_variables, explanation, variables, variables_head};
pub use findings::diagnostics;
pub use findings::{findings, in_order, notes, refusal, refused};
pub use lineage::BELOW;
pub use log::{ErrorStream, ErrorView, show_errors_above, show_errors_directly, show_errors_on};
pub use ndjson::NdJson;
pub use place::Place;
pub use sarif::sarif;
pub use shared::SharedWriter;
pub use size::size;
pub use skipped::skipped;
pub use style::{Mark, Style, Tone};
pub use summary::{Advice, summary};
pub use view::{Clash, Layout, ProgressMode, Shown, View};
pub use width::{columns, fit};

use scheduler::event::{EventSink, PipelineEvent};
use std::io::{self, IsTerminal, Write};
use std::sync::Arc;

impl Style {
    /// Decides for standard output.
    pub fn of_stdout() -> Self {
        Self::of(Place::of_stdout())
    }

    /// Decides for standard error.
    pub fn of_stderr() -> Self {
        let is_terminal = io::stderr().is_terminal();
        Self::of(Place::read(is_terminal, |name| std::env::var_os(name)))
    }
}

/// Returns the place where questions are asked: standard error, with somebody who can answer and who sees
/// what comes of it.
pub fn place_for_questions() -> Place {
    let is_terminal =
        io::stdin().is_terminal() && io::stdout().is_terminal() && io::stderr().is_terminal();
    Place::read(is_terminal, |name| std::env::var_os(name))
}

/// Prints text on standard output.
///
/// # Errors
///
/// When it cannot be written, but not when the reader went away: `head` has seen enough.
pub fn print(text: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        printed => printed,
    }
}

/// Clears the terminal that standard output is, with what has scrolled away.
pub fn clear_screen() {
    // Who cannot be written to is not cleared either.
    let _ = print(b"\x1b[H\x1b[2J\x1b[3J");
}

/// Prints a line on standard error, or above the live view.
pub fn error_line(text: &str) {
    let _ = writeln!(ErrorStream, "{text}");
}

/// Hands each event to several sinks.
#[derive(Debug, Default)]
pub struct Tee(pub Vec<Arc<dyn EventSink>>);

impl EventSink for Tee {
    fn event(&self, event: &PipelineEvent) {
        self.0.iter().for_each(|sink| sink.event(event));
    }

    fn flush(&self) {
        self.0.iter().for_each(|sink| sink.flush());
    }
}

/// Returns whether a process can have a variable of this name, and a shell can read it.
pub fn is_variable_name(name: &str) -> bool {
    let starts_well = name.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic());
    starts_well && name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric())
}
