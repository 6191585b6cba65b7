use crate::{ApiError, Client};
use serde::Deserialize;

/// The version of a GitLab.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Version {
    /// The version, such as `18.5.1-ee`.
    pub version: String,
}

/// An access token, as GitLab describes it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct TokenInfo {
    /// Its name.
    #[serde(default)]
    pub name: String,
    /// The scopes, such as `api` and `read_api`.
    #[serde(default)]
    pub scopes: Vec<String>,
    /// The day on which it expires, such as `2027-01-31`.
    #[serde(default)]
    pub expires_at: Option<String>,
    /// Whether it can be used.
    #[serde(default)]
    pub active: bool,
    /// Whether it was revoked.
    #[serde(default)]
    pub revoked: bool,
}

/// A user.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct User {
    /// The user name, which `@` mentions.
    pub username: String,
    /// The display name.
    #[serde(default)]
    pub name: String,
}

impl Client {
    /// Returns the version of the GitLab.
    ///
    /// # Errors
    ///
    /// When there is no valid response.
    pub async fn version(&self) -> Result<Version, ApiError> {
        let context = self.context("the version".to_owned());
        self.get(&context, self.address(&["version"], &[])?).await
    }

    /// Returns what GitLab knows about the token, which has to be an access token.
    ///
    /// # Errors
    ///
    /// When there is no valid response.
    pub async fn token_info(&self) -> Result<TokenInfo, ApiError> {
        let context = self.context("the token itself".to_owned());
        let url = self.address(&["personal_access_tokens", "self"], &[])?;
        self.get(&context, url).await
    }

    /// Returns the user that the token belongs to.
    ///
    /// # Errors
    ///
    /// When there is no valid response.
    pub async fn user(&self) -> Result<User, ApiError> {
        let context = self.context("the user of the token".to_owned());
        self.get(&context, self.address(&["user"], &[])?).await
    }
}
