//! The cluster: its client, and the pods of this process.

use crate::access::access;
use crate::config::{KubernetesConfig, non_empty};
use crate::error::{KubernetesError, is_quota};
use crate::pod::{BUILD, GATE, JOB, MANAGED, OWNER, PATIENCE};
use crate::transport::client;
use crate::watch::PodWatch;
use http::HeaderValue;
use http::header::USER_AGENT;
use k8s_openapi::api::core::v1::{Pod, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::core::{ObjectList, Status};
use kube::{Api, Client, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};

/// How long the API server may take to answer one request.
pub(crate) const ANSWER: Duration = Duration::from_secs(30);

/// For how long a request is repeated that the API server does not answer, and the pauses between.
pub(crate) const PERSISTENCE: Duration = Duration::from_secs(90);
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// How long ago a pod was created whose end has no time, and whose runner certainly does not delete it.
const LONGEST_JOB: SignedDuration = SignedDuration::from_hours(24);

/// How long ago a pod has ended that its runner certainly does not delete.
const ABANDONED: SignedDuration = SignedDuration::from_mins(5);

/// What a sweep did; see [`KubernetesProvider::sweep`](crate::KubernetesProvider::sweep).
#[derive(Debug, Default)]
pub struct PodSweep {
    /// The names of the pods that are deleted.
    pub deleted: Vec<String>,
    /// Why others are not.
    pub failures: Vec<KubernetesError>,
}

/// A cluster, once it is known.
#[derive(Debug)]
pub(crate) struct Cluster {
    pub(crate) pods: Api<Pod>,
    pub(crate) namespace: String,
    /// How long the processes of a pod have to end.
    pub(crate) grace: Duration,
    /// Whether the namespace is made for a job, and may not be complete.
    is_new: bool,
    /// The API server and the namespace.
    pub(crate) place: String,
    pub(crate) watch: PodWatch,
    /// The value of the label that the pods of this process have.
    pub(crate) owner: String,
}

impl Cluster {
    /// Reads the login and starts to watch. No request is awaited. `namespace` replaces that of the settings.
    ///
    /// # Errors
    ///
    /// When the login cannot be read.
    pub(crate) async fn open(
        config: &KubernetesConfig,
        namespace: Option<&str>,
        owner: &str,
    ) -> Result<Self, KubernetesError> {
        let mut access = access(config).await?;
        // The API server's own log then shows who asks.
        let name = HeaderValue::from_static(concat!("runwright/", env!("CARGO_PKG_VERSION")));
        access.headers.push((USER_AGENT, name));
        let namespace = namespace.or(non_empty(config.namespace.as_deref()));
        let namespace = namespace.unwrap_or(&access.default_namespace).to_owned();
        let place = format!("{} {namespace}", access.cluster_url);
        // It may start a program that asks for a token.
        let settings = config.clone();
        let making = tokio::task::spawn_blocking(move || client(&settings, access));
        let client = match timeout(ANSWER, making).await {
            Ok(Ok(client)) => client.map_err(|error| no_login(&*error))?,
            Ok(Err(error)) => return Err(no_login(&error)),
            Err(_) => {
                let reason = "log in to the cluster: the login does not answer";
                return Err(KubernetesError::Config(reason.to_owned()));
            }
        };
        let pods: Api<Pod> = Api::namespaced(client, &namespace);
        let watch = PodWatch::start(pods.clone(), owner);
        Ok(Self {
            pods,
            is_new: config.namespace_per_job,
            grace: Duration::from_secs(config.grace().try_into().unwrap_or_default()),
            namespace,
            place,
            watch,
            owner: owner.to_owned(),
        })
    }

    /// Creates a pod; returns its unique id.
    pub(crate) async fn create(&self, pod: &Pod) -> Result<String, KubernetesError> {
        let name = pod.metadata.name.as_deref().unwrap_or_default();
        let created = persist("create the pod", || async {
            match self.pods.create(&PostParams::default(), pod).await {
                // The answer to an earlier attempt was lost: names are unique.
                Err(kube::Error::Api(status)) if status.reason == "AlreadyExists" => {
                    self.pods.get(name).await
                }
                // A quota is asked first, and the pod of that attempt may have taken the last place.
                Err(kube::Error::Api(status)) if is_quota(&status.message) => {
                    let found = self.pods.get_opt(name).await?;
                    found.ok_or(kube::Error::Api(status))
                }
                // Two pods are counted at once.
                Err(kube::Error::Api(status)) if status.code == 409 => Err(passing(*status)),
                // The account of a new namespace comes a moment later.
                Err(kube::Error::Api(status)) if self.is_new && is_accountless(&status) => {
                    Err(passing(*status))
                }
                created => created,
            }
        });
        Ok(created.await?.metadata.uid.unwrap_or_default())
    }

    pub(crate) async fn create_secret(&self, secret: &Secret) -> Result<(), KubernetesError> {
        let secrets: Api<Secret> = Api::namespaced(self.client(), &self.namespace);
        create(&secrets, "create the secret of the pod", secret).await
    }

    pub(crate) async fn delete_secret(&self, name: &str) -> Result<(), KubernetesError> {
        let secrets: Api<Secret> = Api::namespaced(self.client(), &self.namespace);
        let params = DeleteParams::default();
        let deleted = delete(&secrets, "delete the secret of the pod", name, &params);
        deleted.await.map(drop)
    }

    /// Lets the pod have a node.
    pub(crate) async fn open_gate(&self, name: &str) -> Result<(), KubernetesError> {
        let change = serde_json::json!({
            "spec": { "schedulingGates": [{ "$patch": "delete", "name": GATE }] }
        });
        let (change, params) = (Patch::Strategic(change), PatchParams::default());
        let opened = persist("start the pod", || self.pods.patch(name, &params, &change));
        opened.await.map(drop)
    }

    /// Gives a warm pod the labels, the annotations and the deadline of a job.
    pub(crate) async fn give(
        &self,
        name: &str,
        to: &Pod,
        deadline: Option<i64>,
    ) -> Result<(), KubernetesError> {
        let change = serde_json::json!({
            "metadata": { "labels": to.metadata.labels, "annotations": to.metadata.annotations },
            "spec": { "activeDeadlineSeconds": deadline },
        });
        let (change, params) = (Patch::Merge(change), PatchParams::default());
        let given = persist("give the pod to the job", || {
            self.pods.patch(name, &params, &change)
        });
        given.await.map(drop)
    }

    pub(crate) fn client(&self) -> Client {
        self.pods.clone().into_client()
    }

    pub(crate) fn labels(&self) -> BTreeMap<String, String> {
        let managed = MANAGED.split_once('=').unwrap_or_default();
        [managed, (OWNER, &self.owner)]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into()
    }

    /// Asks for the end of a pod; returns whether there is one.
    pub(crate) async fn delete(&self, name: &str) -> Result<bool, KubernetesError> {
        delete(&self.pods, "delete the pod", name, &DeleteParams::default()).await
    }

    /// Deletes a pod without a grace period: it is gone at once, and its node kills its processes.
    pub(crate) async fn delete_at_once(&self, name: &str) -> Result<(), KubernetesError> {
        let params = DeleteParams::default().grace_period(0);
        let deleted = delete(&self.pods, "delete the pod", name, &params);
        deleted.await.map(drop)
    }

    /// Makes this process the owner of a job's pod; returns whether the pod is still there and belonged to `owner`.
    pub(crate) async fn claim(
        &self,
        name: &str,
        owner: &str,
        job: &str,
    ) -> Result<bool, KubernetesError> {
        let held = [(JOB, job), (OWNER, owner)];
        claim(&self.pods, "take over the pod", name, &held, &self.owner).await
    }

    /// Returns whether a quota refuses a pod now.
    pub(crate) async fn is_full_for(&self, pod: &Pod) -> bool {
        let refusal = self.refusal(pod).await;
        refusal.is_some_and(|refusal| is_quota(&refusal.message))
    }

    /// Returns whether the namespace of a pod does not exist. A login needs no permission to read namespaces for that.
    pub(crate) async fn is_missing_for(&self, pod: &Pod) -> bool {
        let refusal = self.refusal(pod).await;
        refusal.is_some_and(|refusal| refusal.code == 404)
    }

    /// Returns why the API server refuses a pod now. Nothing is created.
    async fn refusal(&self, pod: &Pod) -> Option<Box<Status>> {
        let dry = PostParams {
            dry_run: true,
            ..PostParams::default()
        };
        let asked = timeout(ANSWER, self.pods.create(&dry, pod)).await;
        match asked {
            Ok(Err(kube::Error::Api(status))) => Some(status),
            _ => None,
        }
    }

    /// Deletes the pods of other owners that are left over, and those that ended by themselves long ago.
    pub(crate) async fn sweep(
        &self,
        is_left: impl Fn(&str, &str) -> bool,
    ) -> Result<PodSweep, KubernetesError> {
        let listed = list("list the pods", &self.pods).await?;
        let now = Timestamp::now();
        let mut swept = PodSweep::default();
        for pod in listed {
            let labels = pod.metadata.labels.as_ref();
            let owner = labels.and_then(|it| it.get(OWNER)).map_or("", |it| it);
            let name = pod.metadata.name.as_deref().unwrap_or_default();
            if owner != self.owner && (is_left(owner, name) || is_abandoned(&pod, now)) {
                match self.delete(name).await {
                    Ok(_) => swept.deleted.push(name.to_owned()),
                    Err(error) => swept.failures.push(error),
                }
            }
        }
        Ok(swept)
    }
}

/// Returns all objects of runners.
pub(crate) async fn list<K>(
    doing: &'static str,
    api: &Api<K>,
) -> Result<ObjectList<K>, KubernetesError>
where
    K: Clone + std::fmt::Debug + DeserializeOwned,
{
    let all = ListParams::default().labels(MANAGED);
    let listed = timeout(ANSWER, api.list(&all)).await;
    let listed = listed.unwrap_or_else(|_| Err(silent()));
    listed.map_err(|error| KubernetesError::of(doing, error))
}

/// Makes `new` the owner of an object that has these labels, the last of which is that of its owner; returns whether it is so.
///
/// The API server compares and changes the labels in one step, so only one process can win.
pub(crate) async fn claim<K>(
    api: &Api<K>,
    doing: &'static str,
    name: &str,
    held: &[(&str, &str)],
    new: &str,
) -> Result<bool, KubernetesError>
where
    K: Clone + std::fmt::Debug + DeserializeOwned + Resource,
{
    let path = |label: &str| format!("/metadata/labels/{}", label.replace('/', "~1"));
    let tests = held.iter().map(
        |(label, value)| serde_json::json!({ "op": "test", "path": path(label), "value": value }),
    );
    let change = serde_json::json!({ "op": "replace", "path": path(OWNER), "value": new });
    let changes = tests.chain([change]).collect();
    // Plain data always has this form.
    let changes = serde_json::from_value(changes).unwrap_or_default();
    let (changes, params) = (Patch::<()>::Json(changes), PatchParams::default());
    let claimed = persist(doing, || async {
        match api.patch(name, &params, &changes).await {
            Ok(_) => Ok(true),
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 422) => {
                // Unless the answer to an earlier attempt was lost.
                let found = api.get_opt(name).await?;
                let labels = found.and_then(|it| it.meta().labels.clone());
                let labels = labels.unwrap_or_default();
                let is = |label: &str, value: &str| labels.get(label).is_some_and(|it| it == value);
                let mut others = held.iter().filter(|(label, _)| *label != OWNER);
                Ok(is(OWNER, new) && others.all(|(label, value)| is(label, value)))
            }
            Err(error) => Err(error),
        }
    });
    claimed.await
}

