//! Services, as sidecars: the job's container starts when all are ready.

use super::container::{Role, literals, variable};
use super::draft::{Draft, Request, refused};
use super::label::is_dns_name;
use super::{BUILD, SERVICE, alias_key};
use crate::config::KubernetesConfig;
use crate::error::KubernetesError;
use executor_core::job::{Image, Job};
use executor_core::variable::{JobVariable, JobVariables, LONGEST_VALUE, expand_within};
use k8s_openapi::api::core::v1::{
    Container, EnvVar, EnvVarSource, Probe, SecretKeySelector, TCPSocketAction, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The variable by which a service names the port that answers when it is ready, as with GitLab Runner.
pub(super) const PORT: &str = "HEALTHCHECK_TCP_PORT";

/// How often and how many times a service is asked whether it is ready: for two minutes.
const PROBE_SECONDS: i32 = 1;
const PROBES: i32 = 120;

/// A service, and the names by which the job reaches it.
pub(super) struct Service {
    pub(super) container: Container,
    pub(super) aliases: Vec<String>,
}

/// The names by which the runner reaches a service, or the job itself, and the ports that are offered.
#[derive(Debug)]
pub(crate) struct Offer {
    pub(crate) names: Vec<String>,
    /// Empty if the job names none: then each port.
    pub(crate) ports: Vec<u16>,
}

/// Returns what the containers of a job offer: the services, then the job.
pub(crate) fn offers(config: &KubernetesConfig, job: &Job, variables: &JobVariables) -> Vec<Offer> {
    let variables = variables.expanded();
    let services = images(config, job).into_iter().map(|image| Offer {
        names: names(&image, &variables).1,
        ports: if image.ports.is_empty() {
            Vec::new()
        } else {
            ports(&image).unwrap_or_default()
        },
    });
    let own = Offer {
        names: vec![BUILD.to_owned()],
        ports: job.image.ports.iter().map(|port| port.number).collect(),
    };
    services.chain([own]).collect()
}

fn images(config: &KubernetesConfig, job: &Job) -> Vec<Image> {
    let of_settings = config.services.iter().map(Image::from);
    let images = of_settings.chain(job.services.iter().cloned());
    images.filter(|it| !it.name.is_empty()).collect()
}

impl Draft<'_> {
    /// Returns the services of the settings and of the job, with the volumes of the settings.
    pub(super) fn services(
        &mut self,
        mounts: &[VolumeMount],
    ) -> Result<Vec<Service>, KubernetesError> {
        let Request { job, config, .. } = *self.request;
        let images = images(config, job);
        let mut owners: BTreeMap<u16, String> = BTreeMap::new();
        let mut services = Vec::new();
        for (number, image) in images.iter().enumerate() {
            let (name, aliases) = names(image, &self.variables);
            for alias in invalid_aliases(image, &self.variables) {
                self.warn(format!(
                    "service {name}: {alias:?} is not a host name in a pod, which has small letters, digits and `-`"
                ));
            }
            self.check_image(Role::Service, &name)?;
            let ports = ports(image)?;
            for port in &ports {
                if let Some(other) = owners.insert(*port, name.clone()) {
                    return Err(refused(format!(
                        "the services {other} and {name} both have the port {port}; the containers of a pod share one network"
                    )));
                }
            }
            let key = format!("{SERVICE}{number}");
            let alias = image.alias.as_deref().unwrap_or_default();
            if let Some(alias) = split_aliases(&self.variables.expand(alias)).next() {
                self.aliases.insert(alias_key(&key), alias.to_owned());
            }
            let env = self.environment(&key, image);
            let mut container = self.container(&key, image, Role::Service)?;
            container.command = literals(&image.entrypoint);
            container.args = literals(&image.command);
            container.restart_policy = Some("Always".to_owned());
            container.env = (!env.is_empty()).then_some(env);
            container.volume_mounts = (!mounts.is_empty()).then(|| mounts.to_vec());
            // The last output then comes with the end, without a permission to read logs.
            container.termination_message_policy = Some("FallbackToLogsOnError".to_owned());
            container.startup_probe = ports.first().map(|port| probe(*port));
            container.image = Some(name);
            services.push(Service { container, aliases });
        }
        Ok(services)
    }

    /// Returns the variables of a service: the public ones of the job, then its own. Secrets among its own come from the secret.
    fn environment(&mut self, container: &str, image: &Image) -> Vec<EnvVar> {
        let job = self.request.variables;
        let is_public = |it: &&JobVariable| it.public && !it.masked && !it.file;
        // A public variable that refers to a secret does not pass it to the service.
        let public = |name: &str| job.variable(name).filter(is_public).map(|it| &*it.value);
        let mut all: BTreeMap<&str, EnvVar> = BTreeMap::new();
        for it in job.iter().filter(is_public) {
            let value = expand(it, public);
            all.insert(&it.key, variable(&it.key, &value));
        }
        for (number, it) in image
            .variables
            .iter()
            .enumerate()
            .filter(|(_, it)| !it.file)
        {
            let sibling = |name: &str| {
                let sibling = image.variables.iter().rfind(|other| other.key == name);
                // A reference to itself means the job's variable.
                sibling.filter(|other| other.key != it.key)
            };
            let value = expand(it, |name| {
                let sibling = sibling(name).map(|other| &*other.value);
                sibling.or_else(|| self.variables.get(name))
            });
            let shown = expand(it, |name| {
                let sibling = sibling(name).filter(is_public).map(|other| &*other.value);
                sibling.or_else(|| public(name))
            });
            let env = if is_public(&it) && shown == value {
                variable(&it.key, &value)
            } else {
                let key = format!("{container}.{number}");
                self.secret.insert(key.clone(), value);
                EnvVar {
                    name: it.key.clone(),
                    value: None,
                    value_from: Some(EnvVarSource {
                        secret_key_ref: Some(SecretKeySelector {
                            name: self.request.name.to_owned(),
                            key,
                            optional: None,
                        }),
                        ..EnvVarSource::default()
                    }),
                }
            };
            all.insert(&it.key, env);
        }
        all.into_values().collect()
    }
}

