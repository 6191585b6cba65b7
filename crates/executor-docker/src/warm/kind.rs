//! The kind of a container: two jobs of one kind can use the same warm container.

use crate::config::DockerConfig;
use crate::engine::DockerHost;
use crate::engine::labels::Labels;
use crate::engine::names::Names;
use crate::error::DockerError;
use crate::job::created_resources::CreatedResources;
use crate::job::files::JobFiles;
use crate::job::prepare::creation::{Creation, Occupant};
use crate::job::prepare::preparation::Preparation;
use crate::job::stage::transport::StageTransport;
use crate::network::NetworkMode;
use crate::volume::JobVolumes;
use bollard::models::ContainerCreateBody;
use std::path::PathBuf;
use std::sync::Arc;

/// The complete create request of a job's container, without the data of the job. Two jobs with equal requests can use
/// the same warm container.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ContainerKind(Arc<Parts>);

#[derive(Debug, PartialEq)]
struct Parts {
    engine: DockerHost,
    platform: Option<String>,
    /// The agent; none where stages use the container's shell.
    agent: Option<AgentSource>,
    body: ContainerCreateBody,
}

#[derive(Debug, PartialEq)]
enum AgentSource {
    /// It is embedded in this program.
    Own,
    File(PathBuf),
}

impl Creation<'_> {
    /// Returns the kind of the job's container; `None` where the container cannot be shared.
    ///
    /// Called after the job's other resources exist.
    pub(crate) fn kind(
        &self,
        services: usize,
        made: &CreatedResources,
    ) -> Result<Option<ContainerKind>, DockerError> {
        let Some(root) = self.root_to_mount() else {
            return Ok(None);
        };
        if self.preparation.settings.warm == 0 || services > 0 || !self.is_independent_of_job(made)
        {
            return Ok(None);
        }
        let preparation = self.preparation;
        // Any number: no container has this name.
        let names = Names::warm(&preparation.owner, 0);
        let labels = warm_labels(preparation);
        let likeness = Creation {
            names: &names,
            labels: &labels,
            mark: "",
            occupant: Occupant::Later,
            ..*self
        };
        let (dirs, options) = (&preparation.dirs, &preparation.options);
        let files = JobFiles::mounted(root, dirs, options, names.base())?;
        let agent = match self.transport {
            StageTransport::Agent(agent) => Some(match agent.path() {
                Some(path) => AgentSource::File(path.to_owned()),
                None => AgentSource::Own,
            }),
            StageTransport::Exec | StageTransport::Attach => None,
        };
        Ok(Some(ContainerKind(Arc::new(Parts {
            engine: preparation.engine.host().clone(),
            platform: self.image_options.platform.clone(),
            agent,
            body: likeness.body(&files, Vec::new(), made),
        }))))
    }

    /// Returns whether the container depends on no object that ends with the job.
    fn is_independent_of_job(&self, made: &CreatedResources) -> bool {
        let network = made.network.as_ref();
        let lasts = matches!(
            network.map(|network| network.mode()),
            Some(
                NetworkMode::Links | NetworkMode::Named(_) | NetworkMode::Host | NetworkMode::None
            )
        );
        let base = self.names.base();
        let mut binds = made.volumes.iter().flat_map(JobVolumes::binds);
        !matches!(self.transport, StageTransport::Attach)
            && lasts
            && !binds.any(|bind| bind.starts_with(base))
            && !uses_other_containers(&self.preparation.settings)
    }
}

/// Returns the labels of a warm container.
pub(super) fn warm_labels(preparation: &Preparation) -> Labels {
    let labels = Labels::without_job(&preparation.owner);
    labels.with_container_labels(&preparation.settings.container_labels)
}

/// Returns whether the settings name other containers, whose names may be reused later.
fn uses_other_containers(settings: &DockerConfig) -> bool {
    let is_other = |mode: &Option<String>| {
        let mode = mode.as_deref().unwrap_or_default();
        mode.starts_with("container:")
    };
    !settings.volumes_from.is_empty()
        || !settings.links.is_empty()
        || is_other(&settings.pid_mode)
        || is_other(&settings.ipcmode)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::create::{ContainerPlan, Entrypoint, build_container};

    fn parts(config: &DockerConfig, plan: &ContainerPlan) -> Parts {
        Parts {
            engine: DockerHost::parse("unix:///run/docker.sock").unwrap(),
            platform: None,
            agent: Some(AgentSource::Own),
            body: build_container(config, plan),
        }
    }

    fn of_settings(text: &str) -> Parts {
        let config: DockerConfig = toml::from_str(text).unwrap();
        parts(&config, &ContainerPlan::default())
    }

    #[test]
    fn settings_of_the_container_change_the_kind() {
        let usual = of_settings("");
        assert_eq!(usual, of_settings("pull_policy = 'always'\nwarm = 3"));
        for setting in [
            "memory = '64m'",
            "cpus = '0.5'",
            "pids_limit = 10",
            "shm_size = '1m'",
            "privileged = true",
            "cap_add = ['NET_ADMIN']",
            "no_new_privileges = false",
            "read_only = true",
            "hostname = 'here'",
            "dns = ['9.9.9.9']",
            "network_mode = 'host'",
            "ulimit = {nofile = '1:2'}",
            "tmpfs = {'/x' = 'rw'}",
            "environment = ['A=b']",
            "container_labels = {}\ndevices = ['/dev/null']",
        ] {
            let config: DockerConfig = toml::from_str(setting).unwrap();
            let plan = ContainerPlan {
                privileged: config.privileged,
                ..ContainerPlan::default()
            };
            assert_ne!(usual, parts(&config, &plan), "{setting}");
            assert_eq!(parts(&config, &plan), parts(&config, &plan), "{setting}");
        }
    }

    #[test]
    fn options_of_the_job_change_the_kind() {
        let config = DockerConfig::default();
        let usual = parts(&config, &ContainerPlan::default());
        let check = |change: fn(&mut ContainerPlan)| {
            let mut plan = ContainerPlan::default();
            change(&mut plan);
            assert_ne!(usual, parts(&config, &plan), "{plan:?}");
        };
        check(|it| "sha256:1".clone_into(&mut it.image));
        check(|it| it.entrypoint = Entrypoint::Instead(Vec::new()));
        check(|it| it.user = Some("1000".to_owned()));
        check(|it| it.binds = vec!["/certs:/certs:ro".to_owned()]);
        check(|it| it.network.mode = Some("mine".to_owned()));
        check(|it| it.extra_hosts = vec!["a:10.0.0.1".to_owned()]);
        let other = Parts {
            platform: Some("linux/arm64".to_owned()),
            ..parts(&config, &ContainerPlan::default())
        };
        assert_ne!(usual, other);
    }

    #[test]
    fn containers_that_use_others_are_not_warm() {
        assert!(!uses_other_containers(&DockerConfig::default()));
        for setting in [
            "volumes_from = ['data']",
            "links = ['db:db']",
            "pid_mode = 'container:a'",
            "ipcmode = 'container:a'",
        ] {
            let config = toml::from_str(setting).unwrap();
            assert!(uses_other_containers(&config), "{setting}");
        }
        let own = toml::from_str("pid_mode = 'host'\nipcmode = 'private'").unwrap();
        assert!(!uses_other_containers(&own));
    }
}
