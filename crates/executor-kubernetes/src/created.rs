//! A pod that was created, until it is gone.

use crate::agent::{Found, PodAgent, ended};
use crate::cluster::Cluster;
use crate::config::KubernetesConfig;
use crate::error::KubernetesError;
use crate::pod::Objects;
use crate::state::{PodState, ServiceEnds, Unpulled};
use crate::watch::{Followed, Seen};
use executor_core::{Cancellation, JobTrace, JobTraceExt, Retryability};
use futures_util::future::{Either, select};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use steps::agent::Agent;
use tokio::time::{Instant, sleep, sleep_until, timeout};

/// How long a stop waits for the answer to a request that creates something.
const STOP_GRACE: Duration = Duration::from_secs(5);

/// How long the watch may take to say that a pod is gone, before the API server is asked again.
const LOOK: Duration = Duration::from_secs(5);

/// How long a pod may take to be gone, after its grace.
const REMOVAL: Duration = Duration::from_mins(1);

/// How long a permission to watch pods may be missing while a pod starts.
const BLIND: Duration = Duration::from_secs(15);

/// The pause before a deletion is repeated that failed.
const PAUSE: Duration = Duration::from_secs(1);

/// A pod that may exist.
#[derive(Debug)]
pub(crate) struct Created {
    pub(crate) cluster: Arc<Cluster>,
    pub(crate) name: String,
    pub(crate) followed: Followed,
    /// Whether there is a secret of the same name.
    has_secret: bool,
    /// How long its processes have to end.
    grace: Duration,
    /// Whether the namespace is the job's own.
    pub(crate) owns_namespace: bool,
    /// How many ends of each service are in the log.
    reported: HashMap<String, i32>,
}

impl Created {
    /// Begins to follow a pod that may not exist yet.
    pub(crate) fn new(cluster: &Arc<Cluster>, name: &str) -> Self {
        Self {
            cluster: Arc::clone(cluster),
            name: name.to_owned(),
            followed: cluster.watch.follow(name),
            has_secret: false,
            grace: cluster.grace,
            owns_namespace: false,
            reported: HashMap::new(),
        }
    }

    /// Creates the objects of the job, and waits until its container runs.
    pub(crate) async fn start(
        &mut self,
        objects: &Objects,
        config: &KubernetesConfig,
        cancellation: &Cancellation,
    ) -> Result<(), KubernetesError> {
        self.send(objects, cancellation).await?;
        self.await_running(config.patience(), None, cancellation)
            .await
    }

    /// Creates the objects of the job. The API server has accepted them when this returns.
    pub(crate) async fn send(
        &mut self,
        objects: &Objects,
        cancellation: &Cancellation,
    ) -> Result<(), KubernetesError> {
        let mut sending = std::pin::pin!(self.send_all(objects));
        tokio::select! {
            sent = &mut sending => sent,
            cause = cancellation.canceled() => {
                // A pod that came after its deletion would stay.
                let _ = timeout(STOP_GRACE, sending).await;
                Err(KubernetesError::Canceled(cause))
            }
        }
    }

    async fn send_all(&mut self, objects: &Objects) -> Result<(), KubernetesError> {
        if self.owns_namespace {
            self.cluster.create_namespace().await?;
        }
        let uid = self.cluster.create(&objects.pod).await?;
        let Some(secret) = &objects.secret else {
            return Ok(());
        };
        self.has_secret = true;
        let mut secret = secret.clone();
        secret.metadata.owner_references = Some(vec![OwnerReference {
            api_version: "v1".to_owned(),
            kind: "Pod".to_owned(),
            name: self.name.clone(),
            uid,
            ..OwnerReference::default()
        }]);
        self.cluster.create_secret(&secret).await?;
        self.cluster.open_gate(&self.name).await
    }

    /// Returns the container whose image could not be pulled.
    pub(crate) fn unpulled(&self) -> Option<Unpulled> {
        match &*self.followed.seen.borrow() {
            Seen::Pod(PodState::Ended { unpulled, .. }) => unpulled.clone(),
            _ => None,
        }
    }

    /// Returns the connector to the pod's agent. Each connection creates `directories`.
    pub(crate) fn agent(
        &self,
        directories: &[impl AsRef<str>],
        trace: Option<Arc<dyn JobTrace>>,
    ) -> Result<PodAgent, KubernetesError> {
        let (cluster, seen) = (Arc::clone(&self.cluster), self.followed.seen.clone());
        PodAgent::new(cluster, &self.name, seen, directories, trace)
    }

    /// Waits until the container of the job runs, or the agent can be reached there before the node reports that.
    pub(crate) async fn await_agent(
        &mut self,
        agent: &PodAgent,
        program: Option<&Agent>,
        patience: Duration,
        trace: &dyn JobTrace,
        cancellation: &Cancellation,
    ) -> Result<Option<Found>, KubernetesError> {
        let early = pin!(async { agent.start_early(program?, cancellation).await });
        let running = pin!(self.await_running(patience, Some(trace), cancellation));
        match select(early, running).await {
            Either::Left((None, running)) => running.await.map(|()| None),
            Either::Left((found, _)) => Ok(found),
            // An attempt may be under way.
            Either::Right((Ok(()), early)) => Ok(early.await),
            Either::Right((Err(error), _)) => Err(error),
        }
    }

