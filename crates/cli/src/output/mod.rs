//! What is printed: the only place of the project that prints, besides the examples.

mod console;
mod ndjson;
mod shared;
mod style;
mod summary;

pub use console::Console;
pub use ndjson::NdJson;
pub use shared::SharedWriter;
pub use style::{Style, Tone};
pub use summary::summary;

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

/// Prints a line on standard output.
pub fn line(text: &str) {
    // A reader that went away, such as `head`, has seen enough.
    let _ = writeln!(io::stdout().lock(), "{text}");
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
