use crate::remote::accounts::{UserAccounts, UserConfig, Variables};
use crate::settings::Settings;
use gitlab_api::{Accounts, Instance, Token};
use includes::{GitRoute, GitRoutes};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

/// A user, with files in a home directory that goes with him.
pub(super) struct User {
    pub(super) home: tempfile::TempDir,
    pub(super) settings: &'static str,
    pub(super) variables: &'static [(&'static str, &'static str)],
    pub(super) remote: Option<&'static str>,
    pub(super) gitlab: Option<&'static str>,
}

impl User {
    pub(super) fn new() -> Self {
        Self {
            home: tempfile::tempdir().expect("a directory"),
            settings: "",
            variables: &[],
            remote: None,
            gitlab: None,
        }
    }

    pub(super) fn has(self, file: &str, mode: u32, text: &str) -> Self {
        let path = self.home.path().join(file);
        fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        fs::write(&path, text).expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("set");
        self
    }

    pub(super) fn accounts(&self) -> UserAccounts {
        self.accounts_with(self.variables)
    }

    /// Returns the accounts of the same user in another environment.
    pub(super) fn accounts_with(&self, variables: &[(&'static str, &'static str)]) -> UserAccounts {
        let home = self.home.path();
        let file = home.join(".runwright/config.toml");
        let settings = Settings::parse(&file, self.settings, Some(home)).expect("settings");
        let config = UserConfig {
            settings: Arc::new(settings),
            variables: Variables::of(variables.iter().copied()),
            home: Some(home.to_owned()),
            remote: self.remote.map(str::to_owned),
            gitlab: self.gitlab.map(str::to_owned),
        };
        UserAccounts::new(config).expect("a GitLab")
    }

    pub(super) fn own(&self) -> Option<String> {
        self.accounts().own().map(|it| it.to_string())
    }

    /// Returns a token and where it was found, as `TOKEN from PLACE`.
    pub(super) fn token(&self, address: &str) -> Option<String> {
        let token = self.accounts().token(&at(address));
        token.map(|Token { value, found, kind }| format!("{} {kind:?} {found}", value.expose()))
    }

    pub(super) fn places(&self, address: &str) -> String {
        self.accounts().places(&at(address)).join("\n")
    }

    pub(super) fn way(&self, address: &str) -> Option<String> {
        let route = self.accounts().route(&at(address))?;
        let url = route.url("g/p").expect("an address");
        match route {
            GitRoute::Ssh { .. } => Some(url),
            GitRoute::Http {
                authority, login, ..
            } => {
                let login = login.map(|(name, _)| name);
                Some(format!("{url} {authority:?} {login:?}"))
            }
        }
    }
}

pub(super) fn at(address: &str) -> Instance {
    Instance::parse(address).expect("an address")
}
