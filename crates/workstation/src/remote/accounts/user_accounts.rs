use super::glab::GlabHost;
use super::netrc::NetrcEntry;
use super::process_env::ProcessEnv;
use super::remote::Remote;
use super::token_files::TokenFile;
use super::token_search::{Found, TokenPlace};
use super::variables::Variables;
use crate::settings::Settings;
use gitlab_api::{Accounts, Instance, InstanceError, Token};
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use web::{Proxies, Reach, WebOptions};

/// The sources of a user's accounts.
///
/// `Debug` does not show the remote, whose address may hold a password.
#[derive(Clone)]
pub struct UserConfig {
    /// The user's settings.
    pub settings: Arc<Settings>,
    /// The process environment.
    pub variables: Variables,
    /// The home directory.
    pub home: Option<PathBuf>,
    /// The remote URL of the project.
    pub remote: Option<String>,
    /// The GitLab of the project, if the user names it (`--gitlab`).
    pub gitlab: Option<String>,
}

impl fmt::Debug for UserConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UserConfig")
            .field("settings", &self.settings)
            .field("home", &self.home)
            .field("gitlab", &self.gitlab)
            .finish_non_exhaustive()
    }
}

/// The user's GitLabs and tokens.
///
/// Files are read when a token is first needed.
#[derive(Debug)]
pub struct UserAccounts {
    pub(super) config: UserConfig,
    /// The GitLab that the user named.
    pub(super) named: Option<Instance>,
    pub(super) remote: Option<Remote>,
    own: OnceLock<Option<Instance>>,
    pub(super) glab: OnceLock<TokenFile<GlabHost>>,
    pub(super) netrc: OnceLock<TokenFile<NetrcEntry>>,
}

impl UserAccounts {
    /// Returns the accounts of a user.
    ///
    /// # Errors
    ///
    /// When the named GitLab is not a valid URL.
    pub fn new(mut config: UserConfig) -> Result<Self, InstanceError> {
        let chosen = || ProcessEnv::new(&config.variables).chosen_text();
        let named = config.gitlab.clone().or_else(chosen);
        let named = named.as_deref().map(Instance::parse).transpose()?;
        let remote = config.remote.take();
        let remote = remote.as_deref().and_then(Remote::parse);
        Ok(Self {
            config,
            named,
            remote,
            own: OnceLock::new(),
            glab: OnceLock::new(),
            netrc: OnceLock::new(),
        })
    }

    /// Returns the options of requests for this user: servers, proxies and authorities.
    pub fn web_options(&self) -> WebOptions {
        let include = &self.config.settings.include;
        WebOptions {
            reach: Reach {
                named: self.servers(),
                anywhere: false,
                plain: include.allow_http.clone(),
                private: include.allow_private.clone(),
            },
            proxies: Proxies::from_variables(|name| self.config.variables.text(name)),
            authorities: self.config.settings.authorities(),
            ..WebOptions::default()
        }
    }

    pub(super) fn process_env(&self) -> ProcessEnv<'_> {
        ProcessEnv::new(&self.config.variables)
    }
}

impl Accounts for UserAccounts {
    fn own(&self) -> Option<Instance> {
        self.own.get_or_init(|| self.find_own()).clone()
    }

    fn instance(&self, name: &str) -> Option<Instance> {
        // The name may come from a project's file, so it can only choose a host and a port.
        if name.contains(['/', '@', '?', '#']) {
            return None;
        }
        let own = self.own().into_iter();
        let mut known = own.chain(self.known());
        let found = known.find(|it| it.name().eq_ignore_ascii_case(name));
        found.or_else(|| Instance::parse(name).ok())
    }

    fn token(&self, instance: &Instance) -> Option<Token> {
        let last = self.find_tokens(instance).pop()?;
        match last.found {
            Found::Token(token) => Some(token),
            Found::Nothing(_) => None,
        }
    }

    fn places(&self, instance: &Instance) -> Vec<String> {
        self.find_tokens(instance)
            .iter()
            .map(TokenPlace::describe)
            .collect()
    }
}
