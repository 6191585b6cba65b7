use crate::address::project_id;
use crate::{ApiError, Client};
use serde::Deserialize;

/// An entry in a project's list of protected branches or tags.
#[derive(Debug, Deserialize)]
struct Protected {
    name: String,
}

impl Client {
    /// Returns the names of the protected branches, including those of branches that do not exist yet. A `*` in a
    /// name matches any text.
    ///
    /// # Errors
    ///
    /// When there is no valid response: the role Maintainer is required.
    pub async fn protected_branches(&self, project: &str) -> Result<Vec<String>, ApiError> {
        self.protected(project, "branches").await
    }

    /// Returns the names of the protected tags, in the form of [`Self::protected_branches`].
    ///
    /// # Errors
    ///
    /// When there is no valid response: the role Maintainer is required.
    pub async fn protected_tags(&self, project: &str) -> Result<Vec<String>, ApiError> {
        self.protected(project, "tags").await
    }

    async fn protected(&self, project: &str, what: &str) -> Result<Vec<String>, ApiError> {
        let context = self
            .context(format!("the protected {what} of `{project}`"))
            .needs("the role Maintainer in the project");
        let part = format!("protected_{what}");
        let url = self.address(&["projects", &project_id(project)?, &part], &[])?;
        let all: Vec<Protected> = self.pages(&context, url).await?;
        Ok(all.into_iter().map(|it| it.name).collect())
    }
}
