//! Events as JSON lines.

use super::shared::SharedWriter;
use runwright::pipeline::event::{EventSink, PipelineEvent};

/// Writes each event as one line of JSON.
#[derive(Debug)]
pub struct NdJson {
    writer: SharedWriter,
}

impl NdJson {
    /// Writes to `writer`.
    pub fn new(writer: SharedWriter) -> Self {
        Self { writer }
    }
}

impl EventSink for NdJson {
    fn event(&self, event: &PipelineEvent) {
        let mut line = match serde_json::to_vec(event) {
            Ok(line) => line,
            Err(error) => {
                tracing::warn!(%error, "An event could not be written.");
                return;
            }
        };
        line.push(b'\n');
        self.writer.write(&line);
    }
}
