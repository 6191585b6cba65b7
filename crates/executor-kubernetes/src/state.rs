//! What Kubernetes says of a pod: a pure function of the object.

use crate::pod::{BUILD, SERVICE, alias_key};
use k8s_openapi::api::core::v1::{ContainerStateTerminated, ContainerStatus, Pod, PodStatus};
use std::fmt;

/// How far a pod is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PodState {
    /// It may still start; the reason why it has not, if there is one.
    Pending(Option<String>),
    /// The container of the job waits for services of which some have ended.
    Restarting(Vec<ServiceEnds>),
    /// It has a node and all its services, so the container of the job runs at any moment. The node reports it up to a second later.
    Starting,
    /// The container of the job runs. Services may have ended meanwhile.
    Running(Vec<ServiceEnds>),
    /// It runs no longer, or never will.
    Ended {
        reason: String,
        /// Whether another pod may succeed.
        may_retry: bool,
        unpulled: Option<Unpulled>,
    },
}

/// A container whose image is not there and cannot be pulled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unpulled {
    pub(crate) container: String,
    pub(crate) image: String,
    /// The container in words.
    pub(crate) title: String,
    /// The word of Kubernetes, such as `ErrImagePull`.
    pub(crate) word: String,
}

/// A service that has ended. Kubernetes starts it again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServiceEnds {
    /// The name of its container.
    pub(crate) container: String,
    /// The service in words, with its alias and its image.
    pub(crate) title: String,
    /// How often it has ended.
    pub(crate) count: i32,
    /// Why it ended the last time.
    pub(crate) reason: String,
}

impl fmt::Display for ServiceEnds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { title, reason, .. } = self;
        write!(f, "{title} ended and is started again: {reason}")
    }
}

/// The reasons of a waiting container that waiting does not change.
const HOPELESS: [&str; 9] = [
    "ErrImagePull",
    "ImagePullBackOff",
    "InvalidImageName",
    "ErrImageNeverPull",
    "ImageInspectError",
    "CreateContainerConfigError",
    "CreateContainerError",
    "RunContainerError",
    "CrashLoopBackOff",
];

/// Those that mean the image.
const UNPULLED: [&str; 3] = ["ErrImagePull", "ImagePullBackOff", NEVER_PULLED];

/// That of an image that may not be pulled.
pub(crate) const NEVER_PULLED: &str = "ErrImageNeverPull";

/// The reasons of a container that has ended without having run.
const UNSTARTED: [&str; 2] = ["StartError", "ContainerCannotRun"];

/// Words of a kubelet that has not read a secret or a config map yet, and tries again.
const UNSYNCED: &str = "failed to sync";

/// Words of registries and container runtimes for what another attempt does not change.
const REFUSALS: [&str; 5] = [
    "not found",
    "unauthorized",
    "401 Unauthorized",
    "403 Forbidden",
    "no match for platform",
];

/// Why the agent ends by itself.
const LEFT: &str =
    "the environment of the job was removed, as no runner came back in time (`orphan-grace`)";

