use super::RegistryError;
use super::auth::Auth;
use super::error::server;
use super::manifest::{ACCEPT, MAX_MANIFEST};
use crate::{Digest, ImageRepository, TagOrDigest};
use url::Url;
use web::{Incoming, Method, Request, Response, Web};

/// The access to a repository, in the words of registries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Download.
    Pull,
    /// Download and upload.
    Push,
}

/// A repository of a registry, with a login.
#[derive(Debug)]
pub struct RepositoryClient {
    pub(super) web: Web,
    pub(super) base: Url,
    pub(super) repository: ImageRepository,
    pub(super) auth: Auth,
    pub(super) access: Access,
}

impl RepositoryClient {
    /// Returns the name of the repository.
    pub fn repository(&self) -> &ImageRepository {
        &self.repository
    }

    /// Sends a request, and once more with a credential when the registry demands one.
    pub(super) async fn send(
        &self,
        web: &Web,
        request: Request,
    ) -> Result<Incoming, RegistryError> {
        for _ in 0..2 {
            let request = self.signed(&request);
            let response = web.open(&request).await?;
            if response.status != 401 {
                return Ok(response);
            }
            let header = response.header("www-authenticate").unwrap_or_default();
            let scope = self.scope();
            let responded = self.auth.respond(&self.web, &self.base, header, &scope);
            if !responded.await? {
                return Err(self.denied());
            }
        }
        Err(self.denied())
    }

    fn signed(&self, request: &Request) -> Request {
        // The registry may direct an upload to another server, which must not get the credential.
        let is_own = request.url.origin() == self.base.origin();
        Request {
            credential: self.auth.credential().filter(|_| is_own),
            ..request.clone()
        }
    }

    fn scope(&self) -> String {
        let actions = match self.access {
            Access::Pull => "pull",
            Access::Push => "pull,push",
        };
        format!("repository:{}:{actions}", self.repository.path())
    }

    /// Returns an address below that of the repository.
    pub(super) fn url(&self, rest: &str) -> Result<Url, RegistryError> {
        let path = format!("{}/{rest}", self.repository.path());
        let malformed =
            |_| RegistryError::malformed(self.repository.to_string(), "it yields no valid address");
        self.base.join(&path).map_err(malformed)
    }

    /// Returns the digest of an image.
    ///
    /// # Errors
    ///
    /// [`RegistryError::Absent`] when there is none, and others when the registry refuses.
    pub async fn resolve(&self, label: &TagOrDigest) -> Result<Digest, RegistryError> {
        match self.head(label).await? {
            Some(digest) => Ok(digest),
            // Not every registry supports that request.
            None => Ok(self.manifest(label).await?.0),
        }
    }

    /// Returns the digest of an image, if it exists.
    ///
    /// # Errors
    ///
    /// When the registry refuses.
    pub async fn find(&self, label: &TagOrDigest) -> Result<Option<Digest>, RegistryError> {
        if let Some(digest) = self.head(label).await? {
            return Ok(Some(digest));
        }
        match self.manifest(label).await {
            Ok((digest, _)) => Ok(Some(digest)),
            Err(RegistryError::Absent { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn head(&self, label: &TagOrDigest) -> Result<Option<Digest>, RegistryError> {
        let request = Request {
            method: Method::Head,
            accept: Some(ACCEPT.to_owned()),
            ..Request::get(self.url(&format!("manifests/{label}"))?)
        };
        let response = self.send(&self.web, request).await?;
        match response.status {
            200 => {}
            404 | 405 => return Ok(None),
            _ => return Err(self.unexpected(response.status, label)),
        }
        let digest = response.header("docker-content-digest");
        let digest = digest.and_then(Digest::parse);
        Ok(match label {
            TagOrDigest::Digest(digest) => Some(digest.clone()),
            TagOrDigest::Tag(_) => digest,
        })
    }

    /// Returns a manifest and its digest, which is verified where it was requested by digest.
    ///
    /// # Errors
    ///
    /// [`RegistryError::Absent`] when there is none, and others when the registry refuses.
    pub async fn manifest(&self, label: &TagOrDigest) -> Result<(Digest, Response), RegistryError> {
        let request = Request {
            accept: Some(ACCEPT.to_owned()),
            ..Request::get(self.url(&format!("manifests/{label}"))?)
        };
        let response = self.send(&self.web, request).await?;
        if response.status != 200 {
            return Err(self.unexpected(response.status, label));
        }
        let response = response.read(MAX_MANIFEST).await?;
        let digest = Digest::of(&response.body);
        match label {
            TagOrDigest::Digest(wanted) if *wanted != digest => Err(self.mismatch(wanted)),
            _ => Ok((digest, response)),
        }
    }

    pub(super) fn mismatch(&self, wanted: &Digest) -> RegistryError {
        let reason = format!("the received bytes do not have the digest {wanted}");
        RegistryError::malformed(self.repository.to_string(), reason)
    }

    pub(super) fn denied(&self) -> RegistryError {
        let (registry, repository) = (self.repository.registry(), &self.repository);
        let verb = match self.access {
            Access::Pull => "pull from",
            Access::Push => "publish to",
        };
        if self.auth.caller().login().is_some() {
            return RegistryError::Refused {
                reason: format!("{registry} does not let these credentials {verb} {repository}"),
                help: Some("they may be wrong, expired, or for another repository".to_owned()),
            };
        }
        let help = "set the job's variable DOCKER_AUTH_CONFIG".to_owned();
        let help = match self.auth.caller().unknown() {
            Some(reason) => format!("{reason}; or {help}"),
            None => help,
        };
        RegistryError::Refused {
            reason: format!(
                "there are no credentials for {registry}, and it lets no anonymous user {verb} {repository}"
            ),
            help: Some(help),
        }
    }

    /// Returns the error for an unexpected status.
    pub(super) fn unexpected(&self, status: u16, label: &TagOrDigest) -> RegistryError {
        match status {
            401 | 403 => self.denied(),
            404 => {
                let separator = match label {
                    TagOrDigest::Tag(_) => ':',
                    TagOrDigest::Digest(_) => '@',
                };
                RegistryError::Absent {
                    image: format!("{}{separator}{label}", self.repository),
                }
            }
            status => RegistryError::Status {
                server: server(&self.base),
                what: self.repository.to_string(),
                status,
            },
        }
    }
}
