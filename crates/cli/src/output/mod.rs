//! What is printed: the only place of the project that prints, besides the examples.

mod console;
mod ndjson;
mod shared;
mod style;
mod summary;

pub use console::Console;
pub use ndjson::NdJson;
pub use shared::SharedWriter;
pub(crate) use style::strip_controls;
pub use style::{Style, Tone};
pub use summary::{Advice, summary};

use runwright::pipeline::diagnostic::Diagnostics;
use runwright::pipeline::event::{EventSink, PipelineEvent};
use std::io::{self, IsTerminal, Write};
use std::sync::Arc;

impl Style {
    /// Decides for standard output.
    pub fn of_stdout() -> Self {
        Self::decide(io::stdout().is_terminal(), |name| std::env::var_os(name))
    }

    /// Decides for standard error.
    pub fn of_stderr() -> Self {
        Self::decide(io::stderr().is_terminal(), |name| std::env::var_os(name))
    }
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

/// Prints a line on standard error.
pub fn error_line(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Prints what was found in a pipeline file on standard error.
pub fn diagnostics(found: &Diagnostics) {
    if !found.is_empty() {
        let _ = write!(io::stderr().lock(), "{found}");
    }
}

/// Hands each event to several sinks.
#[derive(Debug, Default)]
pub struct Tee(pub Vec<Arc<dyn EventSink>>);

impl EventSink for Tee {
    fn event(&self, event: &PipelineEvent) {
        self.0.iter().for_each(|sink| sink.event(event));
    }
}
