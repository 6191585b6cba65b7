//! The provider of the executor for clusters.

use crate::check::usual_pod;
use crate::cluster::{Cluster, PodSweep};
use crate::config::{EngineChoice, KubernetesConfig};
use crate::error::KubernetesError;
use crate::executor::KubernetesExecutor;
use crate::link::program;
use crate::warm::WarmPods;
use async_trait::async_trait;
use executor_core::{
    AcquireError, BuildError, Cancellation, ConfigInfo, DefaultExecutorProvider, Executor,
    ExecutorData, ExecutorProvider, FeaturesInfo, ProviderError, RunnerConfig, ShellDialect,
};
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::{Mutex, MutexGuard};
use tokio::time::Instant;

/// Returns the provider.
///
/// The cluster is looked for with the first job.
pub fn provider(mut config: KubernetesConfig) -> KubernetesProvider {
    let problem = config.read_patches().err().map(|it| it.to_string());
    let clusters = Arc::new(Clusters {
        config,
        owner: OnceLock::new(),
        problem,
        warm: Arc::default(),
        full_since: parking_lot::Mutex::default(),
        turn: Mutex::default(),
        open: Mutex::default(),
    });
    let of_jobs = Arc::clone(&clusters);
    let create = move |data: &ExecutorData| -> Result<Box<dyn Executor>, BuildError> {
        let clusters = Arc::clone(&of_jobs);
        Ok(Box::new(KubernetesExecutor::new(clusters, data)))
    };
    let base = DefaultExecutorProvider::new(ShellDialect::Bash)
        .with_creator(create)
        .with_features(add_features);
    KubernetesProvider { base, clusters }
}

/// The cluster of a provider, once a job needs it.
#[derive(Debug)]
pub(crate) struct Clusters {
    pub(crate) config: KubernetesConfig,
    /// The value of the label that the pods of this process have.
    owner: OnceLock<String>,
    /// What is wrong with the settings.
    problem: Option<String>,
    pub(crate) warm: Arc<WarmPods>,
    /// When a quota began to refuse pods.
    full_since: parking_lot::Mutex<Option<Instant>>,
    /// Held by the job that waits for room, so that the first job gets it.
    turn: Mutex<()>,
    /// By the namespace that a job chose.
    open: Mutex<HashMap<Option<String>, Arc<Cluster>>>,
}

impl Clusters {
    /// Returns the cluster, with the namespace of the settings or another one.
    pub(crate) async fn get(
        &self,
        namespace: Option<String>,
    ) -> Result<Arc<Cluster>, KubernetesError> {
        if let Some(problem) = &self.problem {
            return Err(KubernetesError::Config(problem.clone()));
        }
        let mut open = self.open.lock().await;
        // Those of namespaces that no job uses now.
        open.retain(|namespace, cluster| namespace.is_none() || Arc::strong_count(cluster) > 1);
        if let Some(cluster) = open.get(&namespace) {
            return Ok(Arc::clone(cluster));
        }
        let random = || format!("{:016x}", fastrand::u64(..));
        let owner = self.owner.get_or_init(random);
        let cluster = Cluster::open(&self.config, namespace.as_deref(), owner).await?;
        let cluster = Arc::new(cluster);
        open.insert(namespace, Arc::clone(&cluster));
        Ok(cluster)
    }

    /// Notes that a quota has refused a pod.
    pub(crate) fn note_quota(&self) {
        self.full_since.lock().get_or_insert_with(Instant::now);
    }

    /// Waits for the turn of a job, if others wait for room.
    pub(crate) async fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().await
    }

    /// Returns whether the quota of the namespace refuses a pod now. The API server is asked only after a refusal; an error is left to the
    /// job, which can show it. So is a quota that refuses for longer than a pod may wait.
    async fn is_full(&self) -> bool {
        let Some(since) = *self.full_since.lock() else {
            return false;
        };
        if self.config.namespace_per_job || self.warm.has_some() {
            return false;
        }
        if self.turn.try_lock().is_err() {
            return true;
        }
        let (Ok(cluster), Ok(pod)) = (self.get(None).await, usual_pod(&self.config)) else {
            return false;
        };
        if cluster.is_full_for(&pod).await {
            return since.elapsed() < self.config.patience();
        }
        *self.full_since.lock() = None;
        false
    }
}