impl PodState {
    pub(crate) fn of(pod: &Pod) -> Self {
        let ended = |reason: String, may_retry| Self::Ended {
            reason,
            may_retry,
            unpulled: None,
        };
        let status = status_of(pod);
        let conditions = status.conditions.iter().flatten();
        let condition = |name: &str, value: &str| {
            let mut conditions = conditions.clone();
            conditions.find(|it| it.type_ == name && it.status == value)
        };
        // Preempted, evicted, or its node is lost. Its deletion follows.
        if let Some(disruption) = condition("DisruptionTarget", "True") {
            let reason = disruption.reason.clone().unwrap_or_default();
            let message = disruption.message.clone().unwrap_or_default();
            return ended(words(&[&reason, &message]), true);
        }
        if pod.metadata.deletion_timestamp.is_some() {
            return ended("it was deleted".to_owned(), true);
        }
        let of_services = status.init_container_statuses.iter().flatten();
        let of_job = status.container_statuses.iter().flatten();
        let runs = of_job
            .clone()
            .any(|it| it.name == BUILD && it.state.as_ref().is_some_and(|it| it.running.is_some()));
        // A service may end, or be started again, while the job runs.
        for container in of_services.clone().filter(|_| !runs).chain(of_job.clone()) {
            if let Some((reason, may_retry)) = fault(container) {
                let title = title(pod, container);
                return Self::Ended {
                    reason: format!("{title}: {reason}"),
                    may_retry,
                    unpulled: unpulled(container, title),
                };
            }
        }
        let is_left = of_job.clone().any(is_left);
        match status.phase.as_deref() {
            Some("Failed" | "Succeeded") => {
                let reason = status.reason.clone().unwrap_or_default();
                let message = status.message.clone().unwrap_or_default();
                let mut words = words(&[&reason, &message]);
                if words.is_empty() {
                    let usual = if is_left { LEFT } else { "it has ended" };
                    usual.clone_into(&mut words);
                }
                return ended(words, reason != "DeadlineExceeded");
            }
            Some("Unknown") => return ended("its node does not answer".to_owned(), true),
            // Services may run on for a moment.
            _ if is_left => return ended(LEFT.to_owned(), true),
            _ => {}
        }
        let ends: Vec<_> = of_services.filter_map(|it| ends(pod, it)).collect();
        if runs {
            return Self::Running(ends);
        }
        if !ends.is_empty() {
            return Self::Restarting(ends);
        }
        let mut services = status.init_container_statuses.iter().flatten();
        let unready = services.find(|it| {
            it.started != Some(true) && it.state.as_ref().is_some_and(|it| it.running.is_some())
        });
        if let Some(service) = unready {
            let reason = format!("{} is not ready", title(pod, service));
            return Self::Pending(Some(reason));
        }
        let unscheduled = condition("PodScheduled", "False");
        let reason = unscheduled.map(|it| {
            let reason = it.reason.clone().unwrap_or_default();
            words(&[&reason, &it.message.clone().unwrap_or_default()])
        });
        if condition("PodScheduled", "True").is_some() && may_start(pod, &status) {
            return Self::Starting;
        }
        Self::Pending(reason)
    }
}

/// Returns the status of a pod, with the images of services as its specification names them: an image with several names has any of
/// them in the status.
fn status_of(pod: &Pod) -> PodStatus {
    let mut status = pod.status.clone().unwrap_or_default();
    let specs = pod.spec.as_ref().and_then(|it| it.init_containers.as_ref());
    for it in status.init_container_statuses.iter_mut().flatten() {
        let mut specs = specs.into_iter().flatten();
        let spec = specs.find(|spec| spec.name == it.name);
        if let Some(image) = spec.and_then(|spec| spec.image.clone()) {
            it.image = image;
        }
    }
    status
}

/// Returns whether the container of the job waits for nothing but its node.
fn may_start(pod: &Pod, status: &PodStatus) -> bool {
    let Some(spec) = &pod.spec else {
        return false;
    };
    // The report comes after the hook, on which scripts may depend.
    let mut hooks = spec.containers.iter().flat_map(|it| &it.lifecycle);
    let reported = status.init_container_statuses.iter().flatten();
    let started = reported.filter(|it| it.started == Some(true)).count();
    started == spec.init_containers.as_ref().map_or(0, Vec::len)
        && hooks.all(|it| it.post_start.is_none())
}

/// Returns a container in words: a service by its alias and its image, which the user knows, and not by the name of its container.
fn title(pod: &Pod, container: &ContainerStatus) -> String {
    let (name, image) = (&container.name, &container.image);
    if name == BUILD {
        return format!("container {name}");
    }
    let annotations = pod.metadata.annotations.as_ref();
    let alias = annotations.and_then(|it| it.get(&alias_key(name)));
    match alias {
        Some(alias) => format!("the service {alias} ({image})"),
        None if name.starts_with(SERVICE) => format!("the service {image}"),
        None => format!("the container {name} ({image})"),
    }
}

/// Returns the container if its image is not there and cannot be pulled.
fn unpulled(container: &ContainerStatus, title: String) -> Option<Unpulled> {
    let state = container.state.as_ref();
    let waiting = state.and_then(|it| it.waiting.as_ref())?;
    let word = waiting.reason.clone().unwrap_or_default();
    UNPULLED.contains(&&*word).then(|| Unpulled {
        container: container.name.clone(),
        image: container.image.clone(),
        title,
        word,
    })
}

