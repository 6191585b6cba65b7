//! Whether a pod of the settings is admitted to its namespace: the API server tries to create one without storing it.

use super::{Target, Verdict, failed, words};
use crate::agent::start_script;
use crate::config::KubernetesConfig;
use crate::pod::{Request, billionths, objects};
use executor_core::Job;
use executor_core::job::Image;
use k8s_openapi::api::core::v1::{LimitRange, Namespace, Pod, ResourceQuota};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kube::Api;
use kube::api::{ListParams, PostParams};
use kube::core::Status;
use std::collections::BTreeMap;

/// The image of the pod, which no node pulls.
const IMAGE: &str = "runwright.test/check";

/// The label of a namespace with the Pod Security level that its pods must have.
const LEVEL: &str = "pod-security.kubernetes.io/enforce";

/// What may refuse a pod, in the order in which the API server asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Gate {
    Namespace,
    Limits,
    Security,
    /// Others, which a cluster may place anywhere.
    Other,
    Quota,
}

const GATES: [Gate; 5] = [
    Gate::Namespace,
    Gate::Limits,
    Gate::Security,
    Gate::Other,
    Gate::Quota,
];

/// The names of the checks.
pub(super) const NAMES: [&str; 5] = [
    Gate::Namespace.name(),
    Gate::Limits.name(),
    Gate::Security.name(),
    Gate::Other.name(),
    Gate::Quota.name(),
];

/// Asks the API server whether it would create a pod of the settings.
pub(super) async fn check(target: &Target<'_>) -> Vec<(&'static str, Verdict)> {
    let Some(namespace) = target.namespace() else {
        let reason = "each job has a namespace of its own";
        let skipped = |name| (name, Verdict::Skipped(reason.to_owned()));
        return NAMES.map(skipped).into();
    };
    let refusal = refusal(target, namespace).await;
    let mut checks = Vec::new();
    for gate in GATES {
        let verdict = match &refusal {
            Some((refusing, found)) if gate == *refusing => {
                let help = gate.help(found, namespace, target.config);
                if gate == Gate::Quota && is_busy(found) {
                    let found = found.clone();
                    Verdict::Warned { found, help }
                } else {
                    failed(found.clone(), help.as_deref())
                }
            }
            Some((refusing, _)) if !gate.is_before(*refusing) => {
                let reason = "not known: the API server refused the pod for another reason";
                Verdict::Skipped(reason.to_owned())
            }
            _ => Verdict::Passed(gate.found(target, namespace).await),
        };
        checks.push((gate.name(), verdict));
    }
    checks
}

/// Returns the verdict if the namespace does not exist. A login that may not read namespaces learns it from the refusal of a pod.
pub(super) async fn missing_namespace(target: &Target<'_>) -> Option<Verdict> {
    let namespace = target.namespace()?;
    let namespaces: Api<Namespace> = Api::all(target.client.clone());
    match target.answer(namespaces.get(namespace)).await {
        Err(kube::Error::Api(status)) if status.code == 404 => {
            let found = format!("the cluster has no namespace {namespace}");
            Some(failed(found, Some(&create(namespace))))
        }
        _ => None,
    }
}

fn create(namespace: &str) -> String {
    format!("`kubectl create namespace {namespace}` creates it, or name another one")
}

/// Returns what refuses a pod, with the words of Kubernetes.
async fn refusal(target: &Target<'_>, namespace: &str) -> Option<(Gate, String)> {
    let pod = match usual_pod(target.config) {
        Ok(pod) => pod,
        Err(found) => return Some((Gate::Other, found)),
    };
    let pods: Api<Pod> = Api::namespaced(target.client.clone(), namespace);
    let dry = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    let error = target.answer(pods.create(&dry, &pod)).await.err()?;
    let found = words(&error);
    let gate = match &error {
        kube::Error::Api(status) => Gate::of(status),
        _ => Gate::Namespace,
    };
    Some((gate, found))
}

