use crate::address::project_id;
use crate::{ApiError, Client};
use serde::Deserialize;

/// A project.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Project {
    /// The numeric id.
    pub id: u64,
    /// Its path as GitLab writes it, `group/project`.
    pub path_with_namespace: String,
    /// The default branch; `None` when the repository is empty.
    #[serde(default)]
    pub default_branch: Option<String>,
    /// `private`, `internal` or `public`; not every user may see it.
    #[serde(default)]
    pub visibility: Option<String>,
    /// The group or user that owns the project.
    #[serde(default)]
    pub namespace: Option<Namespace>,
}

/// The group or user that owns a project.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Namespace {
    /// `group` or `user`.
    pub kind: String,
    /// Its path.
    pub full_path: String,
}

/// Returns the groups above a project, from its path, the outermost first.
///
/// ```
/// assert_eq!(gitlab_api::groups_of("a/b/project"), ["a", "a/b"]);
/// ```
pub fn groups_of(project: &str) -> Vec<&str> {
    let slashes = project.match_indices('/');
    slashes.map(|(index, _)| &project[..index]).collect()
}

impl Client {
    /// Returns a project.
    ///
    /// # Errors
    ///
    /// When there is no valid response, or the user can see no such project.
    pub async fn project(&self, path: &str) -> Result<Project, ApiError> {
        let context = self.context(format!("the project `{path}`"));
        let url = self.address(&["projects", &project_id(path)?], &[])?;
        self.get(&context, url).await
    }
}
