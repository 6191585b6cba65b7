use crate::address::{file_id, project_id, reference_id};
use crate::{ApiError, Client, Fresh};
use serde::Deserialize;
use std::sync::Arc;

/// A file or folder of a project.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct TreeEntry {
    /// Its path.
    pub path: String,
    /// `blob` for a file, `tree` for a folder, `commit` for a submodule.
    #[serde(rename = "type")]
    pub kind: String,
}

#[derive(Debug, Deserialize)]
struct Template {
    content: String,
}

impl Client {
    /// Returns all files and folders of a project at a commit, recursively.
    ///
    /// # Errors
    ///
    /// When there is no valid response, no such commit, or more files than the limit.
    pub async fn tree(&self, project: &str, sha: &str) -> Result<Vec<TreeEntry>, ApiError> {
        let context = self.context(format!("the files of `{project}`"));
        let id = project_id(project)?;
        reference_id(sha)?;
        let query = [
            ("ref", sha),
            ("recursive", "true"),
            ("pagination", "keyset"),
        ];
        let url = self.address(&["projects", &id, "repository", "tree"], &query)?;
        self.pages(&context, url).await
    }

    /// Returns the bytes of a file at a commit; `etag` names the state that the caller has.
    ///
    /// # Errors
    ///
    /// When there is no valid response, or no such file.
    pub async fn file(
        &self,
        project: &str,
        sha: &str,
        path: &str,
        etag: Option<&str>,
    ) -> Result<Fresh<Arc<[u8]>>, ApiError> {
        let context = self.context(format!("the file `{path}` of `{project}`"));
        let (id, file) = (project_id(project)?, file_id(path)?);
        reference_id(sha)?;
        let parts = ["projects", &id, "repository", "files", &file, "raw"];
        let url = self.address(&parts, &[("ref", sha)])?;
        self.get_raw(&context, url, etag).await
    }

    /// Returns the text of one of GitLab's own templates by its name, without the file extension.
    ///
    /// # Errors
    ///
    /// When there is no valid response, or no such template.
    pub async fn template(&self, name: &str) -> Result<String, ApiError> {
        let context = self.context(format!("the template `{name}`"));
        let url = self.address(&["templates", "gitlab_ci_ymls", &file_id(name)?], &[])?;
        let template: Template = self.get(&context, url).await?;
        Ok(template.content)
    }
}
