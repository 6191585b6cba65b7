//! The log of one job, as executors and the runner write it.

use crate::resumed::JobNote;
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
    LogEnd, LogFormat, MaskRules, OutputLimit, SectionGuard, SectionLook, SectionMarks, Spool,
    SpoolError, TracePipeline, TraceSink,
};

/// How the log is kept.
#[derive(Debug)]
pub(crate) struct LogSettings<'a> {
    pub(crate) spool: Option<&'a Path>,
    /// The log of an earlier process, which this one goes on with.
    pub(crate) earlier: Option<&'a JobNote>,
    pub(crate) timestamps: bool,
    pub(crate) sections: bool,
}

/// The log of one job: [`trace`]'s pipeline behind the port that executors know.
#[derive(Debug)]
pub(crate) struct JobLog {
    pipeline: TracePipeline,
    observer: Arc<dyn JobObserver>,
}

impl JobLog {
    /// Opens the log of a job; what the job's payload holds of secrets is masked from the start.
    ///
    /// # Errors
    ///
    /// A system failure when the spool's file cannot be made: a job whose log is lost from the
    /// first line on is not worth running.
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

    /// Returns where the log ends, if another process could go on with it there.
    pub(crate) fn settled(&self) -> Option<LogEnd> {
        self.pipeline.settled()
    }

    /// Opens a section; it ends when the guard is dropped.
    pub(crate) fn section(&self, name: &str, header: &str) -> SectionGuard {
        self.pipeline.section(name, SectionLook::Plain, header)
    }

    /// Writes what a stage left of unfinished lines into the kept log.
    pub(crate) fn end_stage(&self) {
        self.pipeline.flush_idle();
    }

    /// Masks the values that differ from those in `known`, which are masked already.
    pub(crate) fn mask_new_values(&self, variables: &JobVariables, known: &JobVariables) {
        for variable in variables.iter().filter(|variable| variable.masked) {
            if known.get(&variable.key) != Some(&variable.value) {
                self.add_mask(&variable.value);
            }
        }
    }

    /// Returns `text` as the log would show it.
    pub(crate) fn masked(&self, text: &str) -> String {
        self.pipeline.masked(text)
    }

    /// Ends the log; what is written later is dropped.
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
        let text = format!("WARNING: the log is not kept from here on: {error}{cause}\n");
        self.0.output(TraceStream::SYSTEM_WARNING, text.as_bytes());
    }
}

/// Makes the file of the log, with what an earlier process has written where that can be had; else the
/// error says why not.
fn open_spool(
    path: &Path,
    earlier: Option<&JobNote>,
) -> Result<(Spool, Option<SpoolError>), BuildError> {
    let Some(note) = earlier else {
        return Ok((create_spool(path)?, None));
    };
    make_parent(path)?;
    match Spool::going_on(path, &note.log, note.log_bytes) {
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
    let made = fail_point!(
        "job_runner::log::make_dir",
        std::fs::create_dir_all(directory)
    );
    made.map_err(|source| not_kept(path, source.into()))
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
