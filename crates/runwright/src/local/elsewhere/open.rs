use super::{
    ElsewhereError, ElsewhereOptions, Settings, UserAccounts, UserSurroundings, Variables,
};
use crate::local::repository::Git;
use crate::local::state::StateDir;
use gitlab_api::Accounts;
use includes::{Elsewhere, ElsewhereSettings, Library, Servers};
use pipeline::include::{IncludeError, IncludeFailure};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use web::{Waiter, Web};

/// The way to everything that is elsewhere, for one reading of a pipeline.
///
/// Nothing is made before somebody asks: no client is made, and no settings or accounts are read,
/// for a pipeline that needs none.
#[derive(Debug)]
pub(in crate::local) struct Outside {
    options: ElsewhereOptions,
    home: Option<PathBuf>,
    git: Arc<Git>,
    opened: OnceLock<Result<Opened, ElsewhereError>>,
    elsewhere: OnceLock<Result<Elsewhere, IncludeError>>,
}

/// What is made when somebody asks first.
#[derive(Debug)]
pub(in crate::local) struct Opened {
    /// What the user wants to be so.
    pub(in crate::local) settings: Arc<Settings>,
    /// Who he is where.
    pub(in crate::local) accounts: Arc<UserAccounts>,
    /// Through which all requests go.
    pub(in crate::local) web: Web,
    /// Who waits for them. As connections belong to a runtime, whoever uses `web` waits with this.
    pub(in crate::local) waiter: Arc<Waiter>,
}

impl Outside {
    /// Returns the way for a working tree; `home` is the home directory, if not the user's.
    pub(in crate::local) fn new(
        options: &ElsewhereOptions,
        home: Option<PathBuf>,
        git: &Arc<Git>,
    ) -> Self {
        Self {
            options: options.clone(),
            home,
            git: Arc::clone(git),
            opened: OnceLock::new(),
            elsewhere: OnceLock::new(),
        }
    }

    /// Returns what the user wants of it.
    pub(in crate::local) fn options(&self) -> &ElsewhereOptions {
        &self.options
    }

    /// Returns who the user is where, and what requests go through.
    pub(in crate::local) fn opened(&self) -> Result<&Opened, ElsewhereError> {
        let opened = self.opened.get_or_init(|| self.open());
        opened.as_ref().map_err(Clone::clone)
    }

    /// Returns the files that are elsewhere.
    pub(in crate::local) fn elsewhere(&self) -> Result<&Elsewhere, IncludeError> {
        let elsewhere = self.elsewhere.get_or_init(|| {
            let opened = self.opened().map_err(|error| cannot_ask(&error))?;
            Ok(self.find_with(opened))
        });
        elsewhere.as_ref().map_err(Clone::clone)
    }

    fn open(&self) -> Result<Opened, ElsewhereError> {
        let home = self.home.clone().or_else(std::env::home_dir);
        let settings = match self.directory() {
            Some(directory) => Settings::read(&directory, home.as_deref())?,
            None => Settings::default(),
        };
        let settings = Arc::new(settings);
        let accounts = UserAccounts::new(UserSurroundings {
            settings: Arc::clone(&settings),
            variables: Variables::of_process(),
            home,
            remote: self.remote(),
            gitlab: self.options.gitlab.clone(),
        })?;
        Ok(Opened {
            web: Web::new(accounts.web_options())?,
            waiter: Arc::new(Waiter::new()),
            accounts: Arc::new(accounts),
            settings,
        })
    }

    fn find_with(&self, opened: &Opened) -> Elsewhere {
        let accounts: Arc<dyn Accounts> = Arc::clone(&opened.accounts) as Arc<dyn Accounts>;
        let servers = Servers::new(opened.web.clone(), Arc::clone(&accounts));
        let library: Arc<dyn Library> = Arc::new(servers);
        let mut settings = ElsewhereSettings::new(accounts);
        settings.waiter = Arc::clone(&opened.waiter);
        if let Some(templates) = &opened.settings.include.templates {
            settings.templates = templates.clone();
        }
        Elsewhere::new(library, settings)
    }

    /// Returns the directory of the user's settings.
    fn directory(&self) -> Option<PathBuf> {
        let named = self.options.directory.clone();
        named.or_else(|| Some(StateDir::of_user().ok()?.path().to_owned()))
    }

    /// Returns where the project was cloned from.
    fn remote(&self) -> Option<String> {
        let facts = job_runner::glance(self.git.root());
        let facts = facts.or_else(|| self.git.describe().ok());
        facts?.remote_url
    }
}

/// Returns what is said of each included file when nothing can be asked.
fn cannot_ask(error: &ElsewhereError) -> IncludeError {
    IncludeError::Failed {
        kind: IncludeFailure::Unreadable,
        reason: format!("nothing can be asked elsewhere: {error}"),
        help: error.help().map(str::to_owned),
    }
}