/// Returns a refusal for which the request is repeated.
pub(crate) fn passing(refused: Status) -> kube::Error {
    kube::Error::Api(Box::new(Status {
        code: 500,
        ..refused
    }))
}

/// Creates an object with a unique name.
async fn create<K>(api: &Api<K>, doing: &'static str, object: &K) -> Result<(), KubernetesError>
where
    K: Clone + std::fmt::Debug + DeserializeOwned + Serialize,
{
    let created = persist(doing, || async {
        match api.create(&PostParams::default(), object).await {
            // The answer to an earlier attempt was lost.
            Err(kube::Error::Api(status)) if status.reason == "AlreadyExists" => Ok(()),
            created => created.map(drop),
        }
    });
    created.await
}

/// Asks for the end of an object; returns whether there is one.
async fn delete<K>(
    api: &Api<K>,
    doing: &'static str,
    name: &str,
    params: &DeleteParams,
) -> Result<bool, KubernetesError>
where
    K: Clone + std::fmt::Debug + DeserializeOwned,
{
    let deleted = persist(doing, || async {
        match api.delete(name, params).await {
            Ok(_) => Ok(true),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(false),
            Err(error) => Err(error),
        }
    });
    deleted.await
}

/// Returns the address of the API server and the namespace, by which a later process knows the cluster.
///
/// # Errors
///
/// When the login cannot be read. The API server is not asked.
pub async fn place(config: &KubernetesConfig) -> Result<String, KubernetesError> {
    let access = access(config).await?;
    let namespace = non_empty(config.namespace.as_deref());
    let namespace = namespace.unwrap_or(&access.default_namespace);
    Ok(format!("{} {namespace}", access.cluster_url))
}

fn no_login(error: &(dyn std::error::Error + 'static)) -> KubernetesError {
    let error = executor_core::chain(error);
    KubernetesError::Config(format!("log in to the cluster: {error}"))
}

/// Returns whether a pod is refused because its namespace has no account yet.
fn is_accountless(status: &Status) -> bool {
    status.code == 403 && status.message.contains("error looking up service account")
}

/// Returns whether the runner of a pod, which would have deleted it, is certainly gone: the pod has ended by itself, or never started.
pub(crate) fn is_abandoned(pod: &Pod, now: Timestamp) -> bool {
    let since = |time: &Time| now.duration_since(time.0);
    let Some(status) = &pod.status else {
        return false;
    };
    if status.phase.as_deref() == Some("Pending") {
        let annotations = pod.metadata.annotations.as_ref();
        let patience = annotations.and_then(|it| it.get(PATIENCE)?.parse().ok());
        let (Some(patience), Some(created)) = (patience, &pod.metadata.creation_timestamp) else {
            return false;
        };
        return since(created) > SignedDuration::from_secs(patience) + ABANDONED;
    }
    if status.phase.as_deref() == Some("Failed") && status.container_statuses.is_none() {
        // Evicted or refused by the kubelet; the runner's watch has the end at once.
        let created = pod.metadata.creation_timestamp.as_ref();
        return created.is_some_and(|it| since(it) > LONGEST_JOB);
    }
    let containers = status.container_statuses.iter().flatten();
    let mut builds = containers.filter(|it| it.name == BUILD);
    builds.any(|it| {
        let terminated = it.state.as_ref().and_then(|it| it.terminated.as_ref());
        let end = terminated.and_then(|it| it.finished_at.as_ref());
        end.is_some_and(|end| since(end) > ABANDONED)
    })
}

fn silent() -> kube::Error {
    kube::Error::Service("the API server does not answer".into())
}

/// Sends a request until it is answered: again when the API server cannot be reached, has too many requests or fails, for a minute and
/// a half.
pub(crate) async fn persist<T, F>(
    doing: &'static str,
    mut request: impl FnMut() -> F,
) -> Result<T, KubernetesError>
where
    F: Future<Output = Result<T, kube::Error>>,
{
    let deadline = Instant::now() + PERSISTENCE;
    let mut pause = FIRST_PAUSE;
    loop {
        let error = match timeout(ANSWER, request()).await {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(error)) => error,
            Err(_) => silent(),
        };
        let may_pass = match &error {
            // The transport has waited as long as the answer asks for.
            kube::Error::Api(status) => matches!(status.code, 429 | 500..),
            _ => true,
        };
        if !may_pass || Instant::now() + pause > deadline {
            return Err(KubernetesError::of(doing, error));
        }
        if pause == LONGEST_PAUSE {
            let error = match &error {
                kube::Error::Api(status) => status.message.clone(),
                error => executor_core::chain(error),
            };
            tracing::warn!(doing, error, "The API server is asked again.");
        }
        sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    fn refused(code: u16) -> kube::Error {
        let status =
            serde_json::json!({ "status": "Failure", "code": code, "message": "m", "reason": "r" });
        kube::Error::Api(serde_json::from_value(status).unwrap())
    }

    /// Answers with the errors, then with success; returns the number of requests and the seconds they took.
    async fn ask(errors: impl Fn(u32) -> Option<kube::Error>) -> (bool, u32, u64) {
        let (asked, began) = (AtomicU32::new(0), Instant::now());
        let done = persist("ask", || {
            let error = errors(asked.fetch_add(1, Ordering::Relaxed));
            async { error.map_or(Ok(()), Err) }
        });
        let is_ok = done.await.is_ok();
        (is_ok, asked.into_inner(), began.elapsed().as_secs())
    }

    #[tokio::test(start_paused = true)]
    async fn requests_are_repeated_while_the_api_server_is_away() {
        let busy = |asked| (asked < 2).then(|| refused(429));
        let (is_ok, asked, _) = ask(busy).await;
        assert_eq!((is_ok, asked), (true, 3));
        let away = |asked| (asked < 15).then(silent);
        let (is_ok, _, seconds) = ask(away).await;
        assert!(is_ok && seconds > 55, "{seconds}");
        assert_eq!(ask(|_| Some(refused(403))).await, (false, 1, 0));
        let (is_ok, _, seconds) = ask(|_| Some(refused(500))).await;
        assert!(!is_ok && (80..=90).contains(&seconds), "{seconds}");
    }
}
