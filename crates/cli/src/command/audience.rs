use crate::args::{Progress, RunArgs};
use crate::failure::Failure;
use crate::output::{Console, NdJson, SharedWriter, Tee};
use anyhow::Context;
use runwright::pipeline::event::EventSink;
use std::fs::File;
use std::io;
use std::sync::Arc;

/// Who takes the events of a run: the terminal or standard output, and the file that was asked for.
#[derive(Debug)]
pub(super) struct Audience {
    sink: Arc<dyn EventSink>,
    progress: Progress,
    shown: SharedWriter,
    file: Option<SharedWriter>,
}

impl Audience {
    pub(super) fn of(args: &RunArgs) -> Result<Self, Failure> {
        let shown = start(SharedWriter::new(io::stdout()))?;
        let mut sinks: Vec<Arc<dyn EventSink>> = vec![match args.progress {
            Progress::Json => Arc::new(NdJson::new(shown.clone())),
            progress => Arc::new(Console::new(shown.clone(), progress.style())),
        }];
        let mut file = None;
        if let Some(path) = &args.events {
            let created = File::create(path)
                .with_context(|| format!("create {}", path.display()))
                .map_err(Failure::usage)?;
            let written = start(SharedWriter::new(created))?;
            sinks.push(Arc::new(NdJson::new(written.clone())));
            file = Some(written);
        }
        Ok(Self {
            sink: Arc::new(Tee(sinks)),
            progress: args.progress,
            shown,
            file,
        })
    }

    pub(super) fn sink(&self) -> Arc<dyn EventSink> {
        Arc::clone(&self.sink)
    }

    /// Shows how the run ended, to people; programs have the last event.
    pub(super) fn show_summary(&self, text: &str) {
        if self.progress != Progress::Json {
            self.shown.write(text.as_bytes());
        }
    }

    /// Waits until all is shown and written.
    pub(super) fn finish(&self) -> anyhow::Result<()> {
        let shown = self.shown.finish().context("write to standard output");
        if let Some(file) = &self.file {
            file.finish().context("write the events")?;
        }
        shown
    }
}

fn start(writer: io::Result<SharedWriter>) -> Result<SharedWriter, Failure> {
    writer
        .context("start to write output")
        .map_err(Failure::environment)
}
