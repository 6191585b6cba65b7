use super::variables::project_of;
use super::{RemoteError, RemoteOptions, UserAccounts, UserConfig, Variables};
use crate::history::state::StateDir;
use crate::project::repository::BlockingGit;
use crate::settings::Settings;
use gitlab_api::{Accounts, Instance};
use includes::{
    Cached, GitRoutes, GitServers, Library, LibraryChain, LockFile, Locked, Notes, Record,
    Recorder, RemoteIncludes, RemoteSettings, Servers, Store,
};
use pipeline::include::{IncludeError, IncludeFailure};
use pipeline::repository::{Paths, RepositoryError};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use web::{Waiter, Web};

/// Access to servers, for one reading of a pipeline.
///
/// Everything is created when it is first needed: a pipeline without remote files needs no client and no token.
#[derive(Debug)]
pub(crate) struct Outside {
    options: RemoteOptions,
    home: Option<PathBuf>,
    git: Arc<BlockingGit>,
    known: OnceLock<Result<Known, RemoteError>>,
    opened: OnceLock<Result<Opened, RemoteError>>,
    found: OnceLock<Result<Found, IncludeError>>,
    notes: Notes,
}

/// What is known without a request.
#[derive(Debug)]
struct Known {
    settings: Arc<Settings>,
    accounts: Arc<UserAccounts>,
}

/// The GitLab of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OwnServer {
    /// Its URL.
    pub(crate) url: String,
    /// The project's path there, if its remote has it.
    pub(crate) path: Option<String>,
    /// Whether the user named it for this run.
    pub(crate) is_named: bool,
}

/// What the first request creates.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) settings: Arc<Settings>,
    pub(crate) accounts: Arc<UserAccounts>,
    /// Sends all requests.
    pub(crate) web: Web,
    /// Waits for the responses. All users of `web` wait with it, since connections belong to a runtime.
    pub(crate) waiter: Arc<Waiter>,
}

/// The library of files, and its record of requests.
#[derive(Debug)]
struct Found {
    remote: RemoteIncludes,
    recorded: Arc<Recorder<Arc<dyn Library>>>,
}

impl Outside {
    /// Returns the access for a working tree; `home` is the home directory, if not the user's.
    pub(crate) fn new(
        options: &RemoteOptions,
        home: Option<PathBuf>,
        git: &Arc<BlockingGit>,
    ) -> Self {
        Self {
            options: options.clone(),
            home,
            git: Arc::clone(git),
            known: OnceLock::new(),
            opened: OnceLock::new(),
            found: OnceLock::new(),
            notes: Notes::default(),
        }
    }

    /// Returns the options.
    pub(crate) fn options(&self) -> &RemoteOptions {
        &self.options
    }

    /// Returns the GitLab of the project that was cloned from `remote`, if known. Invalid settings are reported by the
    /// first request.
    pub(crate) fn own_server(&self, remote: Option<&str>) -> Option<OwnServer> {
        let instance = self.known().ok()?.accounts.own()?;
        Some(OwnServer {
            path: remote.and_then(|remote| project_of(remote, &instance)),
            url: instance.address().to_owned(),
            is_named: self.options.gitlab.is_some(),
        })
    }

    /// Returns the user's accounts and the client.
    pub(crate) fn opened(&self) -> Result<&Opened, RemoteError> {
        let opened = self.opened.get_or_init(|| self.open());
        opened.as_ref().map_err(Clone::clone)
    }

    /// Returns the user's settings.
    pub(crate) fn settings(&self) -> Result<Arc<Settings>, RemoteError> {
        Ok(Arc::clone(&self.known()?.settings))
    }

    /// Returns the remote files.
    pub(crate) fn remote_includes(&self) -> Result<&RemoteIncludes, IncludeError> {
        let found = self.found.get_or_init(|| {
            let opened = self.opened().map_err(|error| cannot_ask(&error))?;
            self.found_by(opened)
        });
        match found {
            Ok(found) => Ok(&found.remote),
            Err(error) => Err(error.clone()),
        }
    }

    /// Returns all paths of another project.
    pub(crate) fn files_of(
        &self,
        project: &str,
        reference: Option<&str>,
    ) -> Result<Paths, RepositoryError> {
        let remote = self.remote_includes();
        let paths = remote.and_then(|remote| remote.paths_of(project, reference));
        paths.map_err(|error| match error {
            IncludeError::UnknownProject(project) => RepositoryError::UnknownProject(project),
            IncludeError::UnknownReference(name) => RepositoryError::UnknownReference(name),
            other => RepositoryError::Unreadable(format!(
                "the files of the project `{project}` cannot be listed: {other}"
            )),
        })
    }

    /// Returns all requests until now with their responses.
    pub(crate) fn records(&self) -> Vec<Record> {
        let found = self.found.get().and_then(|found| found.as_ref().ok());
        found.map_or_else(Vec::new, |found| found.recorded.records())
    }

    /// Returns the project's own GitLab, if it was needed.
    pub(crate) fn own(&self) -> Option<Instance> {
        let opened = self.opened.get()?.as_ref().ok()?;
        opened.accounts.own()
    }

