use crate::engine::address::Address;
use crate::engine::host::{DockerHost, HostOrigin};
use crate::engine::tls::TlsFiles;
use crate::error::DockerError;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::io::ErrorKind;
use std::path::Path;

/// The context without files: the default socket.
const DEFAULT: &str = "default";

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Config {
    current_context: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Meta {
    endpoints: Endpoints,
}

#[derive(Deserialize)]
struct Endpoints {
    docker: Option<Endpoint>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Endpoint {
    #[serde(default)]
    host: String,
    #[serde(default, rename = "SkipTLSVerify")]
    skip_tls_verify: bool,
}

/// Returns the current context of the docker command.
///
/// # Errors
///
/// When the configuration is broken.
pub(crate) fn current(directory: &Path) -> Result<Option<String>, DockerError> {
    let path = directory.join("config.json");
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        // An unreadable file chooses no context.
        Err(error) if is_absent(error.kind()) => return Ok(None),
        Err(error) => return Err(unreadable(&path, &error.to_string())),
    };
    // The file also holds passwords, so its content is not shown.
    let config: Config = serde_json::from_str(&text).map_err(|error| {
        let place = format!("line {} column {} is broken", error.line(), error.column());
        unreadable(&path, &place)
    })?;
    Ok(config.current_context.filter(|name| !name.is_empty()))
}

/// Returns the engine of a context of the docker command; `None` for the default context.
///
/// # Errors
///
/// When the context does not exist or has no engine.
pub(crate) fn find(directory: &Path, name: &str) -> Result<Option<DockerHost>, DockerError> {
    if name == DEFAULT {
        return Ok(None);
    }
    let shown: String = name.chars().take(80).collect();
    let id = format!("{:x}", Sha256::digest(name.as_bytes()));
    let contexts = directory.join("contexts");
    let path = contexts.join("meta").join(&id).join("meta.json");
    let text = std::fs::read_to_string(&path).map_err(|error| {
        if is_absent(error.kind()) {
            DockerError::config(format!(
                "the context {shown:?} of the docker command does not exist; see `docker context ls`"
            ))
        } else {
            unreadable(&path, &error.to_string())
        }
    })?;
    let meta: Meta =
        serde_json::from_str(&text).map_err(|error| unreadable(&path, &error.to_string()))?;
    let endpoint = meta
        .endpoints
        .docker
        .filter(|endpoint| !endpoint.host.is_empty());
    let endpoint = endpoint.ok_or_else(|| {
        DockerError::config(format!(
            "the context {shown:?} of the docker command has no engine"
        ))
    })?;
    let directory = contexts.join("tls").join(&id).join("docker");
    let verify = !endpoint.skip_tls_verify;
    let has_files = directory.is_dir();
    let directory = has_files.then_some(directory);
    let tls = directory.map(|directory| TlsFiles {
        directory: Some(directory),
        verify,
    });
    Ok(Some(DockerHost {
        address: Address::parse(&endpoint.host)?,
        tls,
        origin: HostOrigin::Context(name.to_owned()),
    }))
}

fn is_absent(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::PermissionDenied
    )
}

fn unreadable(path: &Path, what: &str) -> DockerError {
    DockerError::config(format!("read {}: {what}", path.display()))
}
