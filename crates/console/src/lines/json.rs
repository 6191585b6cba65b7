//! Events as JSON lines.

use super::writer::SharedWriter;
use parking_lot::Mutex;
use scheduler::event::{EventSink, PipelineEvent};

/// Writes each event as one line of JSON.
#[derive(Debug)]
pub struct JsonLines {
    writer: SharedWriter,
    /// What the next flush writes.
    lines: Mutex<Vec<u8>>,
}

impl JsonLines {
    /// Writes to `writer`.
    pub fn new(writer: SharedWriter) -> Self {
        Self {
            writer,
            lines: Mutex::default(),
        }
    }
}

impl EventSink for JsonLines {
    fn event(&self, event: &PipelineEvent) {
        let mut lines = self.lines.lock();
        let whole = lines.len();
        match serde_json::to_writer(&mut *lines, event) {
            Ok(()) => lines.push(b'\n'),
            Err(error) => {
                lines.truncate(whole);
                tracing::warn!(%error, "An event could not be written.");
            }
        }
    }

    fn flush(&self) {
        let mut lines = self.lines.lock();
        self.writer.write(&lines);
        lines.clear();
    }
}
