use super::{Pattern, RealPath, Refusal};
use crate::config::DockerConfig;
use crate::volume::{Source, VolumeSpec};
use std::path::{Path, PathBuf};

/// Who asks for a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RequestedBy {
    /// The runner's settings, word for word.
    Runner,
    /// A job had a say: the text refers to its variables.
    Job,
}

/// The key that has what may be mounted.
const KEY: &str = "allowed_volumes";

/// Checks that a volume may be mounted: `allowed_volumes`, and the engine's own sockets.
///
/// Entries of the list that begin with `/` are directories of the engine's host, which may be mounted
/// with all that is below them; others are patterns of the names of volumes. Without a list, what the
/// settings have word for word may be mounted and what a job had a say in may not.
///
/// `real` is the real path of a directory of the host. A directory that has a socket of the engine
/// somewhere below is mounted only where the list has that very directory; the socket itself only
/// where the settings have its path word for word, never because of a job.
///
/// # Errors
///
/// When it may not be mounted; also when a host's path comes without a real one.
pub fn check_volume(
    config: &DockerConfig,
    spec: &VolumeSpec,
    asked: RequestedBy,
    real: Option<&RealPath>,
    sockets: &[PathBuf],
) -> Result<(), Refusal> {
    match (&spec.source, real) {
        // A volume of our own, apart for each project.
        (Source::Cache, _) => Ok(()),
        (Source::Named(name), _) => check_name(config, name, asked),
        (Source::Host(written), Some(real)) => {
            check_socket(config, written, asked, real, sockets)?;
            check_path(config, written, asked, real)
        }
        (Source::Host(written), None) => Err(Refusal::because(
            "volume",
            written,
            "its real path is not known",
        )),
    }
}

fn check_name(config: &DockerConfig, name: &str, asked: RequestedBy) -> Result<(), Refusal> {
    let list = &config.allowed_volumes;
    // The caches of other projects have names of that kind.
    if asked == RequestedBy::Job && name.to_ascii_lowercase().starts_with("runwright-") {
        let because = "its name is kept for the runner's own volumes";
        return Err(Refusal::because("volume", name, because));
    }
    let mut patterns = list.iter().filter(|it| !it.starts_with('/'));
    let listed = patterns.any(|it| Pattern::parse(it).is_ok_and(|it| it.matches(name)));
    if listed || (list.is_empty() && asked == RequestedBy::Runner) {
        return Ok(());
    }
    Err(refused(config, name))
}

fn check_path(
    config: &DockerConfig,
    written: &str,
    asked: RequestedBy,
    real: &RealPath,
) -> Result<(), Refusal> {
    let list = &config.allowed_volumes;
    let mut directories = list.iter().filter(|it| it.starts_with('/'));
    if directories.any(|it| real.as_path().starts_with(it))
        || (list.is_empty() && asked == RequestedBy::Runner)
    {
        return Ok(());
    }
    Err(refused(config, &shown(written, real)))
}

fn check_socket(
    config: &DockerConfig,
    written: &str,
    asked: RequestedBy,
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
    let because = match (is_socket, asked) {
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