/// Creates executors for a cluster; see [`provider`].
#[derive(Debug)]
pub struct KubernetesProvider {
    base: DefaultExecutorProvider,
    clusters: Arc<Clusters>,
}

impl KubernetesProvider {
    /// Returns whether a warm pod waits for a job.
    pub fn has_warm_pods(&self) -> bool {
        self.clusters.warm.has_some()
    }

    /// Sets the owner of the pods of this process, by which a later process knows them: at most 63 letters, digits and `-`.
    ///
    /// It has no effect once a job or [`sweep`](Self::sweep) has looked for the cluster. Default: a random one.
    #[must_use]
    pub fn with_owner(self, id: &str) -> Self {
        let _ = self.clusters.owner.set(id.to_owned());
        self
    }

    /// Looks for what no job can run without: the namespace of the settings, and the agent if they ask for it. An API server that does not
    /// answer is left to the jobs.
    ///
    /// # Errors
    ///
    /// [`KubernetesError::Config`] with what is missing, and when the login cannot be read.
    pub async fn find_missing(&self) -> Result<(), KubernetesError> {
        let config = &self.clusters.config;
        if config.engine == EngineChoice::Agent {
            let found = program().await;
            found.map_err(|error| KubernetesError::Config(error.chain()))?;
        }
        if config.namespace_per_job {
            return Ok(());
        }
        let cluster = self.clusters.get(None).await?;
        let pod = usual_pod(config).map_err(KubernetesError::Config)?;
        if cluster.is_missing_for(&pod).await {
            let namespace = &cluster.namespace;
            return Err(KubernetesError::Config(format!(
                "the cluster has no namespace {namespace}"
            )));
        }
        Ok(())
    }

    /// Deletes pods of other processes, with their namespaces if each job has its own: those for whose owner and name `is_left` returns true,
    /// because the process is dead; and those that ended by themselves more than five minutes ago.
    ///
    /// # Errors
    ///
    /// When the login cannot be read, or the API server cannot be reached or refuses.
    pub async fn sweep(
        &self,
        is_left: impl Fn(&str, &str) -> bool,
    ) -> Result<PodSweep, KubernetesError> {
        let cluster = self.clusters.get(None).await?;
        if self.clusters.config.namespace_per_job {
            return cluster.sweep_namespaces(is_left).await;
        }
        cluster.sweep(is_left).await
    }
}

#[async_trait]
impl ExecutorProvider for KubernetesProvider {
    fn can_create(&self) -> Result<(), ProviderError> {
        self.base.can_create()
    }

    fn create(&self, data: &ExecutorData) -> Result<Box<dyn Executor>, BuildError> {
        self.base.create(data)
    }

    async fn acquire(
        &self,
        config: &RunnerConfig,
        cancellation: &Cancellation,
    ) -> Result<ExecutorData, AcquireError> {
        self.clusters.warm.fill(&self.clusters);
        tokio::select! {
            is_full = self.clusters.is_full() => if is_full {
                return Err(AcquireError::NoFreeExecutor);
            },
            cause = cancellation.canceled() => return Err(cause.into()),
        }
        self.base.acquire(config, cancellation).await
    }

    async fn release(&self, config: &RunnerConfig, data: ExecutorData) {
        self.base.release(config, data).await;
    }

    fn features(&self, features: &mut FeaturesInfo) -> Result<(), ProviderError> {
        self.base.features(features)
    }

    fn config_info(&self, config: &RunnerConfig, info: &mut ConfigInfo) {
        self.base.config_info(config, info);
    }

    fn default_shell(&self) -> Option<ShellDialect> {
        self.base.default_shell()
    }

    fn init(&self) -> Result<(), ProviderError> {
        self.base.init()
    }

    async fn shutdown(&self, deadline: Duration) -> Result<(), ProviderError> {
        let are_gone = self.clusters.warm.close(deadline).await;
        // It ends the watch.
        self.clusters.open.lock().await.clear();
        if !are_gone {
            return Err(ProviderError::new(
                "some warm pods are not removed yet; they end by themselves",
            ));
        }
        self.base.shutdown(deadline).await
    }
}

fn add_features(features: &mut FeaturesInfo) {
    features.variables = true;
    features.image = true;
    features.services = true;
    features.session = true;
    features.terminal = true;
    features.proxy = true;
    features.service_variables = true;
    features.service_multiple_aliases = true;
    features.image_executor_opts = true;
    features.service_executor_opts = true;
}
