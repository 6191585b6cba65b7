use super::{Pattern, RealPath, Refusal};
use crate::config::DockerConfig;
use crate::volume::{Source, VolumeSpec};
use std::path::{Path, PathBuf};

/// The origin of a request for a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RequestedBy {
    /// The settings alone.
    Runner,
    /// A job: the text refers to its variables.
    Job,
}

/// The key of the list.
const KEY: &str = "allowed_volumes";

/// Checks that a volume may be mounted: `allowed_volumes`, and the engine's own sockets.
///
/// Entries of the list that begin with `/` are directories of the engine's host, allowed with everything below them;
/// others are patterns of volume names. Without a list, volumes of the settings are allowed and those with variables of
/// the job are not.
///
/// `real` is the real path of a directory of the host. A directory above a socket of the engine is allowed only when the
/// list has exactly this directory; the socket itself only by its path in the settings, never for a job.
///
/// # Errors
///
/// When the volume is not allowed, or a path of the host has no real path.
pub fn check_volume(
    config: &DockerConfig,
    spec: &VolumeSpec,
    by: RequestedBy,
    real: Option<&RealPath>,
    sockets: &[PathBuf],
) -> Result<(), Refusal> {
    match (&spec.source, real) {
        // Our own volume, separate for each project.
        (Source::Cache, _) => Ok(()),
        (Source::Named(name), _) => check_name(config, name, by),
        (Source::Host(written), Some(real)) => {
            check_socket(config, written, by, real, sockets)?;
            check_path(config, written, by, real)
        }
        (Source::Host(written), None) => Err(Refusal::because(
            "volume",
            written,
            "its real path is not known",
        )),
    }
}

fn check_name(config: &DockerConfig, name: &str, by: RequestedBy) -> Result<(), Refusal> {
    let list = &config.allowed_volumes;
    // Caches of other projects have such names.
    if by == RequestedBy::Job && name.to_ascii_lowercase().starts_with("runwright-") {
        let because = "its name is kept for the runner's own volumes";
        return Err(Refusal::because("volume", name, because));
    }
    let mut patterns = list.iter().filter(|it| !it.starts_with('/'));
    let listed = patterns.any(|it| Pattern::parse(it).is_ok_and(|it| it.matches(name)));
    if listed || (list.is_empty() && by == RequestedBy::Runner) {
        return Ok(());
    }
    Err(refused(config, name))
}

fn check_path(
    config: &DockerConfig,
    written: &str,
    by: RequestedBy,
    real: &RealPath,
) -> Result<(), Refusal> {
    let list = &config.allowed_volumes;
    let mut directories = list.iter().filter(|it| it.starts_with('/'));
    if directories.any(|it| real.as_path().starts_with(it))
        || (list.is_empty() && by == RequestedBy::Runner)
    {
        return Ok(());
    }
    Err(refused(config, &shown(written, real)))
}

fn check_socket(
    config: &DockerConfig,
    written: &str,
    by: RequestedBy,
    real: &RealPath,
    sockets: &[PathBuf],
) -> Result<(), Refusal> {
    let path = real.as_path();
    if !sockets.iter().any(|socket| socket.starts_with(path)) {
        return Ok(());
    }
    let is_socket = sockets.iter().any(|socket| socket == path);
    let by_name = sockets.iter().any(|socket| socket == Path::new(written));
    let listed = || {
        config
            .allowed_volumes
            .iter()
            .any(|it| Path::new(it) == path)
    };
    let because = match (is_socket, by) {
        (true, RequestedBy::Runner) if by_name => return Ok(()),
        (true, RequestedBy::Runner) => {
            "it is a socket of the container engine, which the runner's volumes must name by its path"
                .to_owned()
        }
        (true, RequestedBy::Job) => "it is a socket of the container engine".to_owned(),
        (false, _) if listed() => return Ok(()),
        (false, _) => format!(
            "a socket of the container engine is below it, and the runner's {} does not have this \
             very directory",
            config.key_style.key(KEY)
        ),
    };
    Err(Refusal::because("volume", &shown(written, real), because))
}

fn refused(config: &DockerConfig, name: &str) -> Refusal {
    let (key, list) = (config.key_style.key(KEY), &config.allowed_volumes);
    if list.is_empty() {
        let because =
            format!("the job's variables had a say in it, and the runner's {key} is empty");
        return Refusal::because("volume", name, because);
    }
    Refusal::not_on("volume", name, &key, list)
}

fn shown(written: &str, real: &RealPath) -> String {
    let real = real.as_path().display().to_string();
    if real == written {
        real
    } else {
        format!("{written} (really {real})")
    }
}
