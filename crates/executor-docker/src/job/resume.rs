//! The record of a job in a container, from which another process resumes it.

use crate::config::NAME;
use crate::error::DockerError;
use executor_core::ability::{Resumable, ResumeHandle, ResumeObserver};
use executor_core::job::JobId;
use executor_core::{ExitCode, StageResult, StageStatus};
use parking_lot::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The container of a job, and the facts from which the names of its other objects derive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ContainerRef {
    /// The id of its container.
    pub(crate) container: String,
    /// The run that created it.
    pub(crate) owner: String,
    pub(crate) job: JobId,
    pub(crate) attempt: u32,
    /// The name of the container's network.
    pub(crate) network: String,
    /// Whether its files are mounted from the runner's host.
    pub(crate) mounted: bool,
    /// The name of its private directory there, unless it derives from the job.
    pub(crate) private: Option<String>,
}

/// The states of the requests to the agent, by id.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RequestStates {
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
pub(crate) enum RequestState {
    /// It is new, or was never sent.
    New,
    /// It was started, and its log was read up to this byte.
    Begun(u64),
    /// It has ended with this result.
    Ended(Box<StageResult>),
    /// It was started, and its end is unknown.
    Lost,
}

/// Records where a job is and how far it has come. Clones share the record.
#[derive(Debug, Clone)]
pub(crate) struct ResumeRecord(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    container_ref: ContainerRef,
    runs: Mutex<RequestStates>,
    observer: Option<ResumeObserver>,
}

impl ResumeRecord {
    /// Returns a record that starts with these states of earlier requests.
    pub(crate) fn new(
        container_ref: ContainerRef,
        runs: RequestStates,
        observer: Option<ResumeObserver>,
    ) -> Self {
        let record = Self(Arc::new(Shared {
            container_ref,
            runs: Mutex::new(runs),
            observer,
        }));
        record.notify();
        record
    }

    /// Returns the state of a request.
    pub(crate) fn state(&self, id: &str) -> RequestState {
        let runs = self.runs();
        if let Some(ending) = runs.ended.get(id) {
            return ending.state();
        }
        match runs.begun.get(id) {
            Some(course) if course.answered => RequestState::Begun(course.offset),
            _ => RequestState::New,
        }
    }

    /// Records a request before it is sent.
    pub(crate) fn starting(&self, id: &str) {
        let course = OpenRequest {
            offset: 0,
            answered: false,
        };
        self.runs().begun.insert(id.to_owned(), course);
        self.notify();
    }

    /// Records how far its log was read.
    pub(crate) fn read(&self, id: &str, offset: u64) {
        if let Some(course) = self.runs().begun.get_mut(id) {
            *course = OpenRequest {
                offset,
                answered: true,
            };
        }
        self.notify();
    }

    /// Records its end; `None` when the result is unknown.
    pub(crate) fn ended(&self, id: &str, result: Option<&StageResult>) {
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
        let container_ref = &self.0.container_ref;
        // Numbers and plain strings always serialize.
        let runs = serde_json::to_string(&*self.runs()).unwrap_or_default();
        let private = container_ref.private.clone().unwrap_or_default();
        let fields = [
            ("container", container_ref.container.clone()),
            ("owner", container_ref.owner.clone()),
            ("job", container_ref.job.0.to_string()),
            ("attempt", container_ref.attempt.to_string()),
            ("network", container_ref.network.clone()),
            ("mounted", container_ref.mounted.to_string()),
            ("private", private),
            ("runs", runs),
        ];
        ResumeHandle {
            executor: NAME.to_owned(),
            fields: fields.map(|(key, value)| (key.to_owned(), value)).into(),
        }
    }

    fn runs(&self) -> MutexGuard<'_, RequestStates> {
        self.0.runs.lock()
    }
}

impl Resumable for ResumeRecord {
    fn resume_handle(&self) -> Option<ResumeHandle> {
        Some(self.handle())
    }
}

/// Reads the record of another process.
pub(crate) fn read(handle: &ResumeHandle) -> Result<(ContainerRef, RequestStates), DockerError> {
    if handle.executor != NAME {
        return Err(DockerError::config(format!(
            "cannot resume a job of the executor {:?}: expected {NAME:?}",
            handle.executor
        )));
    }
    let container_ref = ContainerRef {
        container: field(handle, "container")?,
        owner: field(handle, "owner")?,
        job: JobId(field(handle, "job")?),
        attempt: field(handle, "attempt")?,
        network: field(handle, "network")?,
        mounted: field(handle, "mounted")?,
        private: private(handle)?,
    };
    let runs: String = field(handle, "runs")?;
    let runs = serde_json::from_str(&runs).map_err(|_| unreadable("runs"))?;
    Ok((container_ref, runs))
}

