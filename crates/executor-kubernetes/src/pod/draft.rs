use super::overwrite::Overwrites;
use super::resources::Scope;
use super::service::Service;
use super::{GATE, container, label, patch};
use crate::config::{KubernetesConfig, non_empty};
use crate::error::KubernetesError;
use executor_core::job::Job;
use executor_core::variable::JobVariables;
use k8s_openapi::api::core::v1::{
    HostAlias, LocalObjectReference, Pod, PodSchedulingGate, PodSpec, Secret,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use std::collections::BTreeMap;

/// The key and the type of a secret with logins of registries.
const LOGIN: &str = ".dockerconfigjson";
const LOGIN_TYPE: &str = "kubernetes.io/dockerconfigjson";

/// How much longer than its job a pod may live: the runner ends the job first.
const DEADLINE_MARGIN: i64 = 10 * 60;

/// The deadline of a job without a timeout of its own.
const TIMEOUT: u64 = 2 * 60 * 60;

/// The address of services: all containers of a pod share one network.
const LOCAL: &str = "127.0.0.1";

/// The input of [`objects`].
#[derive(Clone, Copy)]
pub(crate) struct Request<'r> {
    pub(crate) name: &'r str,
    pub(crate) owner: &'r str,
    pub(crate) job: &'r Job,
    pub(crate) variables: &'r JobVariables,
    pub(crate) config: &'r KubernetesConfig,
    pub(crate) builds_dir: &'r str,
    pub(crate) cache_dir: &'r str,
    /// The script that waits for the agent and becomes it.
    pub(crate) start: &'r str,
    /// The logins of registries for this job: the text of a `config.json` of docker.
    pub(crate) login: Option<&'r str>,
    /// Which of a container's pull policies is tried, by its name. Default: the first.
    pub(crate) pulls: &'r BTreeMap<String, usize>,
}

/// The objects that the API server creates for a job.
pub(crate) struct Objects {
    pub(crate) pod: Pod,
    /// The values that the pod refers to without showing them. The secret has the pod's name; the pod becomes its owner.
    pub(crate) secret: Option<Secret>,
    /// How many pull policies each container has.
    pub(crate) policies: BTreeMap<String, usize>,
    /// Requests of the job that have no effect, for its log.
    pub(crate) warnings: Vec<String>,
}

/// Returns the pod of a job, and the secret that it refers to.
///
/// # Errors
///
/// When the job has no image, or asks for something that a pod cannot have or the settings do not allow.
pub(crate) fn objects(request: &Request<'_>) -> Result<Objects, KubernetesError> {
    let mut draft = Draft {
        request,
        variables: request.variables.expanded(),
        secret: BTreeMap::new(),
        policies: BTreeMap::new(),
        aliases: BTreeMap::new(),
        warnings: Vec::new(),
    };
    let overwrites = Overwrites::of(&mut draft)?;
    let spec = draft.spec(&overwrites)?;
    let spec = patch::apply(spec, &request.config.pod_spec)?;
    let mut metadata = label::metadata(request, overwrites.labels, overwrites.annotations);
    let annotations = metadata.annotations.get_or_insert_default();
    annotations.append(&mut draft.aliases);
    let secret = (!draft.secret.is_empty()).then(|| Secret {
        metadata: ObjectMeta {
            annotations: None,
            ..metadata.clone()
        },
        type_: Some(if draft.secret.contains_key(LOGIN) {
            LOGIN_TYPE.to_owned()
        } else {
            "Opaque".to_owned()
        }),
        string_data: Some(draft.secret),
        immutable: Some(true),
        data: None,
    });
    Ok(Objects {
        pod: Pod {
            metadata,
            spec: Some(spec),
            status: None,
        },
        secret,
        policies: draft.policies,
        warnings: draft.warnings,
    })
}

/// A pod under construction.
pub(super) struct Draft<'r> {
    pub(super) request: &'r Request<'r>,
    /// The job's variables, with their references expanded.
    pub(super) variables: JobVariables,
    /// The values of the secret, by key.
    pub(super) secret: BTreeMap<String, String>,
    pub(super) policies: BTreeMap<String, usize>,
    /// The annotations with the aliases of services.
    pub(super) aliases: BTreeMap<String, String>,
    pub(super) warnings: Vec<String>,
}

