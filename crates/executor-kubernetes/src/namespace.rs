//! The namespace of one job.

use crate::cluster::{Cluster, PodSweep, claim, is_abandoned, list, passing, persist};
use crate::error::KubernetesError;
use crate::pod::OWNER;
use k8s_openapi::api::core::v1::{Namespace, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::jiff::Timestamp;
use kube::Api;
use kube::api::{DeleteParams, PostParams, Preconditions};
use kube::core::Status;

impl Cluster {
    fn namespaces(&self) -> Api<Namespace> {
        Api::all(self.client())
    }

    fn owns(&self, namespace: &Namespace) -> bool {
        owner(namespace) == self.owner
    }

    /// Creates the namespace of one job. An earlier one of that name may still be on its way out.
    pub(crate) async fn create_namespace(&self) -> Result<(), KubernetesError> {
        let namespace = Namespace {
            metadata: ObjectMeta {
                name: Some(self.namespace.clone()),
                labels: Some(self.labels()),
                ..ObjectMeta::default()
            },
            ..Namespace::default()
        };
        let all = self.namespaces();
        let created = persist("create the namespace of the job", || async {
            let refused = match all.create(&PostParams::default(), &namespace).await {
                Err(kube::Error::Api(refused)) if refused.reason == "AlreadyExists" => refused,
                created => return created.map(drop),
            };
            match all.get_opt(&self.namespace).await? {
                Some(found) if found.metadata.deletion_timestamp.is_none() => {
                    // The answer to an earlier attempt was lost, or another runner has a job with this number.
                    if self.owns(&found) {
                        return Ok(());
                    }
                    Err(kube::Error::Api(Box::new(Status {
                        message: format!(
                            "the namespace {} is in use: another runner has a job with this number, or had one and was killed",
                            self.namespace
                        ),
                        ..*refused
                    })))
                }
                _ => Err(passing(*refused)),
            }
        });
        created.await
    }

    /// Makes this process the owner of the namespace of a job; returns whether it is there and belonged to `owner`.
    pub(crate) async fn claim_namespace(&self, owner: &str) -> Result<bool, KubernetesError> {
        let (all, doing) = (self.namespaces(), "take over the namespace of the job");
        let held = [(OWNER, owner)];
        claim(&all, doing, &self.namespace, &held, &self.owner).await
    }

    /// Deletes the namespace, unless another process has taken it over.
    pub(crate) async fn delete_namespace(&self) -> Result<(), KubernetesError> {
        let all = self.namespaces();
        let deleted = persist("delete the namespace of the job", || async {
            match all.get_opt(&self.namespace).await? {
                Some(found) if self.owns(&found) => match delete(&all, &found).await {
                    // It has changed meanwhile: it is looked at again.
                    Err(kube::Error::Api(status)) if status.code == 409 => Err(passing(*status)),
                    deleted => deleted,
                },
                _ => Ok(()),
            }
        });
        deleted.await
    }

    /// Deletes the namespaces of jobs whose pods are all left over, as [`sweep`](Self::sweep) does with pods.
    pub(crate) async fn sweep_namespaces(
        &self,
        is_left: impl Fn(&str, &str) -> bool,
    ) -> Result<PodSweep, KubernetesError> {
        let all = self.namespaces();
        let mut swept = PodSweep::default();
        for namespace in list("list the namespaces", &all).await? {
            let owner = owner(&namespace);
            let is_going = namespace.metadata.deletion_timestamp.is_some();
            // One without an owner is not made for a job.
            if owner.is_empty() || owner == self.owner || is_going {
                continue;
            }
            let name = namespace.metadata.name.clone().unwrap_or_default();
            let pods: Api<Pod> = Api::namespaced(self.client(), &name);
            let pods = match list("list the pods", &pods).await {
                Ok(pods) => pods,
                Err(error) => {
                    swept.failures.push(error);
                    continue;
                }
            };
            let now = Timestamp::now();
            let pod_is_left = |pod: &Pod| {
                let name = pod.metadata.name.as_deref().unwrap_or_default();
                is_left(owner, name) || is_abandoned(pod, now)
            };
            let has_ended = match &*pods.items {
                [] => is_left(owner, ""),
                pods => pods.iter().all(pod_is_left),
            };
            if !has_ended {
                continue;
            }
            let doing = "delete the namespace of a job";
            match persist(doing, || delete(&all, &namespace)).await {
                Ok(()) => {
                    let pods = pods.into_iter().filter_map(|it| it.metadata.name);
                    swept.deleted.extend(pods);
                }
                Err(error) => swept.failures.push(error),
            }
        }
        Ok(swept)
    }
}

fn owner(namespace: &Namespace) -> &str {
    let labels = namespace.metadata.labels.as_ref();
    labels.and_then(|it| it.get(OWNER)).map_or("", |it| it)
}

/// Asks for the end of a namespace that has not changed since.
async fn delete(all: &Api<Namespace>, found: &Namespace) -> Result<(), kube::Error> {
    let name = found.metadata.name.as_deref().unwrap_or_default();
    let unchanged = DeleteParams {
        preconditions: Some(Preconditions {
            resource_version: found.metadata.resource_version.clone(),
            uid: found.metadata.uid.clone(),
        }),
        ..DeleteParams::default()
    };
    match all.delete(name, &unchanged).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        Err(error) => Err(error),
    }
}
