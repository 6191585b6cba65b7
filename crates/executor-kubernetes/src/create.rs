//! The creation of a job's pod.

use crate::agent::{Found, PodAgent};
use crate::cluster::Cluster;
use crate::created::Created;
use crate::error::KubernetesError;
use crate::executor::{KubernetesExecutor, directories};
use crate::login::login;
use crate::place::PodPlace;
use crate::state::{NEVER_PULLED, Unpulled};
use executor_core::{BuildError, Cancellation, JobTraceExt};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use steps::agent::Agent;
use tokio::time::{Instant, sleep};

/// The pause before a pod is created again that a quota has refused.
const QUOTA_PAUSE: Duration = Duration::from_secs(2);

impl KubernetesExecutor {
    /// Creates the pod, and waits until the container of the job runs. An image that cannot be pulled is tried with each of its pull
    /// policies; a pod that a quota refuses is created when others have ended.
    ///
    /// The agent is there if it could be reached before the node reported the container.
    pub(crate) async fn create(
        &mut self,
        cluster: &Arc<Cluster>,
        program: Option<&Agent>,
        cancellation: &Cancellation,
    ) -> Result<(PodPlace, Option<(PodAgent, Found)>), BuildError> {
        let options = self.base.options()?;
        let directories = directories(self.base.dirs()?).map(str::to_owned);
        let trace = Arc::clone(&options.trace);
        let (login, warning) = login(&options.job, &options.variables);
        let mut pulls = BTreeMap::new();
        let mut reported = FailedPulls::default();
        let clusters = Arc::clone(&self.clusters);
        let (mut turn, mut began) = (None, Instant::now());
        let (mut name, mut is_named) = (self.name()?, false);
        loop {
            let objects = self.objects(cluster, &name, login.as_deref(), &pulls)?;
            if !is_named {
                let line = format!("Using pod {name} in namespace {}", cluster.namespace);
                trace.system_line(&line);
                if pulls.is_empty() {
                    for warning in warning.iter().chain(&objects.warnings) {
                        trace.warning_line(warning);
                    }
                }
                is_named = true;
            }
            let place = self.place(&name, cluster)?;
            // Before it can exist.
            let created = match &mut self.created {
                Some(created) if created.name == name => created,
                created => created.insert(Created::new(cluster, &name)),
            };
            created.owns_namespace = clusters.config.namespace_per_job;
            let sent = created.send(&objects, cancellation).await;
            let started = match sent {
                Ok(()) => {
                    // The next job may try whether there is more room.
                    turn = None;
                    let patience = clusters.config.patience();
                    let agent = created.agent(&directories, Some(Arc::clone(&trace)))?;
                    let found =
                        created.await_agent(&agent, program, patience, &*trace, cancellation);
                    found.await.map(|found| found.map(|found| (agent, found)))
                }
                Err(error) => Err(error),
            };
            let error = match started {
                Ok(early) => return Ok((place, early)),
                Err(error) => error,
            };
            if error.is_quota() {
                clusters.note_quota();
                if turn.is_none() {
                    trace.warning_line(&format!("{error}; waiting for other pods to end"));
                    turn = Some(tokio::select! {
                        turn = clusters.turn() => turn,
                        cause = cancellation.canceled() => return Err(cause.into()),
                    });
                    began = Instant::now();
                    continue;
                }
                let patience = clusters.config.patience();
                if began.elapsed() >= patience {
                    let line = format!(
                        "there was no room for {} s; with a longer `poll-timeout` jobs wait longer",
                        patience.as_secs()
                    );
                    trace.warning_line(&line);
                    return Err(BuildError::from(error).given_up());
                }
                tokio::select! {
                    () = sleep(QUOTA_PAUSE) => continue,
                    cause = cancellation.canceled() => return Err(cause.into()),
                }
            }
            let Some(unpulled) = created.unpulled() else {
                return Err(error.into());
            };
            let next = pulls.get(&unpulled.container).copied().unwrap_or_default() + 1;
            let policies = objects.policies.get(&unpulled.container);
            if policies.is_none_or(|count| next >= *count) {
                return Err(error.into());
            }
            let why = reported.shorten(&unpulled, &error);
            let line = format!("{why}; the next pull policy of the image is tried");
            trace.warning_line(&line);
            pulls.insert(unpulled.container, next);
            created.remove_pod().await?;
            (name, is_named) = (self.name()?, false);
        }
    }
}

/// The images whose failed pulls are in the log. The kubelet's text is long, and mostly the same for each pull policy.
#[derive(Default)]
struct FailedPulls(BTreeSet<String>);

impl FailedPulls {
    /// Returns the text of an image that cannot be pulled, without that of the kubelet if the log has it.
    fn shorten(&mut self, unpulled: &Unpulled, error: &KubernetesError) -> String {
        let Unpulled {
            image, title, word, ..
        } = unpulled;
        // That of an image which is never pulled is short, and another one.
        if word == NEVER_PULLED || self.0.insert(image.clone()) {
            return error.to_string();
        }
        format!("{title}: {word} again; the log has the first error")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use executor_core::Retryability;

    #[test]
    fn warning_of_a_failed_pull_has_its_text_once_for_each_image() {
        let mut reported = FailedPulls::default();
        let mut shown = |image: &str, word: &str| {
            let unpulled = Unpulled {
                container: "svc-0".to_owned(),
                image: image.to_owned(),
                title: format!("the service {image}"),
                word: word.to_owned(),
            };
            let error = KubernetesError::Pod {
                name: "p".to_owned(),
                reason: "long".to_owned(),
                retry: Retryability::Temporary,
            };
            reported.shorten(&unpulled, &error)
        };
        assert_eq!(shown("web:1", "ErrImagePull"), "pod p: long");
        let expected = "the service web:1: ImagePullBackOff again; the log has the first error";
        assert_eq!(shown("web:1", "ImagePullBackOff"), expected);
        assert_eq!(shown("db:1", "ErrImagePull"), "pod p: long");
        assert_eq!(shown("web:1", NEVER_PULLED), "pod p: long");
    }
}
