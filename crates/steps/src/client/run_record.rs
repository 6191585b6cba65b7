//! The record of a job's requests to the agent, from which another process continues.

use executor_core::ability::{Resumable, ResumeHandle, ResumeObserver};
use executor_core::{BuildError, ExitCode, StageResult, StageStatus};
use parking_lot::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The field of a handle with the states of the requests.
const RUNS: &str = "runs";

/// The states of the requests to the agent, by id.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedRuns {
    ended: BTreeMap<String, RequestEnd>,
    begun: BTreeMap<String, OpenRequest>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct OpenRequest {
    /// The next byte of its log.
    offset: u64,
    /// Whether the agent has answered; before, it may not know the request.
    answered: bool,
}

/// The end of a request, as far as a resume needs it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum RequestEnd {
    Exited { code: i32, facts: Facts },
    Signaled { signal: i32, facts: Facts },
    Unknown,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Facts {
    oom_killed: bool,
    duration_ms: u64,
    stdout_bytes: u64,
    stderr_bytes: u64,
}

/// The state of a request that is about to be sent.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RecordedRun {
    /// It is new, or was never sent.
    New,
    /// It was started, and its log was read up to this byte.
    Begun(u64),
    /// It has ended with this result.
    Ended(Box<StageResult>),
    /// It was started, and its end is unknown.
    Lost,
}

/// Records where a job is and how far its requests have come. Clones share the record.
#[derive(Debug, Clone)]
pub struct RunRecord(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    environment: ResumeHandle,
    runs: Mutex<RecordedRuns>,
    observer: Option<ResumeObserver>,
}

impl RunRecord {
    /// Returns a record of requests in an environment, which starts with these states of earlier ones.
    pub fn new(
        environment: ResumeHandle,
        runs: RecordedRuns,
        observer: Option<ResumeObserver>,
    ) -> Self {
        let record = Self(Arc::new(Shared {
            environment,
            runs: Mutex::new(runs),
            observer,
        }));
        record.notify();
        record
    }

    /// Returns the state of a request.
    pub(super) fn state(&self, id: &str) -> RecordedRun {
        let runs = self.runs();
        if let Some(ending) = runs.ended.get(id) {
            return ending.state();
        }
        match runs.begun.get(id) {
            Some(course) if course.answered => RecordedRun::Begun(course.offset),
            _ => RecordedRun::New,
        }
    }

    /// Records a request before it is sent.
    pub(super) fn starting(&self, id: &str) {
        let course = OpenRequest {
            offset: 0,
            answered: false,
        };
        self.runs().begun.insert(id.to_owned(), course);
        self.notify();
    }

    /// Records how far its log was read.
    pub(super) fn read(&self, id: &str, offset: u64) {
        if let Some(course) = self.runs().begun.get_mut(id) {
            *course = OpenRequest {
                offset,
                answered: true,
            };
        }
        self.notify();
    }

    /// Records its end; `None` when the result is unknown.
    pub(super) fn ended(&self, id: &str, result: Option<&StageResult>) {
        let mut runs = self.runs();
        runs.begun.remove(id);
        let ending = result.map_or(RequestEnd::Unknown, RequestEnd::of);
        runs.ended.insert(id.to_owned(), ending);
        drop(runs);
        self.notify();
    }

    fn notify(&self) {
        if let Some(observer) = &self.0.observer {
            observer.notify(&self.handle());
        }
    }

    fn handle(&self) -> ResumeHandle {
        // Numbers and plain strings always serialize.
        let runs = serde_json::to_string(&*self.runs()).unwrap_or_default();
        let mut handle = self.0.environment.clone();
        handle.fields.insert(RUNS.to_owned(), runs);
        handle
    }

    fn runs(&self) -> MutexGuard<'_, RecordedRuns> {
        self.0.runs.lock()
    }
}

impl Resumable for RunRecord {
    fn resume_handle(&self) -> Option<ResumeHandle> {
        Some(self.handle())
    }
}