    /// Waits until the container of the job runs. Until then, the log says which services end.
    pub(crate) async fn await_running(
        &mut self,
        patience: Duration,
        trace: Option<&dyn JobTrace>,
        cancellation: &Cancellation,
    ) -> Result<(), KubernetesError> {
        let began = Instant::now();
        let mut deadline = began + patience;
        let name = self.name.clone();
        let failed = |reason: String, retry| KubernetesError::Pod {
            name: name.clone(),
            reason,
            retry,
        };
        let mut why = None;
        loop {
            let seen = self.followed.seen.borrow_and_update().clone();
            match seen {
                Seen::Pod(PodState::Running(_)) => return Ok(()),
                Seen::Pod(PodState::Ended {
                    reason, may_retry, ..
                }) => {
                    let retry = if may_retry {
                        Retryability::Temporary
                    } else {
                        Retryability::Permanent
                    };
                    return Err(failed(reason, retry));
                }
                Seen::Pod(PodState::Pending(reason)) => {
                    why = reason.or(why);
                    deadline = began + patience;
                }
                Seen::Pod(PodState::Restarting { services, reason }) => {
                    why = reason;
                    deadline = began + patience;
                    if let Some(trace) = trace {
                        self.report(services, trace);
                    }
                }
                Seen::Gone => {
                    return Err(failed("it was deleted".to_owned(), Retryability::Temporary));
                }
                // A role may come back.
                Seen::Refused(message) => {
                    why = Some(message);
                    deadline = deadline.min(Instant::now() + BLIND);
                }
                Seen::Pod(PodState::Starting) => deadline = began + patience,
                Seen::Nothing => {}
            }
            tokio::select! {
                _ = self.followed.seen.changed() => {}
                () = sleep_until(deadline) => {
                    let why = why.map(|why| format!(": {why}")).unwrap_or_default();
                    let seconds = (deadline - began).as_secs();
                    let reason = format!("it did not start within {seconds} s{why}");
                    // Another pod would wait for the same.
                    return Err(failed(reason, Retryability::Permanent));
                }
                cause = cancellation.canceled() => return Err(KubernetesError::Canceled(cause)),
            }
        }
    }

    /// Returns the error of the pod's end, when that comes. Until then, the log says which services end.
    pub(crate) async fn ended(&mut self, trace: &dyn JobTrace) -> KubernetesError {
        loop {
            let seen = self.followed.seen.borrow_and_update().clone();
            if let Some(error) = ended(&self.name, &seen) {
                return error;
            }
            if let Seen::Pod(PodState::Running(services)) = seen {
                self.report(services, trace);
            }
            if self.followed.seen.changed().await.is_err() {
                // The watch has ended with its provider.
                std::future::pending::<()>().await;
            }
        }
    }

    fn report(&mut self, services: Vec<ServiceEnds>, trace: &dyn JobTrace) {
        for service in services {
            let line = service.to_string();
            let reported = self.reported.entry(service.container).or_default();
            if *reported < service.count {
                *reported = service.count;
                trace.warning_line(&line);
            }
        }
    }

    /// Deletes the pod and all that belongs to it, and waits until the pod is gone. After an abort, its processes have no time to end, and
    /// the API server forgets it at once.
    pub(crate) async fn remove(&mut self, stop: &Cancellation) -> Result<(), KubernetesError> {
        // Then it may belong to another process.
        let is_gone = *self.followed.seen.borrow() == Seen::Gone;
        let removed = tokio::select! {
            biased;
            _ = stop.aborted(), if !is_gone => self.cluster.delete_at_once(&self.name).await,
            removed = self.remove_pod() => removed,
        };
        if self.owns_namespace {
            // It takes a while, which the job does not wait for.
            self.cluster.delete_namespace().await?;
        }
        removed
    }

    /// Deletes the pod, and waits until it is gone.
    pub(crate) async fn remove_pod(&mut self) -> Result<(), KubernetesError> {
        if *self.followed.seen.borrow() == Seen::Gone {
            // Deleted, and its secret with it; or a process that resumes the job has taken both over.
            return Ok(());
        }
        let within = REMOVAL + self.grace;
        let removing = async {
            while *self.followed.seen.borrow() != Seen::Gone {
                match self.cluster.delete(&self.name).await {
                    Ok(true) => {
                        let is_gone = |seen: &Seen| *seen == Seen::Gone;
                        let seen = self.followed.seen.wait_for(is_gone);
                        let _ = timeout(LOOK, seen).await;
                    }
                    Ok(false) => return Ok(()),
                    Err(error) if !error.is_temporary() => return Err(error),
                    Err(error) => {
                        let error = executor_core::chain(&error);
                        tracing::warn!(pod = self.name, error, "A pod cannot be deleted now.");
                        sleep(PAUSE).await;
                    }
                }
            }
            Ok(())
        };
        let removed = timeout(within, removing).await;
        if self.has_secret {
            // The garbage collector would do it later.
            let _ = timeout(LOOK, self.cluster.delete_secret(&self.name)).await;
        }
        removed.unwrap_or_else(|_| {
            Err(KubernetesError::Pod {
                name: self.name.clone(),
                reason: format!("it is not gone within {} s", within.as_secs()),
                retry: Retryability::Temporary,
            })
        })
    }
}
