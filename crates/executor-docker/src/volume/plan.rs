use super::{CacheKey, Source, VolumeSpec};
use crate::config::DockerConfig;
use crate::config::policy::{RealPath, RequestedBy, check_volume};
use crate::engine::names::Names;
use crate::engine::{Address, Engine};
use crate::error::DockerError;
use executor_core::JobVariables;
use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io;
use std::path::PathBuf;

/// The job whose volumes are planned.
#[derive(Debug, Clone, Copy)]
pub struct VolumeContext<'a> {
    /// The project's directory in the container, the base of relative destinations.
    pub project_dir: &'a str,
    /// The key of volumes that outlive the job.
    pub key: &'a CacheKey,
    /// The names of the job's objects.
    pub names: &'a Names,
    /// The variables that the text of a volume may refer to.
    pub variables: &'a JobVariables,
    /// All paths of the engine's sockets; see [`sockets`](super::sockets).
    pub sockets: &'a [PathBuf],
    /// Resolves a path of the engine's host.
    pub real_path: fn(&str) -> io::Result<RealPath>,
}

/// The volumes of a job, before any is created.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VolumePlan {
    /// The binds of containers, in the engine's format.
    pub binds: Vec<String>,
    /// The volumes to create unless they exist.
    pub made: Vec<PlannedVolume>,
}

/// A volume to create unless it exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedVolume {
    /// Its name.
    pub name: String,
    /// Its path in containers.
    pub destination: String,
    /// Whether it outlives the job.
    pub kept: bool,
}

impl VolumePlan {
    /// Plans the volumes of the settings.
    ///
    /// # Errors
    ///
    /// When one is invalid or not allowed, or two have the same destination.
    pub fn new(config: &DockerConfig, context: &VolumeContext<'_>) -> Result<Self, DockerError> {
        let mut plan = Self::default();
        let mut destinations = BTreeMap::new();
        for text in &config.volumes {
            let expanded = context.variables.expand(text);
            let asked = if text.contains('$') {
                RequestedBy::Job
            } else {
                RequestedBy::Runner
            };
            let spec = VolumeSpec::parse(&expanded, context.project_dir).map_err(config_error)?;
            if let Some(other) = destinations.insert(spec.destination.clone(), text) {
                return Err(DockerError::config(format!(
                    "the volumes `{other}` and `{text}` have the same destination"
                )));
            }
            plan.add(config, context, &spec, asked)?;
        }
        Ok(plan)
    }

    fn add(
        &mut self,
        config: &DockerConfig,
        context: &VolumeContext<'_>,
        spec: &VolumeSpec,
        asked: RequestedBy,
    ) -> Result<(), DockerError> {
        let real = match &spec.source {
            Source::Host(path) => Some(
                (context.real_path)(path)
                    .map_err(|error| DockerError::config(format!("volume `{path}`: {error}")))?,
            ),
            _ => None,
        };
        check_volume(config, spec, asked, real.as_ref(), context.sockets).map_err(config_error)?;
        let source = match (&spec.source, &real) {
            (Source::Named(name), _) => name.clone(),
            // The checked path is mounted, even if a link changes meanwhile.
            (Source::Host(path), real) => match real {
                Some(real) => real.as_path().display().to_string(),
                None => path.clone(),
            },
            (Source::Cache, _) => self.own(config, context, &spec.destination),
        };
        self.binds.push(spec.bind(&source).map_err(config_error)?);
        Ok(())
    }

    /// Returns the source of a bare destination.
    fn own(
        &mut self,
        config: &DockerConfig,
        context: &VolumeContext<'_>,
        destination: &str,
    ) -> String {
        let kept = !config.disable_cache;
        if let Some(cache_dir) = config
            .cache_dir
            .as_deref()
            .filter(|it| kept && !it.is_empty())
        {
            return context.key.directory(cache_dir, destination);
        }
        let name = if kept {
            context.key.volume(destination)
        } else {
            context.names.volume(destination)
        };
        self.made.push(PlannedVolume {
            name: name.clone(),
            destination: destination.to_owned(),
            kept: kept || config.volume_keep,
        });
        name
    }
}

fn config_error(error: impl std::fmt::Display) -> DockerError {
    DockerError::config(error.to_string())
}

/// The usual sockets of container engines. Write access to one grants all rights on the host.
const KNOWN: [&str; 8] = [
    "/run/docker.sock",
    "/var/run/docker.sock",
    "/run/containerd/containerd.sock",
    "/var/run/containerd/containerd.sock",
    "/run/podman/podman.sock",
    "/var/run/podman/podman.sock",
    "/run/crio/crio.sock",
    "/var/run/crio/crio.sock",
];

/// Returns the paths of the sockets of container engines, including this one's, as written and with links resolved.
pub fn sockets(engine: &Engine) -> Vec<PathBuf> {
    let mut sockets = KNOWN.map(PathBuf::from).to_vec();
    if let Address::Unix(path) = &engine.host().address {
        sockets.push(path.clone());
    }
    if let Some(directory) = env::var_os("XDG_RUNTIME_DIR") {
        let directory = PathBuf::from(directory);
        sockets.push(directory.join("docker.sock"));
        sockets.push(directory.join("podman/podman.sock"));
    }
    let real: Vec<PathBuf> = sockets
        .iter()
        .filter_map(|it| fs::canonicalize(it).ok())
        .collect();
    sockets.extend(real);
    sockets.sort();
    sockets.dedup();
    sockets
}