    /// Returns new notes about responses.
    pub(crate) fn take_notes(&self) -> Vec<String> {
        self.notes.take().iter().map(ToString::to_string).collect()
    }

    fn open(&self) -> Result<Opened, RemoteError> {
        let Known { settings, accounts } = self.known()?;
        Ok(Opened {
            web: Web::new(accounts.web_options())?,
            waiter: Arc::new(Waiter::new()),
            accounts: Arc::clone(accounts),
            settings: Arc::clone(settings),
        })
    }

    fn known(&self) -> Result<&Known, RemoteError> {
        let known = self.known.get_or_init(|| self.know());
        known.as_ref().map_err(Clone::clone)
    }

    fn know(&self) -> Result<Known, RemoteError> {
        let home = self.home.clone().or_else(std::env::home_dir);
        let settings = match self.directory() {
            Some(directory) => Settings::read(&directory, home.as_deref())?,
            None => Settings::default(),
        };
        let settings = Arc::new(settings);
        let accounts = UserAccounts::new(UserConfig {
            settings: Arc::clone(&settings),
            variables: Variables::of_process(),
            home,
            remote: self.remote(),
            gitlab: self.options.gitlab.clone(),
        })?;
        Ok(Known {
            accounts: Arc::new(accounts),
            settings,
        })
    }

    fn found_by(&self, opened: &Opened) -> Result<Found, IncludeError> {
        let accounts: Arc<dyn Accounts> = Arc::clone(&opened.accounts) as Arc<dyn Accounts>;
        let servers = Servers::new(opened.web.clone(), Arc::clone(&accounts));
        let kept = self.kept(self.with_git(servers, opened), &opened.settings);
        let file = self.lock_file()?;
        let mut settings = RemoteSettings::new(Arc::clone(&accounts));
        settings.own = file.as_ref().and_then(LockFile::own).cloned();
        let locked = match file {
            Some(file) => self.locked(kept, file, accounts.own()),
            None => kept,
        };
        let recorded = Arc::new(Recorder::new(locked));
        settings.waiter = Arc::clone(&opened.waiter);
        if let Some(templates) = &opened.settings.include.templates {
            settings.templates = templates.clone();
        }
        Ok(Found {
            remote: RemoteIncludes::new(Arc::clone(&recorded) as Arc<dyn Library>, settings),
            recorded,
        })
    }

    /// Returns a library that uses Git if the server refuses the API.
    fn with_git(&self, servers: Servers, opened: &Opened) -> Arc<dyn Library> {
        let Some(directory) = self.directory() else {
            return Arc::new(servers);
        };
        let routes: Arc<dyn GitRoutes> = Arc::clone(&opened.accounts) as Arc<dyn GitRoutes>;
        let git = GitServers::new(routes, directory.join("git"));
        Arc::new(LibraryChain::new(servers, git))
    }

    /// Returns a library that caches the responses of another one.
    fn kept(&self, library: Arc<dyn Library>, settings: &Settings) -> Arc<dyn Library> {
        let store = match self.directory() {
            Some(directory) => {
                // The store reports problems with the directory.
                let _ = StateDir::at(&directory).create_ignored_in(self.git.root());
                Store::at(directory.join("cache"))
            }
            None => Store::none(),
        };
        let fetching = self.options.fetching;
        let mut cached = Cached::new(library, store, fetching, self.notes.clone());
        if let Some(age) = settings.include.max_age {
            cached = cached.with_max_age(age);
        }
        Arc::new(cached)
    }

    /// Returns the project's lock file, unless it is ignored.
    fn lock_file(&self) -> Result<Option<LockFile>, IncludeError> {
        if self.options.unlocked {
            return Ok(None);
        }
        LockFile::read(self.git.root()).map_err(|error| IncludeError::Failed {
            kind: IncludeFailure::NotFetched,
            reason: error.to_string(),
            help: error.help,
        })
    }

    /// Returns a library that reads from a lock file; `own` is the project's own GitLab.
    fn locked(
        &self,
        library: Arc<dyn Library>,
        file: LockFile,
        own: Option<Instance>,
    ) -> Arc<dyn Library> {
        let (fetching, notes) = (self.options.fetching, self.notes.clone());
        let locked = Locked::new(library, self.git.root(), file, fetching, notes);
        Arc::new(locked.with_own(own))
    }

    /// Returns the directory of the user's settings.
    fn directory(&self) -> Option<PathBuf> {
        let named = self.options.directory.clone();
        named.or_else(|| Some(StateDir::of_user().ok()?.path().to_owned()))
    }

    /// Returns the remote URL of the project.
    pub(crate) fn remote(&self) -> Option<String> {
        let facts = git::glance(self.git.root());
        let facts = facts.or_else(|| self.git.describe().ok());
        facts?.remote_url
    }
}

/// Returns the error of each included file if no server can be requested.
fn cannot_ask(error: &RemoteError) -> IncludeError {
    IncludeError::Failed {
        kind: IncludeFailure::Unreadable,
        reason: format!("servers cannot be requested: {error}"),
        help: error.help().map(str::to_owned),
    }
}