fn expand<'v>(variable: &JobVariable, look_up: impl Fn(&str) -> Option<&'v str>) -> String {
    if variable.raw {
        return variable.value.clone();
    }
    let found = |name: &str| look_up(name).map(Cow::Borrowed);
    let expanded = expand_within(LONGEST_VALUE, &variable.value, found);
    expanded.map_or_else(|_| variable.value.clone(), Cow::into_owned)
}

fn probe(port: u16) -> Probe {
    Probe {
        tcp_socket: Some(TCPSocketAction {
            port: IntOrString::Int(i32::from(port)),
            ..TCPSocketAction::default()
        }),
        period_seconds: Some(PROBE_SECONDS),
        failure_threshold: Some(PROBES),
        ..Probe::default()
    }
}

/// Returns the ports of a service: those of the pipeline file, and that of its health check first.
fn ports(image: &Image) -> Result<Vec<u16>, KubernetesError> {
    let check = image.variables.iter().rfind(|it| it.key == PORT);
    let check = check.map(|it| {
        let port = it.value.parse().ok().filter(|port| *port != 0);
        port.ok_or_else(|| {
            refused(format!(
                "service {}: invalid {PORT} {:?}: expected a port",
                image.name, it.value
            ))
        })
    });
    let mut ports: Vec<u16> = check.transpose()?.into_iter().collect();
    for port in image.ports.iter().map(|port| port.number) {
        if !ports.contains(&port) {
            ports.push(port);
        }
    }
    Ok(ports)
}

/// Returns the image of a service and the service's host names: its aliases, and that of its image.
fn names(service: &Image, variables: &JobVariables) -> (String, Vec<String>) {
    let image = variables.expand(&service.name).trim().to_owned();
    let aliases = variables.expand(service.alias.as_deref().unwrap_or_default());
    let names = host_names(&image, &aliases);
    (image, names)
}

/// Returns the aliases by which the service cannot be reached.
fn invalid_aliases(service: &Image, variables: &JobVariables) -> Vec<String> {
    let aliases = variables.expand(service.alias.as_deref().unwrap_or_default());
    let invalid = split_aliases(&aliases).filter(|it| !is_dns_name(&it.to_ascii_lowercase()));
    invalid.map(str::to_owned).collect()
}

fn split_aliases(aliases: &str) -> impl Iterator<Item = &str> {
    aliases.split([' ', ',']).filter(|it| !it.is_empty())
}

/// Returns the aliases, and the name of an image as `group-name`. GitLab's other one, `group__name`, is not a valid name for a pod.
fn host_names(image: &str, aliases: &str) -> Vec<String> {
    let without_tag = image.split('@').next().unwrap_or_default();
    let without_tag = match without_tag.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') => name,
        _ => without_tag,
    };
    let of_image = without_tag.replace([':', '/'], "-");
    let mut names: Vec<String> = Vec::new();
    for name in aliases.split([' ', ',']).chain([&*of_image]) {
        let name = name.to_ascii_lowercase();
        if is_dns_name(&name) && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_to_services() {
        let all = host_names("registry.example:5000/group/Web:1", "db,other bad_name");
        assert_eq!(all, ["db", "other", "registry.example-5000-group-web"]);
    }
}