/// Returns why a container cannot run or has ended, and whether another pod may succeed.
fn fault(container: &ContainerStatus) -> Option<(String, bool)> {
    let state = container.state.as_ref()?;
    if let Some(waiting) = &state.waiting {
        let reason = waiting.reason.clone().unwrap_or_default();
        if !HOPELESS.contains(&&*reason) {
            return None;
        }
        let message = waiting.message.clone().unwrap_or_default();
        if message.contains(UNSYNCED) {
            return None;
        }
        let last = container.last_state.as_ref();
        if let Some(last) = last.and_then(|it| it.terminated.as_ref()) {
            // The message of the waiting container has only the pause.
            let last = if container.name == BUILD {
                ending(last)
            } else {
                ending_of_service(last)
            };
            return Some((words(&[&reason, &last]), false));
        }
        let is_pull = matches!(&*reason, "ErrImagePull" | "ImagePullBackOff");
        let may_retry = is_pull && !REFUSALS.iter().any(|it| message.contains(it));
        return Some((words(&[&reason, &message]), may_retry));
    }
    let terminated = state.terminated.as_ref()?;
    let reason = terminated.reason.as_deref().unwrap_or_default();
    if container.name != BUILD {
        // A sidecar that has run is started again; what it says is in `waiting`.
        return UNSTARTED
            .contains(&reason)
            .then(|| (ending(terminated), false));
    }
    // The same job needs the same memory and has the same program.
    let may_retry = reason != "OOMKilled" && !UNSTARTED.contains(&reason);
    (!is_left(container)).then(|| (ending(terminated), may_retry))
}

/// Returns how a container ended.
fn ending(terminated: &ContainerStateTerminated) -> String {
    let [reason, message] =
        [&terminated.reason, &terminated.message].map(|it| it.as_deref().unwrap_or_default());
    let code = format!("exit code {}", terminated.exit_code);
    words(&[reason, message, &code])
}

/// Returns how a service ended, with the last line of its output, which the kubelet keeps as the message.
fn ending_of_service(terminated: &ContainerStateTerminated) -> String {
    let reason = terminated.reason.as_deref().unwrap_or_default();
    if UNSTARTED.contains(&reason) {
        return ending(terminated);
    }
    let reason = match reason {
        // The exit code says it.
        "Error" | "Completed" => "",
        reason => reason,
    };
    let ending = words(&[reason, &format!("exit code {}", terminated.exit_code)]);
    let output = terminated.message.as_deref().unwrap_or_default();
    match output.lines().map(str::trim).rfind(|it| !it.is_empty()) {
        Some(line) => format!("{ending}; its last output was: {line}"),
        None => ending,
    }
}

/// Returns whether the agent has ended by itself: its exit code is then 0. A reason of the pod, such as its deadline, comes first.
fn is_left(container: &ContainerStatus) -> bool {
    let state = container.state.as_ref();
    let terminated = state.and_then(|it| it.terminated.as_ref());
    let has_completed = terminated.is_some_and(|it| {
        // The agent also ends with 0 after a kill for lack of memory.
        it.exit_code == 0 && it.reason.as_deref() != Some("OOMKilled")
    });
    container.name == BUILD && has_completed
}

/// Returns the ends of a service; `None` without one, and for a container that is to end before the next one starts.
fn ends(pod: &Pod, service: &ContainerStatus) -> Option<ServiceEnds> {
    let specs = pod.spec.as_ref().and_then(|it| it.init_containers.as_ref());
    let spec = specs
        .into_iter()
        .flatten()
        .find(|it| it.name == service.name);
    if spec.is_some_and(|it| it.restart_policy.as_deref() != Some("Always")) {
        return None;
    }
    let state = service.state.as_ref();
    let runs = state.is_some_and(|it| it.running.is_some());
    let now = state.and_then(|it| it.terminated.as_ref());
    let before = service.last_state.as_ref();
    let terminated = now.or(before.and_then(|it| it.terminated.as_ref()))?;
    Some(ServiceEnds {
        container: service.name.clone(),
        title: title(pod, service),
        // The kubelet counts the starts after the first one.
        count: service.restart_count + i32::from(!runs),
        reason: ending_of_service(terminated),
    })
}

