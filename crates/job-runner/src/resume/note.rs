use executor_core::ability::ResumeHandle;
use executor_core::{
    BuildError, ExitCode, FailureReason, JobId, JobOutcome, JobProducts, JobSlot, JobState,
    StreamKind, TraceStream,
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

/// The note of a running job, from which another process can resume it.
///
/// `handle` and `log_bytes` belong together: that part of the log has exactly the output that the
/// environment had sent when it gave out the handle.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct JobNote {
    /// The job.
    pub job: JobId,
    /// The attempt, from 1.
    pub attempt: u32,
    /// Identifies the environment and the position in its output.
    pub handle: ResumeHandle,
    /// The job's log.
    pub(crate) log: PathBuf,
    /// The part of the log that counts.
    pub(crate) log_bytes: u64,
    /// The streams whose last line is incomplete.
    pub(crate) open: Vec<Stream>,
    /// The stages whose headings the log has.
    pub(crate) headed: Vec<String>,
    /// The job's concurrency numbers, which are part of the names of its directories.
    pub(crate) slot: Slot,
    /// The builds directory on this host.
    pub(crate) builds: Option<String>,
    /// The exit code of the last script that ended; `after_script` does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) script_exit: Option<ExitCode>,
    /// The result of the job, once only its clean-up is left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) outcome: Option<RecordedOutcome>,
    /// When its first process began it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) started_at: Option<Timestamp>,
    /// Whether the time since then is the job's.
    #[serde(skip)]
    pub(crate) counts_from_start: bool,
}

/// The outcome of a job, except for the parts that only its own process needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct RecordedOutcome {
    failure: Option<Failure>,
    pub(crate) products: JobProducts,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Failure {
    reason: FailureReason,
    exit_code: Option<ExitCode>,
    /// The problem, with secrets masked; `None` when a script failed.
    message: Option<String>,
}

/// A stream of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stream {
    source: u8,
    is_error: bool,
}

/// The concurrency numbers of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Slot {
    concurrent: u32,
    in_project: u32,
}

impl JobNote {
    /// Returns the state in which the job ended; `None` while scripts or later stages are left.
    pub fn final_state(&self) -> Option<JobState> {
        let outcome = self.outcome.as_ref()?;
        Some(match outcome.failure {
            None => JobState::Success,
            Some(_) => JobState::Failed,
        })
    }

    /// Returns the job's concurrency numbers.
    pub fn slot(&self) -> JobSlot {
        self.slot.into()
    }

    /// Returns whether a script of the job has ended. Such a job must not start over.
    pub fn has_ended_script(&self) -> bool {
        self.script_exit.is_some()
    }

    /// Returns the note of a job whose timeout and duration count from its start in the first process, not from its resume.
    ///
    /// It was accepted at this time. A note of an earlier version has no other.
    #[must_use]
    pub fn counted_from_start(self, accepted_at: Timestamp) -> Self {
        Self {
            started_at: self.started_at.or(Some(accepted_at)),
            counts_from_start: self.outcome.is_none(),
            ..self
        }
    }

    /// Returns the time that the job has had; zero if it counts from its resume.
    pub(crate) fn time_since_start(&self) -> Duration {
        let started_at = self.started_at.filter(|_| self.counts_from_start);
        let time = started_at.map(|it| Timestamp::now().duration_since(it));
        // A clock that was set back makes it negative.
        time.and_then(|it| it.try_into().ok()).unwrap_or_default()
    }

    /// Returns the note of a job whose environment cannot be taken over.
    #[must_use]
    pub fn without_environment(self) -> Self {
        Self {
            handle: ResumeHandle::default(),
            ..self
        }
    }
}

