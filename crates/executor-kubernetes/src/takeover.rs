//! A job that another process began.

use crate::cluster::PERSISTENCE;
use crate::created::Created;
use crate::error::KubernetesError;
use crate::executor::{KubernetesExecutor, internal};
use crate::place::PodPlace;
use executor_core::{Cancellation, JobTraceExt, Retryability};

impl KubernetesExecutor {
    /// Finds the pod that another process created, and makes it ours; creates nothing.
    pub(crate) async fn adopt(
        &mut self,
        place: PodPlace,
        cancellation: &Cancellation,
    ) -> Result<PodPlace, KubernetesError> {
        let cluster = self.cluster().await?;
        let options = self.base.options().map_err(|error| internal(&error))?;
        if place.job != options.job.id {
            return Err(KubernetesError::Config(format!(
                "cannot resume job {}: this job is {}",
                place.job, options.job.id
            )));
        }
        if place.cluster != cluster.place {
            return Err(KubernetesError::Config(format!(
                "the pod of the job to resume is in another cluster or namespace: {}",
                place.cluster
            )));
        }
        let line = format!(
            "Resuming in pod {} of namespace {}",
            place.pod, cluster.namespace
        );
        options.trace.system_line(&line);
        let mut followed = Created::new(&cluster, &place.pod);
        // First the namespace: its former owner would delete it with the pod.
        if self.clusters.config.namespace_per_job {
            let claiming = cluster.claim_namespace(&place.owner);
            claimed(&place.pod, claiming, cancellation).await?;
            followed.owns_namespace = true;
        }
        let job = place.job.0.to_string();
        let claiming = cluster.claim(&place.pod, &place.owner, &job);
        let is_claimed = claimed(&place.pod, claiming, cancellation).await;
        if is_claimed.is_ok() || followed.owns_namespace {
            self.created = Some(followed);
        }
        is_claimed?;
        if let Some(created) = &mut self.created {
            created
                .await_running(PERSISTENCE, Some(&*options.trace), cancellation)
                .await?;
        }
        let owner = cluster.owner.clone();
        Ok(PodPlace { owner, ..place })
    }
}

/// Waits until an object of another process is ours.
async fn claimed(
    pod: &str,
    claiming: impl Future<Output = Result<bool, KubernetesError>>,
    cancellation: &Cancellation,
) -> Result<(), KubernetesError> {
    let is_claimed = tokio::select! {
        is_claimed = claiming => is_claimed?,
        cause = cancellation.canceled() => return Err(KubernetesError::Canceled(cause)),
    };
    if is_claimed {
        return Ok(());
    }
    Err(KubernetesError::Pod {
        name: pod.to_owned(),
        reason: "it is gone, or another runner has taken it over".to_owned(),
        retry: Retryability::Permanent,
    })
}
