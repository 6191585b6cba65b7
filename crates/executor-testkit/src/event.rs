use executor_core::{BuildStage, JobId, JobState};
use std::fmt;

/// One call that a double of this crate received.
///
/// Executors are numbered from 1 in the order their provider created them. The text of an event is
/// what tests compare: `provider.acquire`, `executor(1).run(step_script)`, `source.next`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The provider was asked whether it can create executors.
    CanCreate,
    /// The provider was asked for its features.
    Features,
    /// The provider was asked for details of its configuration.
    ConfigInfo,
    /// The provider was asked for its default shell.
    DefaultShell,
    /// The provider was started.
    Init,
    /// The provider was ended.
    Shutdown,
    /// Capacity was asked for, whether it was granted or not.
    Acquire,
    /// Capacity was given back.
    Release,
    /// An executor was asked for; the number is the one it got, or would have got.
    Create {
        /// The executor's number.
        executor: u32,
    },
    /// An executor was asked for its shell.
    Shell {
        /// The executor's number.
        executor: u32,
    },
    /// An executor was to prepare.
    Prepare {
        /// The executor's number.
        executor: u32,
    },
    /// An executor was to run a stage.
    Run {
        /// The executor's number.
        executor: u32,
        /// The stage.
        stage: BuildStage,
    },
    /// An executor was told how its job ended.
    Finish {
        /// The executor's number.
        executor: u32,
        /// How the job ended.
        state: JobState,
    },
    /// An executor was to clean up.
    Cleanup {
        /// The executor's number.
        executor: u32,
    },
    /// A source was asked for a job.
    Next,
    /// A source was told how a job ended.
    Finished {
        /// The job.
        job: JobId,
        /// How it ended.
        state: JobState,
    },
    /// An observer was told that its job began.
    Started,
    /// An observer was told that a stage began.
    StageStarted {
        /// The stage.
        stage: BuildStage,
    },
    /// An observer was told that a stage ended.
    StageFinished {
        /// The stage.
        stage: BuildStage,
        /// Whether it succeeded.
        succeeded: bool,
    },
    /// Something a test put in between, to see what came before and after it.
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
