use super::mirror::Mirror;
use super::program::{Failure, Git};
use super::said::{is_redirect, refusal};
use crate::cache::{Hold, Lease, Staging};
use crate::error::Error;
use crate::tree::tame;

/// A commit whose files are to be in the cache.
#[derive(Debug)]
pub(super) struct Checkout<'a> {
    pub(super) git: &'a Git<'a>,
    pub(super) sha: &'a str,
    pub(super) offline: bool,
    pub(super) max_bytes: u64,
}

impl Checkout<'_> {
    /// Fetches the commit if it is not here, and puts its files where `staging` leads to.
    pub(super) async fn make(&self, hold: &Hold, staging: Staging) -> Result<Lease, Error> {
        let mirror = Mirror::open(self.git, hold, self.sha).await?;
        self.fetch(&mirror).await?;
        if let Err(failure) = mirror.check_out(self.sha, staging.path()).await {
            let Failure::Said(said) = failure else {
                return Err(self.git.explain(failure));
            };
            if self.offline {
                return Err(refusal(&said, self.git.address));
            }
            // All of it is here already, so what fails is not whole.
            tracing::debug!(path = %mirror.path().display(), %said, "A repository is made anew.");
            mirror.renew(self.sha).await?;
            self.fetch(&mirror).await?;
            let again = mirror.check_out(self.sha, staging.path()).await;
            again.map_err(|failure| self.git.explain(failure))?;
        }
        let what = format!("{}@{}", self.git.address.url, self.sha);
        let bytes = tame(staging.path(), &what, self.max_bytes)?;
        let path = staging.path().to_owned();
        staging.publish(bytes).map_err(Error::cache("keep", &path))
    }

    async fn fetch(&self, mirror: &Mirror<'_>) -> Result<(), Error> {
        if mirror.has(self.sha) {
            return Ok(());
        }
        let address = self.git.address;
        if self.offline {
            return Err(Error::Offline(format!("{}@{}", address.url, self.sha)));
        }
        let failure = match mirror.fetch(&address.url, self.sha).await {
            Ok(()) => return Ok(()),
            Err(failure) => failure,
        };
        let again = match (&failure, address.with_suffix()) {
            (Failure::Said(said), Some(url)) if is_redirect(said) => {
                mirror.fetch(&url, self.sha).await
            }
            _ => Err(failure),
        };
        again.map_err(|failure| match failure {
            Failure::Said(said) if is_unknown(&said) => Error::NoRevision {
                repository: address.url.clone(),
                rev: self.sha.to_owned(),
            },
            failure => self.git.explain(failure),
        })
    }
}

/// Whether git says that it has no such object, after all was fetched.
fn is_unknown(said: &str) -> bool {
    said.contains("Not a valid object name")
        || said.contains("bad object")
        || said.contains("could not get object info")
}
