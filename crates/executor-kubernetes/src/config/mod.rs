//! The settings: the keys of `[runners.kubernetes]`.
//!
//! A key of GitLab Runner is supported, has no effect here (see [`KubernetesConfig::ignored`]), or is refused with the reason (see
//! [`KubernetesConfig::refused`]). An empty text is the same as an absent one.

mod engine;
mod keys;
mod nested;
mod patch;
mod pull_policy;
mod volume;

pub use engine::EngineChoice;
pub(crate) use nested::unknown_field;
pub use patch::{PatchType, PodSpecPatch};
pub use pull_policy::PullPolicy;
pub use volume::{VolumeConfig, VolumesConfig};

use executor_core::job::{Image, SecretString};
use executor_core::variable::JobVariable;
use k8s_openapi::api::core::v1::{
    Affinity, HostAlias, Lifecycle, PodDNSConfig, PodSecurityContext, SecurityContext,
};
use nested::kubernetes_type;
use pull_policy::one_or_many;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// The name of this executor.
pub const NAME: &str = "kubernetes";

/// The user of the containers: not root, as the `restricted` Pod Security Standard asks.
const USER: i64 = 1000;

/// The settings of jobs in a cluster.
///
/// A quantity is one of Kubernetes: `500m`, `2`, `1Gi`. A pattern of `*_overwrite_allowed` is a regular expression for the whole value
/// of a job's variable; without it, the variable is ignored.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "GitLab's keys")]
pub struct KubernetesConfig {
    /// The file with clusters and logins. Default: `KUBECONFIG`, then `~/.kube/config`, then that of the pod that this process is in.
    pub kubeconfig: Option<PathBuf>,
    /// The context of that file. Default: its current one.
    pub context: Option<String>,
    /// The address of the API server, instead of a file.
    pub host: Option<String>,
    /// The certificates that the API server's own is checked with, for `host`.
    pub ca_file: Option<PathBuf>,
    /// The client certificate, for `host`.
    pub cert_file: Option<PathBuf>,
    /// The key of the client certificate.
    pub key_file: Option<PathBuf>,
    /// The token for `host`.
    pub bearer_token: Option<SecretString>,
    /// Only `false`: a job would choose the identity that the cluster sees.
    #[serde(deserialize_with = "keys::only_false")]
    pub bearer_token_overwrite_allowed: bool,
    /// The namespace of the pods. Default: that of the context, else `default`.
    pub namespace: Option<String>,
    /// The pattern for `KUBERNETES_NAMESPACE_OVERWRITE`.
    pub namespace_overwrite_allowed: Option<String>,
    /// Whether each job has a namespace of its own; then the other keys of namespaces have no effect.
    pub namespace_per_job: bool,
    /// The account of the pods. Default: that of the namespace.
    pub service_account: Option<String>,
    /// The pattern for `KUBERNETES_SERVICE_ACCOUNT_OVERWRITE`.
    pub service_account_overwrite_allowed: Option<String>,
    /// Whether jobs get the token of that account. Default: no.
    pub automount_service_account_token: Option<bool>,

    /// The image of jobs that name none.
    pub image: Option<String>,
    /// Patterns of images that jobs may name, such as `registry.example/**`. Default: all.
    pub allowed_images: Vec<String>,
    /// Patterns of images that services may have. Default: all.
    pub allowed_services: Vec<String>,
    /// One pull policy, or several that are tried in this order. Default: that of the cluster.
    #[serde(deserialize_with = "one_or_many")]
    pub pull_policy: Vec<PullPolicy>,
    /// The pull policies that a job may choose. Default: those of `pull_policy`.
    #[serde(deserialize_with = "one_or_many")]
    pub allowed_pull_policies: Vec<PullPolicy>,
    /// The secrets with logins of registries.
    pub image_pull_secrets: Vec<String>,
    /// Whether the logins are those of the service account alone.
    pub use_service_account_image_pull_secrets: bool,
    /// The services of every job.
    pub services: Vec<ServiceConfig>,

