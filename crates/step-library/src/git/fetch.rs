use super::address::{Address, Transport};
use super::checkout::Checkout;
use super::mirror::Mirror;
use super::repository_git::{MAX_OUTPUT, RepositoryGit};
use super::revision::{ResolvedNames, Revision};
use crate::LibraryOptions;
use crate::cache::{Claim, FunctionCache, Hold, Lease, Shelf};
use crate::error::Error;
use crate::tree::size;
use ::git::{
    Git, GitError, GitProcesses, Protocols, RemoteEnvironment, RemoteRefs, is_abbreviated_commit,
};
use process::{ProcessTree, make_private_dir};
use std::io;
use std::path::PathBuf;
use tokio::time::Instant;
use web::{Origin, Web, WebError};

/// Fetches repositories into the cache.
#[derive(Debug)]
pub(crate) struct GitFetcher {
    options: LibraryOptions,
    web: Web,
    mirrors: Shelf,
    trees: Shelf,
    resolved: ResolvedNames,
    directory: PathBuf,
}

impl GitFetcher {
    pub(crate) fn new(options: LibraryOptions, web: Web) -> Self {
        let directory = options.cache_dir.join("git");
        let cache = FunctionCache::new(&options.cache_dir);
        Self {
            options,
            web,
            mirrors: cache.repositories(),
            trees: cache.commits(),
            resolved: ResolvedNames::new(directory.join("names")),
            directory,
        }
    }

    /// Returns the files of a repository at a tag, a branch or a commit, and the commit.
    pub(crate) async fn fetch(&self, url: &str, rev: &str) -> Result<(Lease, String), Error> {
        let address = Address::parse(url, self.options.git.local)?;
        let revision = Revision::parse(rev)?;
        if !self.options.offline {
            self.check(&address).await?;
        }
        make_private_dir(&self.directory).map_err(Error::cache("make", &self.directory))?;
        let processes = GitProcesses::start(Some(self.options.cache_dir.clone()));
        let processes = processes.map_err(|error| Error::Git(error.into()))?;
        let fetched = self.fetch_with(processes.tree(), &address, &revision).await;
        processes.close().await;
        fetched
    }

    /// Checks that the rules allow the server; git itself would connect to any.
    async fn check(&self, address: &Address) -> Result<(), Error> {
        match &address.transport {
            Transport::Http { url, .. } => Ok(self.web.check(url).await?),
            Transport::Ssh { server: Some(url) } => match self.web.check(url).await {
                // The user's settings of SSH may know the name.
                Err(WebError::Unreachable { .. }) => Ok(()),
                checked => Ok(checked?),
            },
            Transport::Ssh { server: None } | Transport::Local => Ok(()),
        }
    }

    async fn fetch_with(
        &self,
        processes: &ProcessTree,
        address: &Address,
        revision: &Revision,
    ) -> Result<(Lease, String), Error> {
        let environment = self.environment(processes, address);
        let deadline = Instant::now() + self.options.deadline;
        let git = Git::remote(processes, &self.directory, &environment, deadline);
        let git = RepositoryGit {
            git: git.with_limit(MAX_OUTPUT),
            address,
            deadline,
            allowed: self.options.deadline,
        };
        let sha = self.commit(&git, revision).await?;
        let lease = self.files(&git, &sha).await?;
        Ok((lease, sha))
    }

    fn environment(&self, processes: &ProcessTree, address: &Address) -> RemoteEnvironment {
        let mut environment = match &self.options.git.environment {
            Some(given) => {
                let given = given.iter().map(|(name, value)| (&**name, &**value));
                RemoteEnvironment::from_user(given, &self.directory)
            }
            None => RemoteEnvironment::from_user(processes.environment().iter(), &self.directory),
        };
        environment.allow(match &address.transport {
            Transport::Http { url, .. } if url.scheme() == "http" => Protocols::Http,
            Transport::Http { .. } | Transport::Ssh { .. } => Protocols::Encrypted,
            Transport::Local => Protocols::File,
        });
        if let Transport::Http {
            url,
            login: Some(login),
        } = &address.transport
            && let Some(origin) = Origin::of(url)
        {
            environment.log_in(&origin.to_string(), login);
        }
        environment
    }

