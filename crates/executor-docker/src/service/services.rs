use super::planned::{PlannedService, PlannedServices};
use super::running::{self, Running};
use crate::config::DockerConfig;
use crate::engine::Engine;
use crate::engine::labels::Labels;
use crate::engine::names::Names;
use crate::engine::pending_request::PendingRequest;
use crate::error::DockerError;
use crate::image::{ImageInfo, Images};
use bollard::models::Mount;
use executor_core::cancellation::Cancellation;
use executor_core::trace::JobTrace;
use executor_core::variable::JobVariables;
use futures_util::future::join_all;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinSet;

/// The time limit for the last lines of removed services.
const LAST_LINES: Duration = Duration::from_secs(2);

/// The environment of services.
#[derive(Debug, Clone)]
pub struct ServicesOptions {
    /// Their engine.
    pub engine: Engine,
    /// The names of their containers.
    pub names: Names,
    /// The labels of their containers.
    pub labels: Labels,
    /// The runner's settings.
    pub config: Arc<DockerConfig>,
    /// The job's log.
    pub trace: Arc<dyn JobTrace>,
    /// Whether all their output goes to the job's log: [`captures_logs`].
    pub capture_logs: bool,
    /// The job's volumes, which services mount too: `source:destination[:options]`.
    pub binds: Vec<String>,
    /// The job's mounts, which services have too.
    pub mounts: Vec<Mount>,
}

/// Returns whether the job requests the output of its services (`CI_DEBUG_SERVICES`).
pub fn captures_logs(variables: &JobVariables) -> bool {
    matches!(variables.get("CI_DEBUG_SERVICES"), Some("true" | "1"))
}

/// The services of one attempt of a job. Clones share the services.
///
/// The order of calls is [`pull`](Self::pull), [`start`](Self::start), [`ready`](Self::ready), [`watch`](Self::watch).
/// [`remove`](Self::remove) is always called, also after a partial start.
///
/// `pull` needs no network and `start` no sources, so both may run beside other preparations.
#[derive(Debug, Clone)]
pub struct Services {
    pub(super) shared: Arc<Shared>,
}

#[derive(Debug)]
pub(crate) struct Shared {
    pub(super) options: ServicesOptions,
    pub(super) services: Vec<Service>,
    pub(super) warnings: Vec<String>,
    /// Whether a container may exist.
    pub(super) begun: AtomicBool,
    /// Becomes true when the services are not needed any more.
    pub(super) over: watch::Sender<bool>,
    pub(super) lost: watch::Sender<Option<String>>,
    pub(super) tasks: Mutex<JoinSet<()>>,
}

#[derive(Debug)]
pub(crate) struct Service {
    pub(super) index: usize,
    pub(super) plan: PlannedService,
    pub(super) image: OnceLock<ImageInfo>,
    pub(super) running: OnceLock<Running>,
    /// The state of the create request.
    pub(super) pending: PendingRequest,
    /// Whether its end was reported.
    pub(super) end_reported: AtomicBool,
}

impl Services {
    /// Returns planned services; starts none.
    pub fn new(options: ServicesOptions, planned: PlannedServices) -> Self {
        let services = planned.services.into_iter().enumerate();
        let services = services.map(|(index, plan)| Service {
            index,
            plan,
            image: OnceLock::new(),
            running: OnceLock::new(),
            pending: PendingRequest::default(),
            end_reported: AtomicBool::new(false),
        });
        Self {
            shared: Arc::new(Shared {
                options,
                services: services.collect(),
                warnings: planned.warnings,
                begun: AtomicBool::new(false),
                over: watch::Sender::new(false),
                lost: watch::Sender::new(None),
                tasks: Mutex::new(JoinSet::new()),
            }),
        }
    }

    /// Returns the number of services.
    pub fn len(&self) -> usize {
        self.shared.services.len()
    }

    /// Returns whether there are no services.
    pub fn is_empty(&self) -> bool {
        self.shared.services.is_empty()
    }

    /// Returns the host names of each service, in their order.
    pub fn names(&self) -> Vec<&[String]> {
        let services = self.shared.services.iter();
        services
            .map(|service| service.plan.names.as_slice())
            .collect()
    }

    /// Pulls the images of all services, in parallel.
    ///
    /// # Errors
    ///
    /// When one of them cannot be pulled; the others are awaited.
    ///
    /// # Cancellation
    ///
    /// Stops soon.
    pub async fn pull(
        &self,
        images: &Images,
        cancellation: &Cancellation,
    ) -> Result<(), DockerError> {
        let trace = &*self.shared.options.trace;
        let pulls = self.shared.services.iter().map(async |service| {
            let plan = &service.plan;
            let platform = plan.platform.as_deref();
            let policies = &plan.pull_policies;
            let pulled = images
                .ensure(&plan.image, policies, platform, trace, cancellation)
                .await?;
            // A second pull yields the same image.
            let _ = service.image.set(pulled);
            Ok(())
        });
        join_all(pulls).await.into_iter().collect()
    }

    /// Removes all containers, in parallel. May be called more than once, and after a partial start.
    ///
    /// # Errors
    ///
    /// When one of them still exists after a minute.
    pub async fn remove(&self) -> Result<(), DockerError> {
        self.shared.over.send_replace(true);
        let mut removed = Ok(());
        if self.shared.begun.load(Ordering::SeqCst) {
            let options = &self.shared.options;
            let removals = self.shared.services.iter().map(async |service| {
                let name = options.names.service(service.index);
                let remove = || running::remove(&options.engine, &name);
                service.pending.settle(remove).await
            });
            removed = join_all(removals).await.into_iter().collect();
        }
        let mut tasks = std::mem::take(&mut *self.tasks());
        let last = async { while tasks.join_next().await.is_some() {} };
        // After the limit, the last lines are lost.
        let _ = tokio::time::timeout(LAST_LINES, last).await;
        removed
    }

    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.tasks().spawn(task);
    }

    fn tasks(&self) -> parking_lot::MutexGuard<'_, JoinSet<()>> {
        self.shared.tasks.lock()
    }
}