impl RecordedOutcome {
    /// Returns the record of an outcome; `None` for a canceled job, which should run again.
    pub(crate) fn of(outcome: &JobOutcome, mask: impl Fn(&str) -> String) -> Option<Self> {
        let failure = match (outcome.state, &outcome.error) {
            (JobState::Success, _) => None,
            (JobState::Failed, Some(error)) => Some(Failure {
                reason: error.failure_reason(),
                exit_code: error.exit_code(),
                message: match **error {
                    BuildError::Script { .. } => None,
                    _ => Some(mask(&error.chain())),
                },
            }),
            _ => return None,
        };
        Some(Self {
            failure,
            products: (*outcome.products).clone(),
        })
    }

    /// Returns the result of the job's stages.
    pub(crate) fn result(&self) -> Result<(), BuildError> {
        let Some(failure) = &self.failure else {
            return Ok(());
        };
        Err(match (failure.exit_code, &failure.message) {
            (Some(exit_code), None) => BuildError::Script { exit_code },
            (exit_code, message) => BuildError::Recorded {
                reason: failure.reason,
                exit_code,
                message: message.clone().unwrap_or_default(),
            },
        })
    }
}

impl From<TraceStream> for Stream {
    fn from(stream: TraceStream) -> Self {
        Self {
            source: stream.source,
            is_error: stream.kind == StreamKind::Stderr,
        }
    }
}

impl From<Stream> for TraceStream {
    fn from(stream: Stream) -> Self {
        Self {
            source: stream.source,
            kind: if stream.is_error {
                StreamKind::Stderr
            } else {
                StreamKind::Stdout
            },
        }
    }
}

impl From<JobSlot> for Slot {
    fn from(slot: JobSlot) -> Self {
        Self {
            concurrent: slot.concurrent_id,
            in_project: slot.concurrent_project_id,
        }
    }
}

impl From<Slot> for JobSlot {
    fn from(slot: Slot) -> Self {
        Self {
            concurrent_id: slot.concurrent,
            concurrent_project_id: slot.in_project,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use executor_core::CancelCause;
    use executor_core::variable::JobVariable;

    #[test]
    fn an_outcome_is_read_back_from_its_record() {
        let check = |error: Option<BuildError>, expect: Option<&str>| {
            let mut outcome = error.map_or_else(JobOutcome::success, JobOutcome::from_error);
            outcome.products = JobProducts {
                dotenv: vec![JobVariable::public("A", "1")],
                ..JobProducts::default()
            }
            .into();
            let recorded =
                RecordedOutcome::of(&outcome, |text| text.replace("hunter2", "[MASKED]"));
            let text = serde_json::to_string(&recorded.expect("it is recorded")).unwrap();
            let recorded: RecordedOutcome = serde_json::from_str(&text).unwrap();
            assert_eq!(recorded.products, *outcome.products);
            let result = recorded.result();
            assert_eq!(
                result.as_ref().err().map(BuildError::chain).as_deref(),
                expect
            );
            let again = result.map_or_else(JobOutcome::from_error, |()| JobOutcome::success());
            assert_eq!(
                (again.state, again.exit_code(), again.failure_reason()),
                (outcome.state, outcome.exit_code(), outcome.failure_reason())
            );
        };
        check(None, None);
        let exit_code = ExitCode(3);
        check(
            Some(BuildError::Script { exit_code }),
            Some("script exited with code 3"),
        );
        check(
            Some(BuildError::system("docker", "pull hunter2", "no space")),
            Some("docker: pull [MASKED]: no space"),
        );
        let message = "junit.xml:1: unexpected end".to_owned();
        let expect = message.clone();
        check(Some(BuildError::Report { message }), Some(&expect));
        let canceled = JobOutcome::from_error(BuildError::Canceled(CancelCause::User));
        assert_eq!(RecordedOutcome::of(&canceled, str::to_owned), None);
    }

    #[test]
    fn a_note_of_an_older_version_is_read() {
        let text = r#"{"job":7,"attempt":1,"handle":{"executor":"docker","fields":{}},"log":"log","log_bytes":3,
            "open":[],"headed":[],"slot":{"concurrent":0,"in_project":0},"builds":null}"#;
        let note: JobNote = serde_json::from_str(text).unwrap();
        assert_eq!((note.final_state(), note.has_ended_script()), (None, false));
    }
}
