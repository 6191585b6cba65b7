//! The log of one job, as executors and the runner write it.

use executor_core::job::{Job, SecretString};
use executor_core::variable::JobVariables;
use executor_core::{
    BuildError, JobObserver, JobTrace, Retryability, RunnerConfig, TraceStream, TraceSummary,
};
use fail_point::fail_point;
use shells::git::secrets_in;
use std::path::Path;
use std::sync::Arc;
use trace::{
    LogFormat, MaskRules, OutputLimit, SectionGuard, SectionLook, SectionMarks, Spool, SpoolError,
    TracePipeline, TraceSink,
};

/// How the log is kept.
#[derive(Debug)]
pub(crate) struct LogSettings<'a> {
    pub(crate) spool: Option<&'a Path>,
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
        if let Some(path) = settings.spool {
            builder = builder.spool(create_spool(path)?);
        }
        Ok(Self {
            pipeline: builder.start(),
            observer,
        })
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

fn create_spool(path: &Path) -> Result<Spool, BuildError> {
    let failed = |message: String, source: executor_core::BoxError| BuildError::System {
        backend: "runner",
        message,
        source: Some(source),
        retry: Retryability::Permanent,
    };
    if let Some(directory) = path.parent() {
        let made = fail_point!(
            "job_runner::log::make_dir",
            std::fs::create_dir_all(directory)
        );
        made.map_err(|source| {
            failed(
                format!("keep the job's log in {}", path.display()),
                source.into(),
            )
        })?;
    }
    Spool::create(path).map_err(|source| {
        failed(
            format!("keep the job's log in {}", path.display()),
            source.into(),
        )
    })
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