    /// Processors that the job's container asks for.
    pub cpu_request: Option<String>,
    /// The most that `KUBERNETES_CPU_REQUEST` may ask for.
    pub cpu_request_overwrite_max_allowed: Option<String>,
    /// The most processors of the job's container.
    pub cpu_limit: Option<String>,
    /// The most that `KUBERNETES_CPU_LIMIT` may be.
    pub cpu_limit_overwrite_max_allowed: Option<String>,
    /// Memory that the job's container asks for.
    pub memory_request: Option<String>,
    /// The most that `KUBERNETES_MEMORY_REQUEST` may ask for.
    pub memory_request_overwrite_max_allowed: Option<String>,
    /// The most memory of the job's container.
    pub memory_limit: Option<String>,
    /// The most that `KUBERNETES_MEMORY_LIMIT` may be.
    pub memory_limit_overwrite_max_allowed: Option<String>,
    /// Disk that the job's container asks for.
    pub ephemeral_storage_request: Option<String>,
    /// The most that `KUBERNETES_EPHEMERAL_STORAGE_REQUEST` may ask for.
    pub ephemeral_storage_request_overwrite_max_allowed: Option<String>,
    /// The most disk of the job's container.
    pub ephemeral_storage_limit: Option<String>,
    /// The most that `KUBERNETES_EPHEMERAL_STORAGE_LIMIT` may be.
    pub ephemeral_storage_limit_overwrite_max_allowed: Option<String>,
    /// Processors that each service asks for.
    pub service_cpu_request: Option<String>,
    /// The most that `KUBERNETES_SERVICE_CPU_REQUEST` may ask for.
    pub service_cpu_request_overwrite_max_allowed: Option<String>,
    /// The most processors of each service.
    pub service_cpu_limit: Option<String>,
    /// The most that `KUBERNETES_SERVICE_CPU_LIMIT` may be.
    pub service_cpu_limit_overwrite_max_allowed: Option<String>,
    /// Memory that each service asks for.
    pub service_memory_request: Option<String>,
    /// The most that `KUBERNETES_SERVICE_MEMORY_REQUEST` may ask for.
    pub service_memory_request_overwrite_max_allowed: Option<String>,
    /// The most memory of each service.
    pub service_memory_limit: Option<String>,
    /// The most that `KUBERNETES_SERVICE_MEMORY_LIMIT` may be.
    pub service_memory_limit_overwrite_max_allowed: Option<String>,
    /// Disk that each service asks for.
    pub service_ephemeral_storage_request: Option<String>,
    /// The most that `KUBERNETES_SERVICE_EPHEMERAL_STORAGE_REQUEST` may ask for.
    pub service_ephemeral_storage_request_overwrite_max_allowed: Option<String>,
    /// The most disk of each service.
    pub service_ephemeral_storage_limit: Option<String>,
    /// The most that `KUBERNETES_SERVICE_EPHEMERAL_STORAGE_LIMIT` may be.
    pub service_ephemeral_storage_limit_overwrite_max_allowed: Option<String>,
    /// Processors that all containers together ask for.
    pub pod_cpu_request: Option<String>,
    /// The most that `KUBERNETES_POD_CPU_REQUEST` may ask for.
    pub pod_cpu_request_overwrite_max_allowed: Option<String>,
    /// The most processors of all containers together.
    pub pod_cpu_limit: Option<String>,
    /// The most that `KUBERNETES_POD_CPU_LIMIT` may be.
    pub pod_cpu_limit_overwrite_max_allowed: Option<String>,
    /// Memory that all containers together ask for.
    pub pod_memory_request: Option<String>,
    /// The most that `KUBERNETES_POD_MEMORY_REQUEST` may ask for.
    pub pod_memory_request_overwrite_max_allowed: Option<String>,
    /// The most memory of all containers together.
    pub pod_memory_limit: Option<String>,
    /// The most that `KUBERNETES_POD_MEMORY_LIMIT` may be.
    pub pod_memory_limit_overwrite_max_allowed: Option<String>,

    /// Labels that a node must have.
    pub node_selector: BTreeMap<String, String>,
    /// The pattern for `KUBERNETES_NODE_SELECTOR_*`, whose values are `key=value`.
    pub node_selector_overwrite_allowed: Option<String>,
    /// Taints that a node may have: `"key=value" = "Effect"`, or `"key"` for any value; an empty effect means all.
    pub node_tolerations: BTreeMap<String, String>,
    /// The pattern for `KUBERNETES_NODE_TOLERATIONS_*`, whose values are `key=value:Effect`.
    pub node_tolerations_overwrite_allowed: Option<String>,
    /// Rules for the choice of a node, as Kubernetes has them, with keys in `snake_case`.
    #[serde(deserialize_with = "kubernetes_type")]
    pub affinity: Option<Affinity>,
    /// The scheduler of the pods.
    pub scheduler_name: Option<String>,
    /// The priority class of the pods.
    pub priority_class_name: Option<String>,
    /// The runtime class of the pods, such as one for `gVisor` or `Kata`.
    pub runtime_class_name: Option<String>,
    /// More labels of the pods; values may refer to variables.
    pub pod_labels: BTreeMap<String, String>,
    /// The pattern for `KUBERNETES_POD_LABELS_*`, whose values are `key=value`.
    pub pod_labels_overwrite_allowed: Option<String>,
    /// More annotations of the pods; values may refer to variables.
    pub pod_annotations: BTreeMap<String, String>,
    /// The pattern for `KUBERNETES_POD_ANNOTATIONS_*`, whose values are `key=value`.
    pub pod_annotations_overwrite_allowed: Option<String>,