/// Returns a name that does not leave its directory: the record may be wrong.
fn private(handle: &ResumeHandle) -> Result<Option<String>, DockerError> {
    let name = handle.fields.get("private").filter(|it| !it.is_empty());
    if name.is_some_and(|it| it.starts_with('.') || it.contains(['/', '\0'])) {
        return Err(unreadable("private"));
    }
    Ok(name.cloned())
}

fn field<T: std::str::FromStr>(handle: &ResumeHandle, key: &str) -> Result<T, DockerError> {
    let value = handle.fields.get(key).and_then(|value| value.parse().ok());
    value.ok_or_else(|| unreadable(key))
}

fn unreadable(key: &str) -> DockerError {
    DockerError::config(format!(
        "invalid record of the job to resume: its field {key:?} is missing or cannot be read"
    ))
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

    fn state(&self) -> RequestState {
        let (status, facts) = match self {
            Self::Exited { code, facts } => (StageStatus::Exited(ExitCode(*code)), facts),
            Self::Signaled { signal, facts } => (StageStatus::Signaled { signal: *signal }, facts),
            Self::Unknown => return RequestState::Lost,
        };
        RequestState::Ended(Box::new(StageResult {
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

    fn container_ref() -> ContainerRef {
        ContainerRef {
            container: "c0ffee".to_owned(),
            owner: "3f9c".to_owned(),
            job: JobId(7),
            attempt: 2,
            network: "bridge".to_owned(),
            mounted: true,
            private: Some("runwright-3f9c-warm-0".to_owned()),
        }
    }

    #[test]
    fn a_record_is_read_back() {
        let record = ResumeRecord::new(container_ref(), RequestStates::default(), None);
        let mut killed = StageResult::new(StageStatus::Signaled { signal: 9 });
        killed.oom_killed = true;
        record.starting("a");
        record.ended("a", Some(&StageResult::exited(42)));
        record.starting("b");
        record.ended("b", Some(&killed));
        record.starting("c");
        record.ended("c", None);
        record.starting("d");
        // The agent may not know this request.
        let handle = record.resume_handle().unwrap();
        let (found, runs) = read(&handle).unwrap();
        assert_eq!(found, container_ref());
        let again = ResumeRecord::new(found, runs, None);
        let exited = Box::new(StageResult::exited(42));
        assert_eq!(again.state("a"), RequestState::Ended(exited));
        assert_eq!(again.state("b"), RequestState::Ended(Box::new(killed)));
        assert_eq!(again.state("c"), RequestState::Lost);
        assert_eq!(again.state("d"), RequestState::New);
        record.read("d", 17);
        let (_, runs) = read(&record.resume_handle().unwrap()).unwrap();
        let again = ResumeRecord::new(container_ref(), runs, None);
        assert_eq!(again.state("d"), RequestState::Begun(17));
        assert_eq!(again.state("e"), RequestState::New);
    }

    #[test]
    fn the_observer_sees_each_change_at_once() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let told = Arc::clone(&seen);
        let observer = ResumeObserver::new(move |handle| {
            let runs = handle.fields.get("runs").cloned();
            told.lock().push(runs.unwrap_or_default());
        });
        let record = ResumeRecord::new(container_ref(), RequestStates::default(), Some(observer));
        record.starting("a");
        record.read("a", 5);
        record.ended("a", Some(&StageResult::exited(0)));
        let seen = seen.lock();
        assert_eq!(seen.len(), 4, "{seen:?}");
        assert!(seen[2].contains("\"offset\":5"), "{seen:?}");
    }

    #[test]
    fn a_wrong_record_is_refused() {
        let check = |change: fn(&mut ResumeHandle), expect: &str| {
            let record = ResumeRecord::new(container_ref(), RequestStates::default(), None);
            let mut handle = record.handle();
            change(&mut handle);
            let error = read(&handle).unwrap_err().to_string();
            assert!(error.contains(expect), "{error}");
        };
        check(|it| "ssh".clone_into(&mut it.executor), "\"ssh\"");
        check(|it| it.fields.clear(), "\"container\"");
        check(
            |it| drop(it.fields.insert("attempt".to_owned(), "-1".to_owned())),
            "\"attempt\"",
        );
        check(
            |it| drop(it.fields.insert("private".to_owned(), "../x".to_owned())),
            "\"private\"",
        );
        check(
            |it| drop(it.fields.insert("runs".to_owned(), "[".to_owned())),
            "\"runs\"",
        );
    }
}
