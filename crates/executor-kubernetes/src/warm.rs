//! Warm pods: pods with a usual image whose agent is ready, for the next job that needs just such a pod.

use crate::agent::start_script;
use crate::cluster::Cluster;
use crate::config::{EngineChoice, KubernetesConfig, WarmConfig};
use crate::created::Created;
use crate::error::KubernetesError;
use crate::link::{Link, program};
use crate::pod::{Objects, Request, objects};
use crate::provider::Clusters;
use crate::state::PodState;
use crate::watch::Seen;
use executor_core::job::{Image, Job};
use executor_core::variable::JobVariables;
use executor_core::{BuildError, CancelCause, Cancellation};
use futures_util::future::join_all;
use k8s_openapi::api::core::v1::{Pod, PodSpec};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

/// How soon a warm pod that has ended is noticed. The watch knows it; no request is made.
const LOOK: Duration = Duration::from_secs(5);

/// The pause after a warm pod that could not be started.
const PAUSE: Duration = Duration::from_secs(20);

/// The warm pods of a provider.
#[derive(Debug, Default)]
pub(crate) struct WarmPods {
    ready: Mutex<Vec<WarmPod>>,
    /// A pod was taken.
    taken: Notify,
    task: Mutex<Option<JoinHandle<()>>>,
    stop: Cancellation,
}

/// A pod that waits for a job.
#[derive(Debug)]
pub(crate) struct WarmPod {
    /// Its place in the settings.
    kind: usize,
    spec: PodSpec,
    since: Instant,
    pub(crate) created: Created,
    pub(crate) link: Link,
}

impl WarmPod {
    fn runs(&self) -> bool {
        matches!(
            *self.created.followed.seen.borrow(),
            Seen::Pod(PodState::Running(_))
        )
    }
}

impl WarmPods {
    /// Begins to start the pods of the settings, if it has not.
    pub(crate) fn fill(self: &Arc<Self>, clusters: &Arc<Clusters>) {
        let config = &clusters.config;
        // A warm pod has an agent.
        let without_agent = config.engine == EngineChoice::Exec;
        if config.warm.is_empty() || config.namespace_per_job || without_agent {
            return;
        }
        let mut task = self.task.lock();
        if task.is_none() && !self.stop.is_canceled() {
            let (this, clusters) = (Arc::clone(self), Arc::clone(clusters));
            #[expect(clippy::disallowed_methods, reason = "`close` awaits it")]
            let filling = tokio::spawn(async move { this.keep_full(&clusters).await });
            *task = Some(filling);
        }
    }

    async fn keep_full(&self, clusters: &Arc<Clusters>) {
        while !self.stop.is_canceled() {
            let ended: Vec<_> = self.ready.lock().extract_if(.., |it| !it.runs()).collect();
            for mut pod in ended {
                remove(&mut pod.created).await;
            }
            let starting = self.lacking(&clusters.config).into_iter();
            let starting = starting.map(|kind| self.start(kind, clusters));
            let started = join_all(starting).await;
            let pause = match started.iter().find_map(|it| it.as_ref().err()) {
                Some(error) => {
                    let error = executor_core::chain(error);
                    tracing::warn!(error, "A warm pod cannot be started now.");
                    PAUSE
                }
                None => LOOK,
            };
            tokio::select! {
                () = self.taken.notified(), if pause == LOOK => {}
                () = sleep(pause) => {}
                _ = self.stop.canceled() => {}
            }
        }
    }

    /// Returns the kinds of the pods to start.
    fn lacking(&self, config: &KubernetesConfig) -> Vec<usize> {
        let ready = self.ready.lock();
        let kinds = config.warm.iter().enumerate();
        let lacking = kinds.flat_map(|(kind, warm)| {
            let here = ready.iter().filter(|it| it.kind == kind).count();
            std::iter::repeat_n(kind, warm.count.saturating_sub(here))
        });
        lacking.collect()
    }

