//! The log of one job, for executors and the runner.

use crate::resume::JobNote;
use executor_core::job::{Job, SecretString};
use executor_core::trace::JobTraceExt as _;
use executor_core::variable::JobVariables;
use executor_core::{
    BuildError, JobObserver, JobTrace, Retryability, RunnerConfig, TraceStream, TraceSummary,
};
use fail_point::fail_point;
use shells::git::secrets_in;
use std::path::Path;
use std::sync::Arc;
use trace::{
    Keep, LogEnd, LogFormat, MaskRules, OutputLimit, SectionGuard, SectionLook, SectionMarks,
    Spool, SpoolError, TracePipeline, TraceSink,
};

/// The settings of a log.
#[derive(Debug)]
pub(crate) struct LogSettings<'a> {
    pub(crate) spool: Option<&'a Path>,
    /// The note of an earlier process, whose log is continued.
    pub(crate) earlier: Option<&'a JobNote>,
    /// The part of the log that the spool keeps.
    pub(crate) keep: Keep,
    pub(crate) timestamps: bool,
    pub(crate) sections: bool,
}

/// The log of one job: the pipeline of [`trace`] behind the port for executors.
#[derive(Debug)]
pub(crate) struct JobLog {
    pipeline: TracePipeline,
    observer: Arc<dyn JobObserver>,
}

impl JobLog {
    /// Opens the log of a job and masks the secrets of the job's payload from the start.
    ///
    /// # Errors
    ///
    /// A system failure when the spool cannot be created: a job without a log is not worth running.
    pub(crate) fn open(
        job: &Job,
        config: &RunnerConfig,
        settings: &LogSettings<'_>,
        observer: Arc<dyn JobObserver>,
    ) -> Result<Self, BuildError> {
        let format = if settings.timestamps {
            LogFormat::Stamped
        } else {
            LogFormat::Plain
        };
        let marks = if settings.sections {
            SectionMarks::Write
        } else {
            SectionMarks::Omit
        };
        let mut builder = TracePipeline::builder()
            .masks(masks(job, config))
            .format(format)
            .section_marks(marks)
            .limit(OutputLimit::Bytes(config.output_limit))
            .keep(settings.keep)
            .sink(ObserverSink(Arc::clone(&observer)));
        let mut lost = None;
        if let Some(path) = settings.spool {
            let (spool, error) = open_spool(path, settings.earlier)?;
            builder = builder.spool(spool);
            lost = error;
        }
        if let Some(note) = settings.earlier.filter(|_| lost.is_none()) {
            let open = note.open.iter().map(|&stream| stream.into());
            builder = builder.open_lines(open.collect());
        }
        let log = Self {
            pipeline: builder.start(),
            observer,
        };
        if let Some(error) = lost {
            log.warning_line(&format!("the beginning of this log is lost: {error}"));
        }
        Ok(log)
    }

    /// Returns the end of the log, if another process could continue it there.
    pub(crate) fn settled(&self) -> Option<LogEnd> {
        self.pipeline.settled()
    }

    /// Opens a section; it ends when the guard is dropped.
    pub(crate) fn section(&self, name: &str, header: &str) -> SectionGuard {
        self.pipeline.section(name, SectionLook::Plain, header)
    }

    /// Writes the unfinished lines of a stage into the spool.
    pub(crate) fn end_stage(&self) {
        self.pipeline.flush_idle();
    }

    /// Masks the values that differ from those in `known`, which are already masked.
    pub(crate) fn mask_new_values(&self, variables: &JobVariables, known: &JobVariables) {
        for variable in variables.iter().filter(|variable| variable.masked) {
            if known.get(&variable.key) != Some(&variable.value) {
                self.add_mask(&variable.value);
            }
        }
    }

    /// Returns `text` with secrets masked.
    pub(crate) fn masked(&self, text: &str) -> String {
        self.pipeline.masked(text)
    }

    /// Ends the log; later output is dropped.
    pub(crate) fn finish(&self) -> TraceSummary {
        let summary = self.pipeline.finish();
        TraceSummary {
            bytes: summary.view.bytes,
            crc32: summary.view.crc32,
            truncated: summary.truncated,
        }
    }
}

impl JobTrace for JobLog {
    fn write(&self, stream: TraceStream, data: &[u8]) {
        self.pipeline.write(stream, data);
    }

    fn idle(&self, stream: TraceStream) {
        self.pipeline.flush_idle();
        self.observer.idle(stream);
    }

    fn add_mask(&self, secret: &str) {
        self.pipeline.add_mask(secret);
    }
}

/// Shows the masked log to the job's observer.
struct ObserverSink(Arc<dyn JobObserver>);

impl TraceSink for ObserverSink {
    fn write(&mut self, stream: TraceStream, text: &[u8]) {
        self.0.output(stream, text);
    }

    fn spool_failed(&mut self, error: &SpoolError) {
        let cause = std::error::Error::source(error).map(|cause| format!(": {cause}"));
        let cause = cause.unwrap_or_default();
        let text = format!("WARNING: the log file ends here: {error}{cause}\n");
        self.0.output(TraceStream::SYSTEM_WARNING, text.as_bytes());
        let error: &dyn std::error::Error = error;
        tracing::warn!(error, "The log file of a job is incomplete.");
    }
}

/// Creates the file of the log, with the log of an earlier process if possible; otherwise the returned error
/// says why not.
fn open_spool(
    path: &Path,
    earlier: Option<&JobNote>,
) -> Result<(Spool, Option<SpoolError>), BuildError> {
    let Some(note) = earlier else {
        return Ok((create_spool(path)?, None));
    };
    make_parent(path)?;
    if note.log == path {
        // The job has one log, of which others may have read.
        let spool = Spool::reopen(path, note.log_bytes);
        let spool = spool.map_err(|source| not_kept(path, source.into()))?;
        return Ok((spool, None));
    }
    match Spool::resume(path, &note.log, note.log_bytes) {
        Ok(spool) => Ok((spool, None)),
        Err(error) => Ok((create_spool(path)?, Some(error))),
    }
}

fn create_spool(path: &Path) -> Result<Spool, BuildError> {
    make_parent(path)?;
    Spool::create(path).map_err(|source| not_kept(path, source.into()))
}

fn make_parent(path: &Path) -> Result<(), BuildError> {
    let Some(directory) = path.parent() else {
        return Ok(());
    };
    let created = fail_point!(
        "job_runner::log::make_dir",
        process::make_private_dir_all(directory)
    );
    created.map_err(|source| not_kept(path, source.into()))
}

fn not_kept(path: &Path, source: executor_core::BoxError) -> BuildError {
    BuildError::System {
        backend: "runner",
        message: format!("keep the job's log in {}", path.display()),
        source: Some(source),
        retry: Retryability::Permanent,
    }
}

fn masks(job: &Job, config: &RunnerConfig) -> MaskRules {
    let variables = config.environment.iter().chain(&job.variables);
    let masked = variables
        .filter(|variable| variable.masked)
        .map(|variable| variable.value.as_str());
    let dependencies = job
        .dependencies
        .iter()
        .map(|dependency| dependency.token.expose());
    let registries = job
        .credentials
        .iter()
        .map(|credentials| credentials.password.expose());
    let address = secrets_in(job.git_info.repo_url.expose());
    let rules = MaskRules::new()
        .secrets(masked)
        .secrets(dependencies)
        .secrets(registries)
        .secret(job.token.expose())
        .secret(config.token.expose())
        .secrets(address.iter().map(SecretString::expose));
    let prefixes = &job.features.token_mask_prefixes;
    prefixes.iter().fold(rules, MaskRules::token_prefix)
}
