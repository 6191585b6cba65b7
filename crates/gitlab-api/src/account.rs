use crate::{ApiError, Client};
use serde::Deserialize;

/// Which GitLab it is.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Version {
    /// Its version, `18.5.1-ee`.
    pub version: String,
}

/// A token as GitLab knows it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct TokenInfo {
    /// Its name.
    #[serde(default)]
    pub name: String,
    /// What it is for: `api`, `read_api`.
    #[serde(default)]
    pub scopes: Vec<String>,
    /// The day it ends, `2027-01-31`.
    #[serde(default)]
    pub expires_at: Option<String>,
    /// Whether it can be used.
    #[serde(default)]
    pub active: bool,
    /// Whether somebody took it back.
    #[serde(default)]
    pub revoked: bool,
}

/// A user.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct User {
    /// The name that `@` mentions.
    pub username: String,
    /// The name that people use.
    #[serde(default)]
    pub name: String,
}

impl Client {
    /// Returns which GitLab it is.
    ///
    /// # Errors
    ///
    /// When there is no answer.
    pub async fn version(&self) -> Result<Version, ApiError> {
        let asked = self.asked("the version".to_owned());
        self.get(&asked, self.address(&["version"], &[])?).await
    }

    /// Returns what GitLab knows of the token; only an access token has something to be known.
    ///
    /// # Errors
    ///
    /// When there is no answer.
    pub async fn token_info(&self) -> Result<TokenInfo, ApiError> {
        let asked = self.asked("the token itself".to_owned());
        let url = self.address(&["personal_access_tokens", "self"], &[])?;
        self.get(&asked, url).await
    }

    /// Returns whose the token is.
    ///
    /// # Errors
    ///
    /// When there is no answer.
    pub async fn user(&self) -> Result<User, ApiError> {
        let asked = self.asked("the user of the token".to_owned());
        self.get(&asked, self.address(&["user"], &[])?).await
    }
}
