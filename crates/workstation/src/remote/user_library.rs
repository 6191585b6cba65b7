//! Functions of git repositories and registries, with the user's accounts.

use crate::history::state::StateDir;
use crate::remote::{UserAccounts, UserConfig, Variables};
use crate::settings::Settings;
use async_trait::async_trait;
use executor_core::chain;
use executor_core::job::SecretString;
use includes::FetchPolicy;
use registry::{CredentialSources, Credentials};
use std::env;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use step_library::{FunctionCache, LibraryOptions, StepLibrary};
use steps::{Fetched, JobCredentials, Library, LibraryError, Published, Source};

/// The directory of functions in the state directory.
const DIRECTORY: &str = "functions";

/// The variable that has docker's credentials in it.
const AUTH: &str = "DOCKER_AUTH_CONFIG";

/// Brings functions of git repositories and registries as the user himself would get them: by his git, through his
/// proxies, from his GitLabs, and from registries as who docker knows him.
///
/// Nothing is read before something is wanted.
#[derive(Debug)]
pub struct UserLibrary {
    state: PathBuf,
    fetching: FetchPolicy,
    library: OnceLock<Result<StepLibrary, String>>,
}

impl UserLibrary {
    /// Returns one that keeps what it brings in this state directory.
    pub fn new(state: &StateDir) -> Self {
        Self {
            state: state.path().to_owned(),
            fetching: FetchPolicy::default(),
            library: OnceLock::new(),
        }
    }

    /// Sets when servers are requested. Tags and branches are always looked up, except offline.
    pub fn with_fetching(mut self, fetching: FetchPolicy) -> Self {
        self.fetching = fetching;
        self
    }

    /// Returns the functions in a state directory.
    pub(crate) fn cache(state: &StateDir) -> FunctionCache {
        FunctionCache::new(state.path().join(DIRECTORY))
    }

    fn library(&self) -> Result<&StepLibrary, LibraryError> {
        let library = self
            .library
            .get_or_init(|| open(&self.state, self.fetching));
        library.as_ref().map_err(LibraryError::new)
    }
}

fn open(state: &Path, fetching: FetchPolicy) -> Result<StepLibrary, String> {
    let home = env::home_dir();
    let settings = Settings::read(state, home.as_deref()).map_err(|error| chain(&error))?;
    let insecure_registries = settings.include.allow_http.clone();
    let accounts = UserAccounts::new(UserConfig {
        settings: Arc::new(settings),
        variables: Variables::of_process(),
        home,
        remote: None,
        gitlab: None,
    });
    let accounts = accounts.map_err(|error| chain(&error))?;
    let options = LibraryOptions {
        web: accounts.web_options(),
        logins: Some(Arc::new(logins())),
        insecure_registries,
        offline: fetching == FetchPolicy::Offline,
        ..LibraryOptions::new(state.join(DIRECTORY))
    };
    StepLibrary::new(options).map_err(|error| chain(&error))
}

/// Returns the user's logins, as the docker command keeps them. Its helpers are not started: a job must not trigger them.
fn logins() -> Credentials {
    let directory = env::var_os("DOCKER_CONFIG").filter(|path| !path.is_empty());
    let directory = directory.map(PathBuf::from);
    let directory = directory.or_else(|| Some(env::home_dir()?.join(".docker")));
    let sources = CredentialSources {
        runner: env::var(AUTH).ok().map(SecretString::new),
        file: directory.map(|directory| directory.join("config.json")),
        ..CredentialSources::default()
    };
    Credentials::new(sources).ignoring_helpers()
}

#[async_trait]
impl Library for UserLibrary {
    async fn fetch(
        &self,
        source: &Source,
        asker: &JobCredentials,
    ) -> Result<Fetched, LibraryError> {
        self.library()?.fetch(source, asker).await
    }

    async fn publish(
        &self,
        archive: &Path,
        repository: &str,
        asker: &JobCredentials,
    ) -> Result<Published, LibraryError> {
        self.library()?.publish(archive, repository, asker).await
    }
}
