//! Events as JSON lines.

use runwright::pipeline::event::{EventKind, EventSink, PipelineEvent};
use std::fmt;
use std::io::Write;
use std::sync::{Mutex, PoisonError};

/// Writes each event as one line of JSON.
///
/// A stream that cannot be written any more is told of once, and the run goes on: the jobs matter
/// more than their audience.
pub struct NdJson {
    writer: Mutex<Option<Box<dyn Write + Send>>>,
}

impl NdJson {
    /// Writes to `writer`.
    pub fn new(writer: impl Write + Send + 'static) -> Self {
        Self {
            writer: Mutex::new(Some(Box::new(writer))),
        }
    }
}

impl EventSink for NdJson {
    fn event(&self, event: &PipelineEvent) {
        let mut guard = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(writer) = guard.as_mut() else { return };
        let written = write_line(writer, event);
        if let Err(error) = written {
            *guard = None;
            tracing::warn!(%error, "Events are not written any more.");
        }
    }
}

fn write_line(writer: &mut dyn Write, event: &PipelineEvent) -> std::io::Result<()> {
    let mut line = serde_json::to_vec(event)?;
    line.push(b'\n');
    writer.write_all(&line)?;
    // Log lines may wait for company; what happened may not.
    if !matches!(event.kind, EventKind::JobLog { .. }) {
        writer.flush()?;
    }
    Ok(())
}

impl fmt::Debug for NdJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NdJson")
    }
}