/// Returns the pod of a job that has what the settings say.
pub(crate) fn usual_pod(config: &KubernetesConfig) -> Result<Pod, String> {
    let mut config = config.clone();
    let read = config.read_patches();
    read.map_err(|error| error.to_string())?;
    let image = config.image.clone();
    let job = Job {
        image: Image::named(image.unwrap_or_else(|| IMAGE.to_owned())),
        ..Job::default()
    };
    let name = format!("runwright-check-{:08x}", fastrand::u32(..));
    let objects = objects(&Request {
        name: &name,
        owner: "check",
        job: &job,
        variables: &job.variables.iter().cloned().collect(),
        config: &config,
        builds_dir: "/builds",
        cache_dir: "/cache",
        start: &start_script(config.orphan_grace()),
        login: None,
        pulls: &BTreeMap::new(),
    });
    Ok(objects.map_err(|error| error.to_string())?.pod)
}

impl Gate {
    /// Returns what has refused a pod. The API server says so in its message alone.
    fn of(status: &Status) -> Self {
        let has = |text: &str| status.message.contains(text);
        if status.code == 404 || has("because it is being terminated") {
            Self::Namespace
        } else if has("violates PodSecurity") {
            Self::Security
        } else if has("exceeded quota") || has("failed quota") || has("insufficient quota") {
            Self::Quota
        } else if has(" usage per ") || has("limit to request ratio per ") {
            Self::Limits
        } else {
            Self::Other
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Namespace => "namespace",
            Self::Limits => "limit ranges",
            Self::Security => "Pod Security",
            Self::Other => "admission",
            Self::Quota => "quotas",
        }
    }

    /// Returns whether a pod that `other` refuses has certainly passed this.
    fn is_before(self, other: Self) -> bool {
        self < other && (other != Self::Other || self == Self::Namespace)
    }

    /// Returns what to do about a refusal.
    fn help(self, found: &str, namespace: &str, config: &KubernetesConfig) -> Option<String> {
        let help = match self {
            Self::Namespace if found.contains("not found") => create(namespace),
            Self::Limits => format!(
                "change the requests and limits of the settings; `kubectl describe limitrange -n {namespace}` shows the range"
            ),
            Self::Security => {
                let settings = if config.user() == Some(0) {
                    "let the settings name another user than root"
                } else {
                    "leave out the settings that the level refuses"
                };
                format!(
                    "{settings}, or lower the level: `kubectl label namespace {namespace} {LEVEL}=baseline --overwrite`"
                )
            }
            Self::Quota if found.contains("must specify") => {
                "set these requests and limits, or give the namespace a LimitRange with defaults"
                    .to_owned()
            }
            Self::Quota => format!(
                "wait until other pods end, ask for less, or raise the quota; `kubectl describe quota -n {namespace}` shows it"
            ),
            Self::Namespace | Self::Other => return None,
        };
        Some(help)
    }

    /// Returns what a pod has passed. Jobs need no permission to read it.
    async fn found(self, target: &Target<'_>, namespace: &str) -> String {
        let all = ListParams::default();
        let found = match self {
            Self::Namespace => return namespace.to_owned(),
            Self::Other => return "the API server accepts a pod of these settings".to_owned(),
            Self::Limits => {
                let ranges: Api<LimitRange> = Api::namespaced(target.client.clone(), namespace);
                let listed = target.answer(ranges.list(&all)).await;
                listed.map(|ranges| {
                    let names = ranges.into_iter().filter_map(|it| it.metadata.name);
                    names.collect::<Vec<_>>().join(", ")
                })
            }
            Self::Security => {
                let namespaces: Api<Namespace> = Api::all(target.client.clone());
                let read = target.answer(namespaces.get(namespace)).await;
                read.map(|namespace| {
                    let labels = namespace.metadata.labels.unwrap_or_default();
                    let level = labels.get(LEVEL);
                    level.map_or(String::new(), |level| format!("level {level}"))
                })
            }
            Self::Quota => {
                let quotas: Api<ResourceQuota> = Api::namespaced(target.client.clone(), namespace);
                let listed = target.answer(quotas.list(&all)).await;
                listed.map(|quotas| {
                    let shown: Vec<_> = quotas.iter().map(usage).collect();
                    shown.join("; ")
                })
            }
        };
        match found {
            Ok(found) if found.is_empty() => "none".to_owned(),
            Ok(found) => found,
            Err(_) => "the pod is accepted; the login may not read more".to_owned(),
        }
    }
}

