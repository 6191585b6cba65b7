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

/// The way to everything that is elsewhere, for one reading of a pipeline.
///
/// Nothing is made before somebody asks: no client is made, and no token is looked for, for a pipeline
/// that needs none.
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

/// What is known without asking anybody.
#[derive(Debug)]
struct Known {
    settings: Arc<Settings>,
    accounts: Arc<UserAccounts>,
}

/// The GitLab of a project, as its jobs know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OwnServer {
    /// Its address.
    pub(crate) url: String,
    /// The project's path there, if its remote tells.
    pub(crate) path: Option<String>,
    /// Whether the user named it for this very run.
    pub(crate) is_named: bool,
}

/// What is made when somebody asks first.
#[derive(Debug)]
pub(crate) struct Opened {
    /// What the user wants to be so.
    pub(crate) settings: Arc<Settings>,
    /// Who he is where.
    pub(crate) accounts: Arc<UserAccounts>,
    /// Through which all requests go.
    pub(crate) web: Web,
    /// Who waits for them. As connections belong to a runtime, whoever uses `web` waits with this.
    pub(crate) waiter: Arc<Waiter>,
}

/// What finds files, and what it asked.
#[derive(Debug)]
struct Found {
    elsewhere: RemoteIncludes,
    recorded: Arc<Recorder<Arc<dyn Library>>>,
}

impl Outside {
    /// Returns the way for a working tree; `home` is the home directory, if not the user's.
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

    /// Returns what the user wants of it.
    pub(crate) fn options(&self) -> &RemoteOptions {
        &self.options
    }

    /// Returns the GitLab of the project that was cloned from `remote`, if one is known. What is wrong
    /// with the settings is said when something is asked for.
    pub(crate) fn own_server(&self, remote: Option<&str>) -> Option<OwnServer> {
        let instance = self.known().ok()?.accounts.own()?;
        Some(OwnServer {
            path: remote.and_then(|remote| project_of(remote, &instance)),
            url: instance.address().to_owned(),
            is_named: self.options.gitlab.is_some(),
        })
    }

    /// Returns who the user is where, and what requests go through.
    pub(crate) fn opened(&self) -> Result<&Opened, RemoteError> {
        let opened = self.opened.get_or_init(|| self.open());
        opened.as_ref().map_err(Clone::clone)
    }

    /// Returns the user's settings.
    pub(crate) fn settings(&self) -> Result<Arc<Settings>, RemoteError> {
        Ok(Arc::clone(&self.known()?.settings))
    }

    /// Returns the files that are elsewhere.
    pub(crate) fn elsewhere(&self) -> Result<&RemoteIncludes, IncludeError> {
        let found = self.found.get_or_init(|| {
            let opened = self.opened().map_err(|error| cannot_ask(&error))?;
            self.found_by(opened)
        });
        match found {
            Ok(found) => Ok(&found.elsewhere),
            Err(error) => Err(error.clone()),
        }
    }

    /// Returns all paths of another project.
    pub(crate) fn files_of(
        &self,
        project: &str,
        reference: Option<&str>,
    ) -> Result<Paths, RepositoryError> {
        let elsewhere = self.elsewhere();
        let paths = elsewhere.and_then(|elsewhere| elsewhere.paths_of(project, reference));
        paths.map_err(|error| match error {
            IncludeError::UnknownProject(project) => RepositoryError::UnknownProject(project),
            IncludeError::UnknownReference(name) => RepositoryError::UnknownReference(name),
            other => RepositoryError::Unreadable(format!(
                "the files of the project `{project}` cannot be listed: {other}"
            )),
        })
    }

    /// Returns what was asked until now, and what was answered.
    pub(crate) fn records(&self) -> Vec<Record> {
        let found = self.found.get().and_then(|found| found.as_ref().ok());
        found.map_or_else(Vec::new, |found| found.recorded.records())
    }

    /// Returns the project's own GitLab, if somebody wanted to know it.
    pub(crate) fn own(&self) -> Option<Instance> {
        let opened = self.opened.get()?.as_ref().ok()?;
        opened.accounts.own()
    }

    /// Returns what the user should know of the answers, each time what is new.
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
            elsewhere: RemoteIncludes::new(Arc::clone(&recorded) as Arc<dyn Library>, settings),
            recorded,
        })
    }

    /// Returns a library that asks by Git where the servers do not answer whoever asks.
    fn with_git(&self, servers: Servers, opened: &Opened) -> Arc<dyn Library> {
        let Some(directory) = self.directory() else {
            return Arc::new(servers);
        };
        let routes: Arc<dyn GitRoutes> = Arc::clone(&opened.accounts) as Arc<dyn GitRoutes>;
        let git = GitServers::new(routes, directory.join("git"));
        Arc::new(LibraryChain::new(servers, git))
    }

    /// Returns a library that keeps the answers of another one, if only until the end.
    fn kept(&self, library: Arc<dyn Library>, settings: &Settings) -> Arc<dyn Library> {
        let store = match self.directory() {
            Some(directory) => {
                // The store says itself what is wrong with the directory.
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

    /// Returns the project's lock file, if it has one that counts.
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

    /// Returns a library that answers from a lock file; `own` is the project's own GitLab.
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

    /// Returns where the project was cloned from.
    pub(crate) fn remote(&self) -> Option<String> {
        let facts = git::glance(self.git.root());
        let facts = facts.or_else(|| self.git.describe().ok());
        facts?.remote_url
    }
}

/// Returns what is said of each included file when nothing can be asked.
fn cannot_ask(error: &RemoteError) -> IncludeError {
    IncludeError::Failed {
        kind: IncludeFailure::Unreadable,
        reason: format!("nothing can be asked elsewhere: {error}"),
        help: error.help().map(str::to_owned),
    }
}
