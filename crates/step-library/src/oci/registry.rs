use super::auth::Auth;
use super::digest::Digest;
use super::manifest::{ACCEPT, LONGEST};
use super::name::{ImageName, Label};
use crate::error::Error;
use url::Url;
use web::{Incoming, Method, Request, Response, Web};

/// What is wanted of a repository, as registries call it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Pull,
    Push,
}

/// A repository of images, as one asks it.
#[derive(Debug)]
pub(super) struct Registry {
    pub(super) web: Web,
    pub(super) base: Url,
    pub(super) image: ImageName,
    pub(super) auth: Auth,
    pub(super) access: Access,
}

impl Registry {
    /// Asks, and once more when the registry wants to know who asks.
    pub(super) async fn ask(&self, web: &Web, request: Request) -> Result<Incoming, Error> {
        for _ in 0..2 {
            let request = self.signed(&request);
            let answer = web.open(&request).await?;
            if answer.status != 401 {
                return Ok(answer);
            }
            let header = answer.header("www-authenticate").unwrap_or_default();
            let scope = self.scope();
            let asked = self.auth.answer(&self.web, &self.base, header, &scope);
            if !asked.await? {
                return Err(self.denied());
            }
        }
        Err(self.denied())
    }

    fn signed(&self, request: &Request) -> Request {
        // The registry may say where else something is to be sent; that one is not told who asks.
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
        format!("repository:{}:{actions}", self.image.repository)
    }

    /// Returns the address of something of the repository.
    pub(super) fn url(&self, rest: &str) -> Result<Url, Error> {
        let path = format!("{}/{rest}", self.image.repository);
        self.base.join(&path).map_err(|_| Error::Malformed {
            what: self.image.to_string(),
            why: "it makes no address".to_owned(),
        })
    }

    /// Returns the digest of what a tag or a digest names.
    pub(super) async fn resolve(&self, label: &Label) -> Result<Digest, Error> {
        match self.head(label).await? {
            Some(digest) => Ok(digest),
            // Not every registry answers that.
            None => Ok(self.manifest(label).await?.0),
        }
    }

    /// Returns the digest of what a tag names, if it names something.
    pub(super) async fn find(&self, label: &Label) -> Result<Option<Digest>, Error> {
        if let Some(digest) = self.head(label).await? {
            return Ok(Some(digest));
        }
        match self.manifest(label).await {
            Ok((digest, _)) => Ok(Some(digest)),
            Err(Error::Absent(..)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn head(&self, label: &Label) -> Result<Option<Digest>, Error> {
        let request = Request {
            method: Method::Head,
            accept: Some(ACCEPT.to_owned()),
            ..Request::get(self.url(&format!("manifests/{label}"))?)
        };
        let answer = self.ask(&self.web, request).await?;
        match answer.status {
            200 => {}
            404 | 405 => return Ok(None),
            _ => return Err(self.unexpected(answer.status, label)),
        }
        let told = answer.header("docker-content-digest");
        let told = told.and_then(Digest::parse);
        Ok(match label {
            Label::Digest(digest) => Some(digest.clone()),
            Label::Tag(_) => told,
        })
    }

    /// Returns a manifest and its digest, which is checked where it was named by it.
    pub(super) async fn manifest(&self, label: &Label) -> Result<(Digest, Response), Error> {
        let request = Request {
            accept: Some(ACCEPT.to_owned()),
            ..Request::get(self.url(&format!("manifests/{label}"))?)
        };
        let answer = self.ask(&self.web, request).await?;
        if answer.status != 200 {
            return Err(self.unexpected(answer.status, label));
        }
        let answer = answer.read(LONGEST).await?;
        let digest = Digest::of(&answer.body);
        match label {
            Label::Digest(wanted) if *wanted != digest => Err(self.other(wanted)),
            _ => Ok((digest, answer)),
        }
    }

    /// Says that something is not what its digest says.
    pub(super) fn other(&self, wanted: &Digest) -> Error {
        Error::Malformed {
            what: self.image.to_string(),
            why: format!("what came is not {wanted}"),
        }
    }

    pub(super) fn denied(&self) -> Error {
        let (registry, image) = (&self.image.registry, &self.image);
        if self.auth.caller().login().is_some() {
            return Error::Refused(
                format!(
                    "{registry} does not let these credentials {} {image}",
                    self.verb()
                ),
                Some("they may be wrong or expired, or not be for this repository".to_owned()),
            );
        }
        let help = "the job's variable DOCKER_AUTH_CONFIG can hold some".to_owned();
        let help = match self.auth.caller().doubt() {
            Some(why) => format!("{why}; {help}, too"),
            None => help,
        };
        Error::Refused(
            format!(
                "there are no credentials for {registry}, which lets nobody else {} {image}",
                self.verb()
            ),
            Some(help),
        )
    }

    fn verb(&self) -> &'static str {
        match self.access {
            Access::Pull => "pull from",
            Access::Push => "publish to",
        }
    }

    /// Says what a status means that was not hoped for.
    pub(super) fn unexpected(&self, status: u16, label: &Label) -> Error {
        match status {
            401 | 403 => self.denied(),
            404 => Error::Absent(
                format!("{} has no image {}{label}", self.image, sign(label)),
                "look at its tags; a registry says so too of what it does not show",
            ),
            status => Error::Answer {
                server: server(&self.base),
                what: self.image.to_string(),
                status,
            },
        }
    }
}

fn sign(label: &Label) -> &'static str {
    match label {
        Label::Tag(_) => ":",
        Label::Digest(_) => "@",
    }
}

/// Returns what may be shown of an address of a server.
pub(super) fn server(url: &Url) -> String {
    web::Origin::of(url).map_or_else(|| url.scheme().to_owned(), |it| it.to_string())
}