    /// Starts a pod; leaves nothing when it fails.
    async fn start(&self, kind: usize, clusters: &Arc<Clusters>) -> Result<(), BuildError> {
        let config = &clusters.config;
        let cluster = clusters.get(None).await?;
        let name = format!("runwright-warm-{:08x}", fastrand::u32(..));
        let objects = warm_objects(&name, &cluster.owner, &config.warm[kind], config)?;
        let Some(spec) = comparable(&objects) else {
            return Err(BuildError::config("a warm pod cannot have a secret"));
        };
        let since = Instant::now();
        let mut created = Created::new(&cluster, &name);
        let opening = async {
            created.start(&objects, config, &self.stop).await?;
            let (none, grace) = (None, config.orphan_grace());
            Link::open(
                &created,
                &[],
                none,
                Some(program().await?),
                grace,
                &self.stop,
            )
            .await
        };
        let link = match opening.await {
            Ok(link) => link,
            Err(error) => {
                remove(&mut created).await;
                return Err(error);
            }
        };
        self.ready.lock().push(WarmPod {
            kind,
            spec,
            since,
            created,
            link,
        });
        Ok(())
    }

    pub(crate) fn has_some(&self) -> bool {
        self.ready.lock().iter().any(WarmPod::runs)
    }

    /// Takes a pod that is just what a job needs, and marks it as the job's.
    pub(crate) async fn take(&self, cluster: &Arc<Cluster>, objects: &Objects) -> Option<WarmPod> {
        let wanted = comparable(objects)?;
        let fits = |it: &WarmPod| {
            it.spec == wanted && it.runs() && Arc::ptr_eq(&it.created.cluster, cluster)
        };
        let found = {
            let mut ready = self.ready.lock();
            let index = ready.iter().position(fits)?;
            ready.swap_remove(index)
        };
        self.taken.notify_one();
        let mut pod = found;
        let created = &pod.created;
        let age = i64::try_from(pod.since.elapsed().as_secs()).unwrap_or(i64::MAX);
        // A deadline counts from the start of the pod.
        let deadline = objects.pod.spec.as_ref()?.active_deadline_seconds;
        let deadline = deadline.map(|it| it.saturating_add(age));
        let given = created.cluster.give(&created.name, &objects.pod, deadline);
        if let Err(error) = given.await {
            let error = executor_core::chain(&error);
            tracing::warn!(error, "A warm pod cannot be given to a job.");
            remove(&mut pod.created).await;
            return None;
        }
        Some(pod)
    }

    /// Ends the warm pods; returns whether all are gone in time.
    pub(crate) async fn close(&self, deadline: Duration) -> bool {
        self.stop.cancel(CancelCause::Shutdown);
        let task = self.task.lock().take();
        let closing = async {
            if let Some(task) = task {
                let _ = task.await;
            }
            let mut ready = std::mem::take(&mut *self.ready.lock());
            join_all(ready.iter_mut().map(|it| remove(&mut it.created))).await;
        };
        timeout(deadline, closing).await.is_ok()
    }
}

async fn remove(created: &mut Created) {
    if let Err(error) = created.remove(&Cancellation::new()).await {
        let error = executor_core::chain(&error);
        tracing::warn!(error, "A warm pod is not removed; it ends by itself.");
    }
}

/// Returns the pod for a job that has only an image.
fn warm_objects(
    name: &str,
    owner: &str,
    warm: &WarmConfig,
    config: &KubernetesConfig,
) -> Result<Objects, KubernetesError> {
    let job = Job {
        image: Image::named(&warm.image),
        ..Job::default()
    };
    let mut objects = objects(&Request {
        name,
        owner,
        job: &job,
        variables: &JobVariables::default(),
        config,
        builds_dir: crate::executor::BUILDS,
        cache_dir: crate::executor::CACHE,
        start: &start_script(config.orphan_grace()),
        login: None,
        pulls: &BTreeMap::new(),
    })?;
    if let Pod {
        spec: Some(spec), ..
    } = &mut objects.pod
    {
        // It begins with its job.
        spec.active_deadline_seconds = None;
    }
    Ok(objects)
}

/// Returns what jobs must have in common to use one another's pods; `None` if a pod has a secret of its own.
fn comparable(objects: &Objects) -> Option<PodSpec> {
    let spec = objects.pod.spec.clone()?;
    let spec = PodSpec {
        active_deadline_seconds: None,
        ..spec
    };
    objects.secret.is_none().then_some(spec)
}
