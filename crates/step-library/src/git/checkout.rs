use super::mirror::Mirror;
use super::refusal::refusal;
use super::repository_git::RepositoryGit;
use crate::cache::{Hold, Lease, Staging};
use crate::error::Error;
use crate::tree::sanitize;
use ::git::GitError;

/// A commit whose files are to be in the cache.
#[derive(Debug)]
pub(super) struct Checkout<'a> {
    pub(super) git: &'a RepositoryGit<'a>,
    pub(super) sha: &'a str,
    pub(super) offline: bool,
    pub(super) max_bytes: u64,
}

impl Checkout<'_> {
    /// Fetches the commit if the cache lacks it, and publishes its files.
    pub(super) async fn publish(&self, hold: &Hold, staging: Staging) -> Result<Lease, Error> {
        let mirror = Mirror::open(self.git, hold, self.sha).await?;
        self.fetch(&mirror).await?;
        match mirror.check_out(self.sha, staging.path()).await {
            Ok(()) => {}
            Err(GitError::Failed { stderr, .. }) if self.offline => {
                return Err(refusal(&stderr, self.git.address));
            }
            Err(GitError::Failed { stderr, .. }) => {
                // The commit was fetched with all its files, so a failure means damage.
                tracing::debug!(path = %mirror.path().display(), %stderr, "A damaged repository is created anew.");
                mirror.create(self.sha).await?;
                self.fetch(&mirror).await?;
                let again = mirror.check_out(self.sha, staging.path()).await;
                again.map_err(|error| self.git.explain(error))?;
            }
            Err(error) => return Err(self.git.explain(error)),
        }
        let what = format!("{}@{}", self.git.address.url, self.sha);
        let bytes = sanitize(staging.path(), &what, self.max_bytes)?;
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
        let mut fetched = mirror.fetch(&address.url, self.sha).await;
        if let Some(url) = self.git.redirected(&fetched) {
            fetched = mirror.fetch(&url, self.sha).await;
        }
        fetched.map_err(|error| match error {
            GitError::Failed { stderr, .. } if is_unknown(&stderr) => Error::NoRevision {
                repository: address.url.clone(),
                rev: self.sha.to_owned(),
            },
            error => self.git.explain(error),
        })
    }
}

/// Returns whether git found no such object after it fetched all references.
fn is_unknown(stderr: &str) -> bool {
    stderr.contains("Not a valid object name")
        || stderr.contains("bad object")
        || stderr.contains("could not get object info")
}
