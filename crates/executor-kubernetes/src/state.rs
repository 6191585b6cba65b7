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
    Restarting {
        services: Vec<ServiceEnds>,
        /// Why the job has not begun: a service that is not ready.
        reason: Option<String>,
    },
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
        let services: Vec<_> = of_services.clone().filter_map(|it| ends(pod, it)).collect();
        if runs {
            return Self::Running(services);
        }
        let unready = of_services.clone().find_map(|it| unready(pod, it));
        if !services.is_empty() {
            return Self::Restarting {
                services,
                reason: unready,
            };
        }
        if unready.is_some() {
            return Self::Pending(unready);
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

/// Returns why a service is not ready; `None` if it is, and before its first start.
fn unready(pod: &Pod, service: &ContainerStatus) -> Option<String> {
    if service.started == Some(true) {
        return None;
    }
    if let Some(ends) = ends(pod, service) {
        return Some(ends.to_string());
    }
    let runs = service.state.as_ref()?.running.is_some();
    runs.then(|| format!("{} is not ready", title(pod, service)))
}

/// Joins those of the texts that say something.
fn words(texts: &[&str]) -> String {
    let texts = texts.iter().map(|it| it.trim()).filter(|it| !it.is_empty());
    texts.collect::<Vec<_>>().join(": ")
}

#[cfg(test)]
mod tests;