/// Joins those of the texts that say something.
fn words(texts: &[&str]) -> String {
    let texts = texts.iter().map(|it| it.trim()).filter(|it| !it.is_empty());
    texts.collect::<Vec<_>>().join(": ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn state(status: &Value) -> PodState {
        let pod = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": {}, "spec": { "containers": [] }, "status": status });
        PodState::of(&serde_json::from_value(pod).unwrap())
    }

    fn ended(reason: &str, may_retry: bool) -> PodState {
        PodState::Ended {
            reason: reason.to_owned(),
            may_retry,
            unpulled: None,
        }
    }

    fn container(name: &str, state: &Value) -> Value {
        let [image, id] = ["i", "x"];
        json!({ "name": name, "ready": false, "restartCount": 0, "image": image, "imageID": id, "state": state })
    }

    fn state_of(name: &str, it: &Value) -> PodState {
        state(&json!({ "phase": "Pending", "containerStatuses": [container(name, it)] }))
    }

    fn state_with(services: &[Value], job: &[Value]) -> PodState {
        state(
            &json!({ "phase": "Running", "initContainerStatuses": services, "containerStatuses": job }),
        )
    }

    #[test]
    fn ends_have_the_words_of_kubernetes() {
        let waiting = |reason: &str| {
            let state = json!({ "waiting": { "reason": reason, "message": "m" } });
            state_of("build", &state)
        };
        assert_eq!(waiting("ContainerCreating"), PodState::Pending(None));
        let unpulled = PodState::Ended {
            reason: "container build: ErrImagePull: m".to_owned(),
            may_retry: true,
            unpulled: Some(Unpulled {
                container: "build".to_owned(),
                image: "i".to_owned(),
                title: "container build".to_owned(),
                word: "ErrImagePull".to_owned(),
            }),
        };
        assert_eq!(waiting("ErrImagePull"), unpulled);
        assert_eq!(
            waiting("InvalidImageName"),
            ended("container build: InvalidImageName: m", false)
        );
        assert_eq!(
            state_of("build", &json!({ "running": {} })),
            PodState::Running(Vec::new())
        );
        let late = "failed to sync secret cache: timed out waiting for the condition";
        let late =
            json!({ "waiting": { "reason": "CreateContainerConfigError", "message": late } });
        assert_eq!(state_of("svc-0", &late), PodState::Pending(None));
        let unstarted = json!({ "terminated": { "exitCode": 128, "reason": "StartError" } });
        assert_eq!(
            state_of("build", &unstarted),
            ended("container build: StartError: exit code 128", false)
        );
        let killed = json!({ "terminated": { "exitCode": 137, "reason": "OOMKilled" } });
        assert_eq!(
            state_of("build", &killed),
            ended("container build: OOMKilled: exit code 137", false)
        );
        let crashes = json!({ "waiting": { "reason": "CrashLoopBackOff" } });
        let beside = |job: &Value| {
            let (services, job) = (container("svc-0", &crashes), container("build", job));
            state_with(&[services], &[job])
        };
        assert_eq!(
            beside(&json!({ "running": {} })),
            PodState::Running(Vec::new())
        );
        let waiting = json!({ "waiting": { "reason": "PodInitializing" } });
        assert_eq!(
            beside(&waiting),
            ended("the service i: CrashLoopBackOff", false)
        );
        let unstarted = json!({ "terminated": { "reason": "StartError", "message": "no such file", "exitCode": 128 } });
        let unstarted = container("svc-0", &unstarted);
        assert_eq!(
            state_with(&[unstarted], &[container("build", &waiting)]),
            ended(
                "the service i: StartError: no such file: exit code 128",
                false
            )
        );
        let evicted = json!({ "phase": "Failed", "reason": "Evicted", "message": "low on memory" });
        assert_eq!(state(&evicted), ended("Evicted: low on memory", true));
        let condition = |kind: &str, value: &str| {
            let all =
                [json!({ "type": kind, "status": value, "reason": "R", "message": "0/1 nodes" })];
            state(&json!({ "phase": "Pending", "conditions": all }))
        };
        assert_eq!(
            condition("DisruptionTarget", "True"),
            ended("R: 0/1 nodes", true)
        );
        assert_eq!(
            condition("PodScheduled", "False"),
            PodState::Pending(Some("R: 0/1 nodes".to_owned()))
        );
        assert_eq!(condition("PodScheduled", "True"), PodState::Starting);
    }

    #[test]
    fn container_starts_after_its_services() {
        let pod = |services: &Value, lifecycle: &Value| {
            let build = json!({ "name": "build", "lifecycle": lifecycle });
            let pod = json!({
                "metadata": {},
                "spec": { "containers": [build], "initContainers": [{ "name": "svc-0", "image": "web:1" }] },
                "status": {
                    "phase": "Pending",
                    "conditions": [{ "type": "PodScheduled", "status": "True" }],
                    "initContainerStatuses": services,
                },
            });
            PodState::of(&serde_json::from_value(pod).unwrap())
        };
        let none = json!({});
        assert_eq!(pod(&json!([]), &none), PodState::Pending(None));
        let mut service = container("svc-0", &json!({ "running": {} }));
        let unready = PodState::Pending(Some("the service web:1 is not ready".to_owned()));
        assert_eq!(pod(&json!([service]), &none), unready);
        service["started"] = json!(true);
        assert_eq!(pod(&json!([service]), &none), PodState::Starting);
        let hook = json!({ "postStart": { "exec": { "command": ["true"] } } });
        assert_eq!(pod(&json!([service]), &hook), PodState::Pending(None));
    }

    #[test]
    fn agent_that_ended_by_itself_was_left() {
        let completed = json!({ "terminated": { "exitCode": 0, "reason": "Completed" } });
        let build = container("build", &completed);
        let service = container("svc-0", &json!({ "running": {} }));
        assert_eq!(
            state_with(&[service], std::slice::from_ref(&build)),
            ended(LEFT, true)
        );
        let killed = json!({ "terminated": { "exitCode": 0, "reason": "OOMKilled" } });
        let reason = "container build: OOMKilled: exit code 0";
        assert_eq!(state_of("build", &killed), ended(reason, false));
        let of_pod = |reason: &str| {
            state(&json!({ "phase": "Failed", "reason": reason, "containerStatuses": [build] }))
        };
        assert_eq!(of_pod(""), ended(LEFT, true));
        assert_eq!(of_pod("DeadlineExceeded"), ended("DeadlineExceeded", false));
    }

    #[test]
    fn evicted_pod_says_so_also_while_it_is_deleted() {
        let reason = json!({ "type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI" });
        let pod = json!({
            "metadata": { "deletionTimestamp": "2026-01-01T00:00:00Z" },
            "status": { "phase": "Running", "conditions": [reason] },
        });
        let evicted = PodState::of(&serde_json::from_value(pod).unwrap());
        assert_eq!(evicted, ended("EvictionByEvictionAPI", true));
    }

    #[test]
    fn each_end_of_a_service_is_counted_once() {
        let ended = json!({ "terminated": { "reason": "Error", "exitCode": 3 } });
        let beside = |state: &Value, last: &Value, count: i32| {
            let mut service = container("svc-0", state);
            service["lastState"] = last.clone();
            service["restartCount"] = json!(count);
            let job = container("build", &json!({ "running": {} }));
            state_with(&[service], &[job])
        };
        let expected = |count| {
            let [container, title, reason] =
                ["svc-0", "the service i", "exit code 3"].map(str::to_owned);
            PodState::Running(vec![ServiceEnds {
                container,
                title,
                count,
                reason,
            }])
        };
        let (nothing, running) = (json!({}), json!({ "running": {} }));
        let waiting = json!({ "waiting": { "reason": "CrashLoopBackOff" } });
        assert_eq!(beside(&running, &nothing, 0), PodState::Running(Vec::new()));
        assert_eq!(beside(&ended, &nothing, 0), expected(1));
        assert_eq!(beside(&waiting, &ended, 0), expected(1));
        assert_eq!(beside(&running, &ended, 1), expected(1));
        assert_eq!(beside(&ended, &ended, 1), expected(2));
    }

    #[test]
    fn service_that_ends_before_the_job_is_named_with_its_last_output() {
        let with = |name: &str, terminated: &Value| {
            let service = container(name, &json!({ "terminated": terminated }));
            let pod = json!({
                "metadata": { "annotations": { "runwright.dev/alias.svc-0": "db" } },
                "status": { "phase": "Pending", "initContainerStatuses": [service] },
            });
            match PodState::of(&serde_json::from_value(pod).unwrap()) {
                PodState::Restarting(ends) => ends[0].to_string(),
                state => panic!("{state:?}"),
            }
        };
        let output = "start\nno password is set\n\n";
        let failed = json!({ "exitCode": 3, "reason": "Error", "message": output });
        let expected = "the service db (i) ended and is started again: exit code 3; its last output was: no password is set";
        assert_eq!(with("svc-0", &failed), expected);
        let killed = json!({ "exitCode": 137, "reason": "OOMKilled" });
        let expected = "the service i ended and is started again: OOMKilled: exit code 137";
        assert_eq!(with("svc-1", &killed), expected);
        let completed = json!({ "exitCode": 0, "reason": "Completed" });
        let init = json!({
            "metadata": {},
            "spec": { "containers": [], "initContainers": [{ "name": "init" }] },
            "status": { "initContainerStatuses": [container("init", &json!({ "terminated": completed }))] },
        });
        let init = PodState::of(&serde_json::from_value(init).unwrap());
        assert_eq!(init, PodState::Pending(None));
        let expected = "the container mesh (i) ended and is started again: exit code 0";
        assert_eq!(with("mesh", &completed), expected);
    }
}