impl RecordedRuns {
    /// Reads what another process recorded.
    ///
    /// # Errors
    ///
    /// [`ResumeHandle::unreadable`] when it is missing or cannot be read.
    pub fn of(handle: &ResumeHandle) -> Result<Self, BuildError> {
        let runs: String = handle.field(RUNS)?;
        serde_json::from_str(&runs).map_err(|_| ResumeHandle::unreadable(RUNS))
    }
}

impl RequestEnd {
    fn of(result: &StageResult) -> Self {
        let facts = Facts {
            oom_killed: result.oom_killed,
            duration_ms: u64::try_from(result.duration.as_millis()).unwrap_or(u64::MAX),
            stdout_bytes: result.stdout_bytes,
            stderr_bytes: result.stderr_bytes,
        };
        match result.status {
            StageStatus::Exited(ExitCode(code)) => Self::Exited { code, facts },
            StageStatus::Signaled { signal } => Self::Signaled { signal, facts },
        }
    }

    fn state(&self) -> RecordedRun {
        let (status, facts) = match self {
            Self::Exited { code, facts } => (StageStatus::Exited(ExitCode(*code)), facts),
            Self::Signaled { signal, facts } => (StageStatus::Signaled { signal: *signal }, facts),
            Self::Unknown => return RecordedRun::Lost,
        };
        RecordedRun::Ended(Box::new(StageResult {
            oom_killed: facts.oom_killed,
            duration: Duration::from_millis(facts.duration_ms),
            stdout_bytes: facts.stdout_bytes,
            stderr_bytes: facts.stderr_bytes,
            ..StageResult::new(status)
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(runs: RecordedRuns, observer: Option<ResumeObserver>) -> RunRecord {
        let environment = ResumeHandle {
            executor: "e".to_owned(),
            fields: [("pod".to_owned(), "p".to_owned())].into(),
        };
        RunRecord::new(environment, runs, observer)
    }

    #[test]
    fn a_record_is_read_back() {
        let first = record(RecordedRuns::default(), None);
        let mut killed = StageResult::new(StageStatus::Signaled { signal: 9 });
        killed.oom_killed = true;
        first.starting("a");
        first.ended("a", Some(&StageResult::exited(42)));
        first.starting("b");
        first.ended("b", Some(&killed));
        first.starting("c");
        first.ended("c", None);
        first.starting("d");
        // The agent may not know this request.
        let handle = first.resume_handle().unwrap();
        assert_eq!(handle.fields["pod"], "p");
        let again = record(RecordedRuns::of(&handle).unwrap(), None);
        let exited = Box::new(StageResult::exited(42));
        assert_eq!(again.state("a"), RecordedRun::Ended(exited));
        assert_eq!(again.state("b"), RecordedRun::Ended(Box::new(killed)));
        assert_eq!(again.state("c"), RecordedRun::Lost);
        assert_eq!(again.state("d"), RecordedRun::New);
        first.read("d", 17);
        let handle = first.resume_handle().unwrap();
        let again = record(RecordedRuns::of(&handle).unwrap(), None);
        assert_eq!(again.state("d"), RecordedRun::Begun(17));
        assert_eq!(again.state("e"), RecordedRun::New);
    }

    #[test]
    fn the_observer_sees_each_change_at_once() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let told = Arc::clone(&seen);
        let observer = ResumeObserver::new(move |handle| {
            let runs = handle.fields.get("runs").cloned();
            told.lock().push(runs.unwrap_or_default());
        });
        let record = record(RecordedRuns::default(), Some(observer));
        record.starting("a");
        record.read("a", 5);
        record.ended("a", Some(&StageResult::exited(0)));
        let seen = seen.lock();
        assert_eq!(seen.len(), 4, "{seen:?}");
        assert!(seen[2].contains("\"offset\":5"), "{seen:?}");
    }
}