/// Returns whether a quota refuses a pod only because others use it: the pod fits when they have ended.
fn is_busy(refusal: &str) -> bool {
    let Some((_, numbers)) = refusal.split_once("exceeded quota: ") else {
        return false;
    };
    let amounts = |name: &str| {
        let (_, rest) = numbers.split_once(&format!(", {name}: "))?;
        let list = rest.split_once(", ").map_or(rest, |(list, _)| list);
        let amounts = list.split(',').map(|it| {
            let (resource, amount) = it.split_once('=')?;
            Some((resource, billionths(amount)?))
        });
        amounts.collect::<Option<BTreeMap<_, _>>>()
    };
    let (Some(requested), Some(limited)) = (amounts("requested"), amounts("limited")) else {
        return false;
    };
    let mut requested = requested.iter();
    requested.all(|(resource, wanted)| limited.get(resource).is_some_and(|most| wanted <= most))
}

/// Returns what of a quota is used.
fn usage(quota: &ResourceQuota) -> String {
    let status = quota.status.clone().unwrap_or_default();
    let used = status.used.unwrap_or_default();
    let none = Quantity("0".to_owned());
    let hard = status.hard.unwrap_or_default();
    let shown = hard.iter().map(|(resource, hard)| {
        let used = used.get(resource).unwrap_or(&none);
        format!("{resource} {} of {}", used.0, hard.0)
    });
    let name = quota.metadata.name.as_deref().unwrap_or_default();
    format!("{name}: {}", shown.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_known_by_the_words_of_the_api_server() {
        let check = |code, message: &str, expected| {
            let status = Status {
                code,
                message: message.to_owned(),
                ..Status::default()
            };
            assert_eq!(Gate::of(&status), expected, "{message}");
        };
        check(404, "namespaces \"ci\" not found", Gate::Namespace);
        let pod = "pods \"p\" is forbidden: ";
        for (message, gate) in [
            (
                "unable to create new content in namespace ci because it is being terminated",
                Gate::Namespace,
            ),
            (
                "maximum memory usage per Container is 50Mi, but limit is 100Mi",
                Gate::Limits,
            ),
            (
                "cpu max limit to request ratio per Pod is 2, but provided ratio is 4.0",
                Gate::Limits,
            ),
            (
                "violates PodSecurity \"restricted:latest\": runAsUser=0",
                Gate::Security,
            ),
            (
                "exceeded quota: q, requested: pods=1, used: pods=0, limited: pods=0",
                Gate::Quota,
            ),
            (
                "failed quota: q: must specify limits.cpu for: build",
                Gate::Quota,
            ),
            ("no PriorityClass with name x was found", Gate::Other),
        ] {
            check(403, &format!("{pod}{message}"), gate);
        }
    }

    #[test]
    fn quota_is_busy_if_a_pod_fits_into_it_alone() {
        for (numbers, expected) in [
            ("requested: pods=1, used: pods=5, limited: pods=5", true),
            ("requested: pods=1, used: pods=0, limited: pods=0", false),
            (
                "requested: limits.memory=1Gi,pods=1, used: limits.memory=1536Mi,pods=1, limited: limits.memory=2Gi,pods=1",
                true,
            ),
            (
                "requested: limits.memory=3Gi,pods=1, used: limits.memory=0,pods=1, limited: limits.memory=2Gi,pods=1",
                false,
            ),
            ("requested: pods=1", false),
        ] {
            let refusal = format!("pods \"p\" is forbidden: exceeded quota: q, {numbers}");
            assert_eq!(is_busy(&refusal), expected, "{numbers}");
        }
        assert!(!is_busy("failed quota: q: must specify limits.cpu"));
    }

    #[test]
    fn only_gates_before_the_refusal_are_passed() {
        let passed = |refusing| {
            let passed = GATES.into_iter().filter(|gate| gate.is_before(refusing));
            passed.collect::<Vec<_>>()
        };
        assert_eq!(passed(Gate::Namespace), []);
        assert_eq!(passed(Gate::Security), [Gate::Namespace, Gate::Limits]);
        assert_eq!(passed(Gate::Other), [Gate::Namespace]);
        assert_eq!(passed(Gate::Quota).len(), 4);
    }
}