impl Draft<'_> {
    fn spec(&mut self, overwrites: &Overwrites) -> Result<PodSpec, KubernetesError> {
        let Request { job, config, .. } = *self.request;
        let volumes = self.volumes()?;
        let (containers, aliases): (Vec<_>, Vec<_>) = self
            .services(&volumes.of_settings)?
            .into_iter()
            .map(|Service { container, aliases }| (container, aliases))
            .unzip();
        let timeout = match job.runner_info.timeout {
            0 => TIMEOUT,
            seconds => seconds,
        };
        let deadline = i64::try_from(timeout).unwrap_or(i64::MAX);
        let text = |text: &Option<String>| non_empty(text.as_deref()).map(str::to_owned);
        Ok(PodSpec {
            restart_policy: Some("Never".to_owned()),
            termination_grace_period_seconds: Some(config.grace()),
            active_deadline_seconds: Some(deadline.saturating_add(DEADLINE_MARGIN)),
            automount_service_account_token: Some(
                config.automount_service_account_token.unwrap_or_default(),
            ),
            // The environment has the variables of the job alone.
            enable_service_links: Some(false),
            service_account_name: overwrites.service_account.clone(),
            image_pull_secrets: self.image_pull_secrets(),
            node_selector: (!overwrites.node_selector.is_empty())
                .then(|| overwrites.node_selector.clone()),
            tolerations: overwrites.tolerations(),
            affinity: config.affinity.clone(),
            scheduler_name: text(&config.scheduler_name),
            priority_class_name: text(&config.priority_class_name),
            runtime_class_name: text(&config.runtime_class_name),
            dns_policy: config.dns_policy.map(|it| it.as_str().to_owned()),
            dns_config: config.dns_config.clone(),
            host_aliases: host_aliases(&config.host_aliases, aliases.concat()),
            resources: self.requirements(Scope::Pod, &[])?,
            security_context: Some(self.pod_security_context()),
            init_containers: (!containers.is_empty()).then_some(containers),
            containers: vec![container::build(self, volumes.mounts)?],
            volumes: Some(volumes.all),
            scheduling_gates: (!self.secret.is_empty()).then(|| {
                vec![PodSchedulingGate {
                    name: GATE.to_owned(),
                }]
            }),
            ..PodSpec::default()
        })
    }

    /// Adds a warning, once.
    pub(super) fn warn(&mut self, warning: String) {
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    fn image_pull_secrets(&mut self) -> Option<Vec<LocalObjectReference>> {
        let Request { config, .. } = *self.request;
        let login = non_empty(self.request.login);
        // Kubernetes adds those of the account to a pod that names none.
        if config.use_service_account_image_pull_secrets {
            if login.is_some() {
                let warning = "the job's logins of registries are not used: use_service_account_image_pull_secrets is set";
                self.warn(warning.to_owned());
            }
            return None;
        }
        let mut names = config.image_pull_secrets.clone();
        if let Some(login) = login {
            self.secret.insert(LOGIN.to_owned(), login.to_owned());
            names.push(self.request.name.to_owned());
        }
        let references = names.into_iter().map(|name| LocalObjectReference { name });
        let references: Vec<_> = references.collect();
        (!references.is_empty()).then_some(references)
    }
}

/// Returns the names of addresses: those of the settings, and those of the services. Kubernetes has one entry for each address.
fn host_aliases(settings: &[HostAlias], services: Vec<String>) -> Option<Vec<HostAlias>> {
    let mut all = settings.to_vec();
    if !services.is_empty() {
        match all.iter_mut().find(|it| it.ip == LOCAL) {
            Some(local) => local.hostnames.get_or_insert_default().extend(services),
            None => all.push(HostAlias {
                ip: LOCAL.to_owned(),
                hostnames: Some(services),
            }),
        }
    }
    (!all.is_empty()).then_some(all)
}

/// Returns an error of the settings or the job.
pub(super) fn refused(message: impl Into<String>) -> KubernetesError {
    KubernetesError::Config(message.into())
}
