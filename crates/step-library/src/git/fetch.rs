use super::address::{Address, Way};
use super::checkout::Checkout;
use super::environment::environment;
use super::mirror::Mirror;
use super::noted::Noted;
use super::program::{Failure, Git};
use super::refs::Refs;
use super::revision::{Revision, is_abbreviation};
use super::said::is_redirect;
use crate::LibraryOptions;
use crate::cache::{FunctionCache, Hold, Lease, Shelf, Turn};
use crate::error::Error;
use crate::tree::size;
use process::{Containment, ProcessTree, Settings, Supervisor, make_private_dir};
use std::io;
use std::path::PathBuf;
use tokio::time::Instant;
use url::Url;
use web::{Web, WebError};

/// Fetches repositories into the cache.
#[derive(Debug)]
pub(crate) struct GitFetcher {
    options: LibraryOptions,
    web: Web,
    mirrors: Shelf,
    trees: Shelf,
    noted: Noted,
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
            noted: Noted::new(directory.join("names")),
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
        // Git stays in its group. It waits for a silent server for as long as that pleases, so a guardian ends it
        // when this program is ended.
        let settings = Settings {
            containment: Containment::ProcessGroup,
            state_dir: Some(self.options.cache_dir.clone()),
            ..Settings::default()
        };
        let supervisor = Supervisor::start(settings).map_err(Error::Git)?;
        let processes = supervisor.tree();
        let fetched = self.fetch_by(&processes, &address, &revision).await;
        let ended = async {
            processes.close().await?;
            supervisor.shutdown().await
        };
        if let Err(error) = ended.await {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, "Processes of git may be left.");
        }
        fetched
    }

    /// Checks that the server may be spoken to; git itself would speak to any.
    async fn check(&self, address: &Address) -> Result<(), Error> {
        match &address.way {
            Way::Http { url, .. } => Ok(self.web.check(url).await?),
            Way::Ssh { server: Some(url) } => self.check_ssh(url).await,
            Way::Ssh { server: None } | Way::Local => Ok(()),
        }
    }

    async fn check_ssh(&self, server: &Url) -> Result<(), Error> {
        match self.web.check(server).await {
            // The user's settings of SSH may know the name.
            Err(WebError::Unreachable { .. }) => Ok(()),
            checked => Ok(checked?),
        }
    }

    async fn fetch_by(
        &self,
        processes: &ProcessTree,
        address: &Address,
        revision: &Revision,
    ) -> Result<(Lease, String), Error> {
        let variables = match &self.options.git.environment {
            Some(given) => {
                let given = given.iter().map(|(name, value)| (&**name, &**value));
                environment(given, address, &self.options.cache_dir)
            }
            None => environment(
                processes.environment().iter(),
                address,
                &self.options.cache_dir,
            ),
        };
        let git = Git {
            processes,
            environment: variables,
            directory: &self.directory,
            address,
            until: Instant::now() + self.options.deadline,
            within: self.options.deadline,
        };
        let sha = self.commit(&git, revision).await?;
        let lease = self.files(&git, &sha).await?;
        Ok((lease, sha))
    }

    /// Returns the commit that is meant.
    async fn commit(&self, git: &Git<'_>, revision: &Revision) -> Result<String, Error> {
        let repository = git.address.name();
        match revision {
            Revision::Commit(sha) => {
                // Whoever brings a password sees what is in the cache only if the server takes it.
                if git.address.has_login() && !self.options.offline {
                    self.list(git, &["HEAD".to_owned()]).await?;
                }
                Ok(sha.clone())
            }
            Revision::Name(name) if self.options.offline => {
                if let Some(sha) = self.noted.commit(&repository, name) {
                    return Ok(sha);
                }
                self.abbreviated(git, name, None).await
            }
            Revision::Name(name) => {
                let mut names = Refs::names(name);
                names.push("HEAD".to_owned());
                let listed = self.list(git, &names).await?;
                let Some(sha) = Refs(&listed).commit(name) else {
                    return self.abbreviated(git, name, Some(&listed)).await;
                };
                if let Err(error) = self.noted.note(&repository, name, sha) {
                    tracing::debug!(%error, "What a name stands for is not noted.");
                }
                Ok(sha.to_owned())
            }
        }
    }

    /// Asks the server for references.
    async fn list(&self, git: &Git<'_>, names: &[String]) -> Result<String, Error> {
        let ask = async |url: &str| {
            let mut args = vec!["ls-remote", "--quiet", "--", url];
            args.extend(names.iter().map(String::as_str));
            git.try_run(&args).await
        };
        let listed = match ask(&git.address.url).await {
            Err(Failure::Said(said)) if is_redirect(&said) => match git.address.with_suffix() {
                Some(url) => ask(&url).await,
                None => Err(Failure::Said(said)),
            },
            listed => listed,
        };
        listed.map_err(|failure| git.explain(failure))
    }

    /// Returns the commit that begins with these digits; `listed` has some reference of the repository.
    async fn abbreviated(
        &self,
        git: &Git<'_>,
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
        if !is_abbreviation(digits) {
            return Err(unknown());
        }
        let digits = digits.to_ascii_lowercase();
        let hold = self.hold(git).await?;
        let mirror = Mirror::open(git, &hold, some).await?;
        let mut found = mirror.commits(&digits).await;
        if listed.is_some() && found.as_ref().is_ok_and(Vec::is_empty) {
            let fetched = match mirror.fetch_all(&git.address.url).await {
                Err(Failure::Said(said)) if is_redirect(&said) => {
                    let url = git.address.with_suffix();
                    mirror.fetch_all(&url.unwrap_or_default()).await
                }
                fetched => fetched,
            };
            fetched.map_err(|failure| git.explain(failure))?;
            found = mirror.commits(&digits).await;
        }
        let found = found.map_err(|failure| git.explain(failure))?;
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
    async fn files(&self, git: &Git<'_>, sha: &str) -> Result<Lease, Error> {
        let name = format!("{}-{sha}", git.address.name());
        let turn = self.trees.turn(&name, git.until).await;
        let staging = match turn.map_err(|error| busy(git, error))? {
            Turn::There(lease) => return Ok(lease),
            Turn::Make(staging) => staging,
        };
        let checkout = Checkout {
            git,
            sha,
            offline: self.options.offline,
            max_bytes: self.options.max_bytes,
        };
        let hold = self.hold(git).await?;
        let lease = checkout.make(&hold, staging).await?;
        release(hold);
        Ok(lease)
    }

    async fn hold(&self, git: &Git<'_>) -> Result<Hold, Error> {
        let hold = self.mirrors.hold(&git.address.name(), git.until).await;
        hold.map_err(|error| busy(git, error))
    }
}

fn release(hold: Hold) {
    let bytes = size(hold.path());
    hold.release(bytes);
}

fn busy(git: &Git<'_>, error: io::Error) -> Error {
    if error.kind() == io::ErrorKind::TimedOut {
        return Error::Busy(git.address.url.clone());
    }
    Error::cache("lock", git.directory)(error)
}