    /// Returns the commit of a revision.
    async fn commit(&self, git: &RepositoryGit<'_>, revision: &Revision) -> Result<String, Error> {
        let repository = git.address.name();
        match revision {
            Revision::Commit(sha) => {
                // A job with a password sees the cache only if the server accepts that password.
                if git.address.has_login() && !self.options.offline {
                    self.list(git, &["HEAD".to_owned()]).await?;
                }
                Ok(sha.clone())
            }
            Revision::Name(name) if self.options.offline => {
                if let Some(sha) = self.resolved.commit(&repository, name) {
                    return Ok(sha);
                }
                self.abbreviated(git, name, None).await
            }
            Revision::Name(name) => {
                let mut names = RemoteRefs::names(name);
                names.push("HEAD".to_owned());
                let listed = self.list(git, &names).await?;
                let Some(sha) = RemoteRefs::new(&listed).commit(name) else {
                    return self.abbreviated(git, name, Some(&listed)).await;
                };
                if let Err(error) = self.resolved.record(&repository, name, sha) {
                    tracing::debug!(%error, "The commit of a name is not recorded.");
                }
                Ok(sha.to_owned())
            }
        }
    }

    /// Lists references of the server.
    async fn list(&self, git: &RepositoryGit<'_>, names: &[String]) -> Result<String, Error> {
        let mut listed = list(git, &git.address.url, names).await;
        if let Some(url) = git.redirected(&listed) {
            listed = list(git, &url, names).await;
        }
        listed.map_err(|error| git.explain(error))
    }

    /// Returns the commit that begins with these digits; `listed`, some references of the repository, tells its object format.
    async fn abbreviated(
        &self,
        git: &RepositoryGit<'_>,
        digits: &str,
        listed: Option<&str>,
    ) -> Result<String, Error> {
        let unknown = || match listed {
            Some(_) => Error::NoRevision {
                repository: git.address.url.clone(),
                rev: digits.to_owned(),
            },
            None => Error::Offline(format!("{}@{digits}", git.address.url)),
        };
        let some = listed
            .and_then(|it| it.split('\t').next())
            .unwrap_or_default();
        if !is_abbreviated_commit(digits) {
            return Err(unknown());
        }
        let digits = digits.to_ascii_lowercase();
        let hold = self.hold(git).await?;
        let mirror = Mirror::open(git, &hold, some).await?;
        let mut found = mirror.commits(&digits).await;
        if listed.is_some() && found.as_ref().is_ok_and(Vec::is_empty) {
            let mut fetched = mirror.fetch_all(&git.address.url).await;
            if let Some(url) = git.redirected(&fetched) {
                fetched = mirror.fetch_all(&url).await;
            }
            fetched.map_err(|error| git.explain(error))?;
            found = mirror.commits(&digits).await;
        }
        let found = found.map_err(|error| git.explain(error))?;
        release(hold);
        match found.as_slice() {
            [] => Err(unknown()),
            [sha] => Ok(sha.clone()),
            _ => Err(Error::Ambiguous {
                repository: git.address.url.clone(),
                rev: digits,
                found: found.join(" or "),
            }),
        }
    }

    /// Returns the files of a commit.
    async fn files(&self, git: &RepositoryGit<'_>, sha: &str) -> Result<Lease, Error> {
        let name = format!("{}-{sha}", git.address.name());
        let claim = self.trees.claim(&name, git.deadline).await;
        let staging = match claim.map_err(|error| busy(git, error))? {
            Claim::Cached(lease) => return Ok(lease),
            Claim::Create(staging) => staging,
        };
        let checkout = Checkout {
            git,
            sha,
            offline: self.options.offline,
            max_bytes: self.options.max_bytes,
        };
        let hold = self.hold(git).await?;
        let lease = checkout.publish(&hold, staging).await?;
        release(hold);
        Ok(lease)
    }

    async fn hold(&self, git: &RepositoryGit<'_>) -> Result<Hold, Error> {
        let hold = self.mirrors.hold(&git.address.name(), git.deadline).await;
        hold.map_err(|error| busy(git, error))
    }
}

async fn list(git: &RepositoryGit<'_>, url: &str, names: &[String]) -> Result<String, GitError> {
    let mut args = vec!["ls-remote", "--quiet", "--", url];
    args.extend(names.iter().map(String::as_str));
    git.output(&args).await
}

fn release(hold: Hold) {
    let bytes = size(hold.path());
    hold.release(bytes);
}

fn busy(git: &RepositoryGit<'_>, error: io::Error) -> Error {
    if error.kind() == io::ErrorKind::TimedOut {
        return Error::Busy(git.address.url.clone());
    }
    Error::cache("lock", git.git.directory())(error)
}
