use executor_core::{BuildStage, JobId, JobState};
use std::fmt;

/// One call that a test double received.
///
/// Executors are numbered from 1 in the order of their creation. Tests compare the text of events:
/// `provider.acquire`, `executor(1).run(step_script)`, `source.next`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// `ExecutorProvider::can_create`.
    CanCreate,
    /// `ExecutorProvider::features`.
    Features,
    /// `ExecutorProvider::config_info`.
    ConfigInfo,
    /// `ExecutorProvider::default_shell`.
    DefaultShell,
    /// `ExecutorProvider::init`.
    Init,
    /// `ExecutorProvider::shutdown`.
    Shutdown,
    /// `ExecutorProvider::acquire`, successful or not.
    Acquire,
    /// `ExecutorProvider::release`.
    Release,
    /// `ExecutorProvider::create`; after a failure the number is the one it would have had.
    Create {
        /// The executor's number.
        executor: u32,
    },
    /// `Executor::shell`.
    Shell {
        /// The executor's number.
        executor: u32,
    },
    /// `Executor::prepare`.
    Prepare {
        /// The executor's number.
        executor: u32,
    },
    /// `Executor::run`.
    Run {
        /// The executor's number.
        executor: u32,
        /// The stage.
        stage: BuildStage,
    },
    /// `Executor::finish`.
    Finish {
        /// The executor's number.
        executor: u32,
        /// The final state of the job.
        state: JobState,
    },
    /// `Executor::cleanup`.
    Cleanup {
        /// The executor's number.
        executor: u32,
    },
    /// `JobSource::next`.
    Next,
    /// `JobSource::finished`.
    Finished {
        /// The job.
        job: JobId,
        /// The final state of the job.
        state: JobState,
    },
    /// `JobObserver::started`.
    Started,
    /// `JobObserver::stage_started`.
    StageStarted {
        /// The stage.
        stage: BuildStage,
    },
    /// `JobObserver::stage_finished`.
    StageFinished {
        /// The stage.
        stage: BuildStage,
        /// Whether it succeeded.
        succeeded: bool,
    },
    /// A mark set by the test between other events.
    Note(String),
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CanCreate => f.write_str("provider.can_create"),
            Self::Features => f.write_str("provider.features"),
            Self::ConfigInfo => f.write_str("provider.config_info"),
            Self::DefaultShell => f.write_str("provider.default_shell"),
            Self::Init => f.write_str("provider.init"),
            Self::Shutdown => f.write_str("provider.shutdown"),
            Self::Acquire => f.write_str("provider.acquire"),
            Self::Release => f.write_str("provider.release"),
            Self::Create { executor } => write!(f, "provider.create({executor})"),
            Self::Shell { executor } => write!(f, "executor({executor}).shell"),
            Self::Prepare { executor } => write!(f, "executor({executor}).prepare"),
            Self::Run { executor, stage } => write!(f, "executor({executor}).run({stage})"),
            Self::Finish { executor, state } => write!(f, "executor({executor}).finish({state})"),
            Self::Cleanup { executor } => write!(f, "executor({executor}).cleanup"),
            Self::Next => f.write_str("source.next"),
            Self::Finished { job, state } => write!(f, "source.finished({job}, {state})"),
            Self::Started => f.write_str("observer.started"),
            Self::StageStarted { stage } => write!(f, "observer.stage_started({stage})"),
            Self::StageFinished { stage, succeeded } => {
                let how = if *succeeded { "success" } else { "failed" };
                write!(f, "observer.stage_finished({stage}, {how})")
            }
            Self::Note(text) => f.write_str(text),
        }
    }
}
