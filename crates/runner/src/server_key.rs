//! What a connection to a server depends on.

use crate::api::ServerOptions;
use crate::config::RunnerSettings;
use std::path::PathBuf;
use std::time::SystemTime;
use web::{Identity, Proxies};

/// What tells servers apart: address, and certificates with the times of their changes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct ServerKey {
    url: String,
    files: [Option<(PathBuf, Option<SystemTime>)>; 3],
}

impl ServerKey {
    pub(crate) fn of(settings: &RunnerSettings) -> Self {
        let file = |path: &Option<PathBuf>| {
            let path = path.clone()?;
            let changed = path.metadata().and_then(|it| it.modified()).ok();
            Some((path, changed))
        };
        Self {
            url: settings.url.to_string(),
            files: [
                file(&settings.tls_ca_file),
                file(&settings.tls_cert_file),
                file(&settings.tls_key_file),
            ],
        }
    }
}

/// Returns how a server is reached.
pub fn server_options(settings: &RunnerSettings, proxies: Proxies) -> ServerOptions {
    let identity = settings
        .tls_cert_file
        .clone()
        .zip(settings.tls_key_file.clone());
    ServerOptions {
        url: settings.url.clone(),
        authorities: settings.tls_ca_file.iter().cloned().collect(),
        identity: identity.map(|(certificate, key)| Identity { certificate, key }),
        proxies,
    }
}
