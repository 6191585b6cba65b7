use crate::debug::JobList;
use crate::delivery::{Delivery, DeliveryTimes};
use crate::entry::own_features;
use crate::metrics::Metrics;
use crate::outbox::Outbox;
use crate::session::Sessions;
use crate::slots::Slots;
use executor_core::{Cancellation, FeaturesInfo, JobRequest};
use gitlab_api::runner::RunnerInfo;
use job_runner::{JobNotes, LocalCaches};
use parking_lot::Mutex;
use process::Supervisor;
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::{mpsc, watch};

/// What all entries of the process share.
#[derive(Debug)]
pub(crate) struct ProcessContext {
    pub(crate) slots: Slots,
    pub(crate) outbox: Outbox,
    pub(crate) times: DeliveryTimes,
    pub(crate) system_id: String,
    pub(crate) version: String,
    pub(crate) revision: String,
    /// Labels for the servers.
    pub(crate) labels: Mutex<BTreeMap<String, String>>,
    /// The program that is the helper command in environments of this host.
    pub(crate) helper: Option<PathBuf>,
    /// The caches of jobs on this host.
    pub(crate) caches: LocalCaches,
    pub(crate) supervisor: Supervisor,
    pub(crate) metrics: Metrics,
    pub(crate) job_list: JobList,
    /// The sessions for terminals and ports, if there is a server for them.
    pub(crate) sessions: Option<Sessions>,
    /// Stops all jobs.
    pub(crate) jobs: Cancellation,
    pub(crate) deliveries: mpsc::UnboundedSender<Delivery>,
    /// Cloned by each turn that may get a job.
    pub(crate) asking: Arc<()>,
    /// The number of jobs that were taken.
    pub(crate) taken: watch::Sender<u64>,
    /// The notes of the jobs that run, by their directories.
    pub(crate) notes: Mutex<HashMap<PathBuf, JobNotes>>,
}

impl ProcessContext {
    /// Starts the delivery of a job, which the manager owns.
    pub(crate) fn post(&self, delivery: Delivery) {
        // Without a manager, the next process delivers it from the disk.
        let _ = self.deliveries.send(delivery);
    }

    /// Returns whether another process can take over all jobs that there are.
    pub(crate) fn may_leave_jobs(&self) -> bool {
        // A job is noted before its turn no longer asks.
        let is_asking = Arc::strong_count(&self.asking) > 1;
        let notes = self.notes.lock();
        !is_asking && notes.values().all(|it| it.log_end().is_some())
    }

    /// Returns the description of a runner for its server.
    pub(crate) fn info(
        &self,
        request: &JobRequest,
        labels: &BTreeMap<String, String>,
    ) -> RunnerInfo {
        let mut all = self.labels.lock().clone();
        all.extend(labels.clone());
        let features = &request.features;
        let has_server = self.sessions.is_some();
        RunnerInfo {
            executor: request.executor.clone(),
            shell: request.shell.as_str().to_owned(),
            features: FeaturesInfo {
                session: has_server && features.session,
                terminal: has_server && features.terminal,
                proxy: has_server && features.proxy,
                ..features.union(own_features())
            },
            config: request.config_info.clone(),
            labels: all,
            ..program_info(&self.version, &self.revision)
        }
    }
}

/// Returns the description of this program, without an executor.
pub fn program_info(version: &str, revision: &str) -> RunnerInfo {
    let platform = match std::env::consts::OS {
        "macos" => "darwin",
        os => os,
    };
    let architecture = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    RunnerInfo {
        name: "runwright".to_owned(),
        version: version.to_owned(),
        revision: revision.to_owned(),
        platform: platform.to_owned(),
        architecture: architecture.to_owned(),
        features: own_features(),
        ..RunnerInfo::default()
    }
}

/// The end of a process in favor of another one, such as a newer version.
#[derive(Debug, Clone)]
pub struct Handover(pub(crate) Arc<ProcessContext>);

impl Handover {
    /// Returns whether all jobs that run can be taken over, if the process exits now and runs no destructor. So it must have been
    /// stopped before, or it may accept another job meanwhile.
    pub fn is_possible(&self) -> bool {
        self.0.may_leave_jobs()
    }

    /// Returns whether jobs run.
    pub fn has_jobs(&self) -> bool {
        !self.0.notes.lock().is_empty()
    }
}