    /// Whether the containers have all rights of the node. They then run as the user of their image.
    pub privileged: bool,
    /// Whether a process may have more rights than its parent. Default: no, except in privileged containers.
    pub allow_privilege_escalation: Option<bool>,
    /// Capabilities of the containers, such as `SYS_PTRACE`. Default: none.
    pub cap_add: Vec<String>,
    /// Capabilities that containers do not have, also if `cap_add` names them.
    pub cap_drop: Vec<String>,
    /// The users that a job may choose for its images, by number. Default: all except 0.
    pub allowed_users: Vec<String>,
    /// The groups that a job may choose for its images, by number. Default: all.
    pub allowed_groups: Vec<String>,
    /// The security context of the pod, with keys in `snake_case`.
    #[serde(deserialize_with = "kubernetes_type")]
    pub pod_security_context: Option<PodSecurityContext>,
    /// The security context of the job's container.
    #[serde(deserialize_with = "kubernetes_type")]
    pub build_container_security_context: Option<SecurityContext>,
    /// The security context of the services.
    #[serde(deserialize_with = "kubernetes_type")]
    pub service_container_security_context: Option<SecurityContext>,
    /// The user of the containers. 0 is root, which the `restricted` Pod Security Standard does not allow. Default: 1000.
    pub run_as_user: Option<i64>,

    /// Volumes of all containers.
    pub volumes: VolumesConfig,
    /// More names of addresses, for all containers.
    pub host_aliases: Vec<HostAlias>,
    /// Where names are looked up.
    pub dns_policy: Option<DnsPolicy>,
    /// Name servers, search domains and options.
    #[serde(deserialize_with = "kubernetes_type")]
    pub dns_config: Option<PodDNSConfig>,
    /// Hooks of the job's container.
    #[serde(deserialize_with = "kubernetes_type")]
    pub container_lifecycle: Option<Lifecycle>,
    /// Changes to the pod, after all other settings and in this order.
    pub pod_spec: Vec<PodSpecPatch>,

    /// Pods that are kept ready for jobs that have only such an image.
    pub warm: Vec<WarmConfig>,
    /// For how many seconds a pod may wait for a node and its images. Default: 180.
    pub poll_timeout: Option<u64>,
    /// How many seconds the processes of a pod have to end. Default: 1, as its scripts have ended by then.
    pub pod_termination_grace_period_seconds: Option<i64>,
    /// The older name of `pod_termination_grace_period_seconds`, which is preferred.
    pub cleanup_grace_period_seconds: Option<i64>,
    /// How many seconds without a connection end the job in its pod. Default: 120.
    pub orphan_grace: Option<u64>,
    /// How scripts run in the pod: with the `agent`, or by an `exec` for each, which ends the job with a lost connection. Default: `auto`, the
    /// agent where it can run.
    pub engine: EngineChoice,
}

/// A service of every job of a runner (`[[runners.kubernetes.services]]`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServiceConfig {
    /// The image.
    pub name: String,
    /// The host names, separated by spaces or commas.
    pub alias: Option<String>,
    /// The command that replaces the image's own.
    pub command: Vec<String>,
    /// The entry point that replaces the image's own.
    pub entrypoint: Vec<String>,
    /// Variables of the service alone: `NAME=value`.
    pub environment: Vec<String>,
}

impl From<&ServiceConfig> for Image {
    fn from(service: &ServiceConfig) -> Self {
        let variable = |line: &String| {
            let (name, value) = line.split_once('=').unwrap_or((line, ""));
            JobVariable::public(name, value)
        };
        Self {
            alias: service.alias.clone(),
            command: service.command.clone(),
            entrypoint: service.entrypoint.clone(),
            variables: service.environment.iter().map(variable).collect(),
            ..Self::named(&service.name)
        }
    }
}

/// Pods that wait for jobs (`[[runners.kubernetes.warm]]`, a key of ours).
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WarmConfig {
    /// The image, as jobs name it.
    pub image: String,
    /// How many pods wait.
    pub count: usize,
}

/// Where the containers of a pod look up names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DnsPolicy {
    /// Only where `dns_config` says.
    None,
    /// Where the node does.
    Default,
    /// In the cluster, then where the node does.
    ClusterFirst,
    /// The same for pods in the network of their node.
    ClusterFirstWithHostNet,
}

impl DnsPolicy {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::None => "None",
            Self::Default => "Default",
            Self::ClusterFirst => "ClusterFirst",
            Self::ClusterFirstWithHostNet => "ClusterFirstWithHostNet",
        }
    }
}

/// Returns a text of the settings, unless it is empty.
pub(crate) fn non_empty(text: Option<&str>) -> Option<&str> {
    text.filter(|text| !text.is_empty())
}

impl KubernetesConfig {
    /// Returns the user of containers for which neither a security context nor the job names one; `None` is that of the image.
    pub(crate) fn user(&self) -> Option<i64> {
        let pod = self.pod_security_context.as_ref();
        let may_be_root = pod.and_then(|it| it.run_as_non_root) == Some(false);
        match self.run_as_user {
            Some(user) => Some(user),
            None if self.privileged || may_be_root => None,
            None => Some(USER),
        }
    }

    pub(crate) fn patience(&self) -> Duration {
        Duration::from_secs(self.poll_timeout.unwrap_or(180))
    }

    pub(crate) fn grace(&self) -> i64 {
        self.pod_termination_grace_period_seconds
            .or(self.cleanup_grace_period_seconds)
            .unwrap_or(1)
    }

    pub(crate) fn orphan_grace(&self) -> Duration {
        Duration::from_secs(self.orphan_grace.unwrap_or(120))
    }
}
