use super::auth::Auth;
use super::caller::Caller;
use super::{Access, MAX_MANIFEST, RegistryError, RepositoryClient};
use crate::{ImageRepository, LoginSource, NameError, host_of};
use std::net::IpAddr;
use std::sync::{Arc, Once};
use std::time::Duration;
use url::Url;
use web::{Limits, Request, Web, WebError};

/// The longest silence of a registry, before and in a response.
const SILENCE: Duration = Duration::from_mins(1);

/// How long a registry may take to show that it has encryption. One without mostly shows that at once.
const GREETING: Duration = Duration::from_secs(15);

/// Opens repositories of registries.
#[derive(Debug, Clone)]
pub struct RegistryClient {
    web: Web,
    options: RegistryOptions,
    /// Done once the user knows that logins cannot be read.
    warned: Arc<Once>,
}

/// How registries are reached.
#[derive(Debug, Clone)]
pub struct RegistryOptions {
    /// The logins of the user who runs this program; a job's own come first.
    pub logins: Option<Arc<dyn LoginSource>>,
    /// Registries without encryption, besides those of this machine: `host` or `host:port`.
    pub insecure: Vec<String>,
    /// The longest one request may take.
    pub deadline: Duration,
}

impl RegistryClient {
    /// Returns a client. Nothing is requested yet.
    pub fn new(web: &Web, options: RegistryOptions) -> Self {
        let limits = Limits {
            deadline: SILENCE,
            overall: options.deadline,
            bytes: MAX_MANIFEST,
            ..Limits::default()
        };
        Self {
            web: web.with_limits(limits),
            options,
            warned: Arc::new(Once::new()),
        }
    }

    /// Opens a repository with the login for it. `docker_auth_configs` are the texts of `DOCKER_AUTH_CONFIG` of a step and its
    /// job, the most important first.
    ///
    /// # Errors
    ///
    /// When one of these is invalid, or the registry has no valid address.
    pub async fn open(
        &self,
        repository: &ImageRepository,
        docker_auth_configs: &[String],
        access: Access,
    ) -> Result<RepositoryClient, RegistryError> {
        let logins = self.options.logins.as_ref();
        let caller = Caller::find(repository, docker_auth_configs, logins).await?;
        if let Some(reason) = caller.unknown() {
            let warn = || tracing::warn!(reason, "Registries are asked without a login.");
            self.warned.call_once(warn);
        }
        Ok(RepositoryClient {
            web: self.web.clone(),
            base: self.base(repository).await?,
            repository: repository.clone(),
            auth: Auth::new(caller),
            access,
        })
    }

    /// Returns the address of a registry's API. One that may have no encryption is tried with it first.
    async fn base(&self, repository: &ImageRepository) -> Result<Url, RegistryError> {
        let (encrypted, plain) = bases(repository, &self.options.insecure)?;
        let Some(plain) = plain else {
            return Ok(encrypted);
        };
        let short = self.web.with_limits(Limits {
            deadline: GREETING,
            overall: GREETING,
            attempts: 1,
            ..Limits::default()
        });
        match short.open(&Request::get(encrypted.clone())).await {
            Ok(_) | Err(WebError::Untrusted { .. }) => Ok(encrypted),
            Err(_) => Ok(plain),
        }
    }
}

/// Returns the address of the registry's API, and the one without encryption where that is allowed: on this machine, and for
/// hosts in `insecure`.
fn bases(
    repository: &ImageRepository,
    insecure: &[String],
) -> Result<(Url, Option<Url>), NameError> {
    let host = match repository.registry() {
        "docker.io" => "registry-1.docker.io",
        registry => registry,
    };
    let bare = host_of(host);
    let is_plain = is_this_machine(bare) || insecure.iter().any(|it| it == host || it == bare);
    let address = |scheme: &str| {
        let url = Url::parse(&format!("{scheme}://{host}/v2/"));
        url.map_err(|_| NameError::new(host, "is not the host of a registry"))
    };
    let plain = is_plain.then(|| address("http")).transpose()?;
    Ok((address("https")?, plain))
}

fn is_this_machine(host: &str) -> bool {
    let is_loopback = |address: IpAddr| address.is_loopback();
    host == "localhost" || host.parse().is_ok_and(is_loopback)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_and_named_hosts_go_without_encryption() {
        let check = |registry: &str, expect: &str| {
            let repository = ImageRepository::parse(registry, "a").unwrap();
            let bases = bases(&repository, &["plain.example".to_owned()]).unwrap();
            let base = bases.1.unwrap_or(bases.0);
            assert_eq!(base.as_str(), expect, "{registry}");
        };
        check("h.example", "https://h.example/v2/");
        check("H.example:5000", "https://h.example:5000/v2/");
        check("localhost:5000", "http://localhost:5000/v2/");
        check("127.9.9.9", "http://127.9.9.9/v2/");
        check("[::1]:80", "http://[::1]/v2/");
        check("localhost.evil", "https://localhost.evil/v2/");
        check("plain.example:81", "http://plain.example:81/v2/");
        check("docker.io", "https://registry-1.docker.io/v2/");
    }
}
