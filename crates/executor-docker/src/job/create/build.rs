use super::host;
use super::{ContainerPlan, ContainerRole, Entrypoint, NetworkPlan, ServicePlan, StandardInput};
use crate::config::{DockerConfig, NetworkChoice, is_builtin_network};
use bollard::models::{ContainerCreateBody, EndpointSettings, NetworkingConfig};

/// Returns the create request of a container of a job.
pub fn build_container(config: &DockerConfig, plan: &ContainerPlan) -> ContainerCreateBody {
    let once = plan.standard_input == StandardInput::Once;
    let entrypoint = match (&plan.entrypoint, plan.role) {
        (Entrypoint::Instead(_), ContainerRole::Build) if config.disable_entrypoint_overwrite => {
            None
        }
        (Entrypoint::Instead(words), _) => Some(words_of(words)),
        (Entrypoint::Image, _) => None,
    };
    ContainerCreateBody {
        image: Some(plan.image.clone()),
        hostname: config
            .hostname
            .clone()
            .filter(|_| has_own_name(config, &plan.network)),
        user: plan.user.clone(),
        working_dir: plan.working_dir.clone(),
        entrypoint,
        cmd: (!plan.command.is_empty()).then(|| plan.command.clone()),
        env: environment(config, &plan.environment),
        labels: Some(plan.labels.clone()),
        stop_signal: plan.stop_signal.clone(),
        tty: Some(false),
        attach_stdin: Some(once),
        attach_stdout: Some(true),
        attach_stderr: Some(true),
        open_stdin: Some(once),
        stdin_once: Some(once),
        networking_config: networking(config, &plan.network, config.mac_address.as_deref()),
        host_config: Some(host::of_build(config, plan)),
        ..ContainerCreateBody::default()
    }
}

/// Returns the create request of the container of a service.
pub fn service_container(config: &DockerConfig, plan: &ServicePlan) -> ContainerCreateBody {
    let entrypoint = match &plan.entrypoint {
        Entrypoint::Instead(words) => Some(words_of(words)),
        Entrypoint::Image => None,
    };
    ContainerCreateBody {
        image: Some(plan.image.clone()),
        user: plan.user.clone(),
        entrypoint,
        cmd: (!plan.command.is_empty()).then(|| plan.command.clone()),
        env: environment(config, &plan.environment),
        labels: Some(plan.labels.clone()),
        networking_config: networking(config, &plan.network, None),
        host_config: Some(host::of_service(config, plan)),
        ..ContainerCreateBody::default()
    }
}

/// Returns the variables of the settings, then those of the plan, which override them.
fn environment(config: &DockerConfig, of_plan: &[String]) -> Option<Vec<String>> {
    let all: Vec<String> = config.environment.iter().chain(of_plan).cloned().collect();
    (!all.is_empty()).then_some(all)
}

/// For the engine, one empty text is no entry point, and an empty list is the image's.
fn words_of(words: &[String]) -> Vec<String> {
    if words.is_empty() {
        vec![String::new()]
    } else {
        words.to_vec()
    }
}

/// Returns the network of the plan, or else that of the settings.
fn mode(config: &DockerConfig, network: &NetworkPlan) -> Option<String> {
    network.mode.clone().or_else(|| match config.network() {
        NetworkChoice::Named(name) => Some(name),
        NetworkChoice::Auto | NetworkChoice::PerJob => None,
    })
}

fn has_own_name(config: &DockerConfig, network: &NetworkPlan) -> bool {
    mode(config, network).is_none_or(|it| !it.starts_with("container:"))
}

fn networking(
    config: &DockerConfig,
    network: &NetworkPlan,
    mac_address: Option<&str>,
) -> Option<NetworkingConfig> {
    let name = mode(config, network).unwrap_or_else(|| "bridge".to_owned());
    let builtin = is_builtin_network(&name);
    let aliases = (!builtin && !network.aliases.is_empty()).then(|| network.aliases.clone());
    let mac_address = mac_address.map(str::to_owned);
    if aliases.is_none() && mac_address.is_none() {
        return None;
    }
    let endpoint = EndpointSettings {
        aliases,
        mac_address,
        ..EndpointSettings::default()
    };
    Some(NetworkingConfig {
        endpoints_config: Some([(name, endpoint)].into()),
    })
}
