use crate::address::project_id;
use crate::{ApiError, Client};
use serde::Deserialize;

/// A project.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Project {
    /// Its number.
    pub id: u64,
    /// Its path as GitLab writes it, `group/project`.
    pub path_with_namespace: String,
    /// Its default branch; none when it is empty.
    #[serde(default)]
    pub default_branch: Option<String>,
    /// `private`, `internal` or `public`; not everybody is told.
    #[serde(default)]
    pub visibility: Option<String>,
    /// Whose it is.
    #[serde(default)]
    pub namespace: Option<Namespace>,
}

/// Whose a project is.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Namespace {
    /// `group` or `user`.
    pub kind: String,
    /// Its path.
    pub full_path: String,
}

/// Returns the groups around a project by its path, the outermost first.
///
/// ```
/// assert_eq!(gitlab_api::groups_of("a/b/project"), ["a", "a/b"]);
/// ```
pub fn groups_of(project: &str) -> Vec<&str> {
    let slashes = project.match_indices('/');
    slashes.map(|(index, _)| &project[..index]).collect()
}

impl Client {
    /// Returns what there is to know of a project.
    ///
    /// # Errors
    ///
    /// When there is no answer, or no such project for who asks.
    pub async fn project(&self, path: &str) -> Result<Project, ApiError> {
        let asked = self.asked(format!("the project `{path}`"));
        let url = self.address(&["projects", &project_id(path)?], &[])?;
        self.get(&asked, url).await
    }
}
