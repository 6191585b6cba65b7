use crate::address::{project_id, reference_id};
use crate::{ApiError, Client, Fault, Fresh};
use serde::Deserialize;

/// A commit.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Commit {
    /// The full id.
    pub id: String,
}

/// A branch.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Branch {
    /// Its name.
    pub name: String,
    /// Whether pushing to it is restricted.
    #[serde(default)]
    pub protected: bool,
    /// The commit it points to.
    pub commit: Commit,
}

/// A tag.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Tag {
    /// Its name.
    pub name: String,
    /// The commit it points to; a tag may name an object that is not a commit.
    #[serde(default)]
    pub commit: Option<Commit>,
    /// Whether creating such tags is restricted.
    #[serde(default)]
    pub protected: bool,
}

impl Client {
    /// Returns the commit of a branch or tag, or of the default branch; `etag` names the state that the
    /// caller has.
    ///
    /// # Errors
    ///
    /// When there is no valid response, or no such commit.
    pub async fn commit(
        &self,
        project: &str,
        reference: Option<&str>,
        etag: Option<&str>,
    ) -> Result<Fresh<Commit>, ApiError> {
        let reference = reference.unwrap_or("HEAD");
        let context = self.context(format!("the commit `{reference}` of `{project}`"));
        let (id, commit) = (project_id(project)?, reference_id(reference)?);
        let parts = ["projects", &id, "repository", "commits", &commit];
        // Without this, GitLab counts the changed lines, which takes long for a large commit.
        let url = self.address(&parts, &[("stats", "false")])?;
        let commit: Fresh<Commit> = self.get_fresh(&context, url, etag).await?;
        if let Fresh::New { value, .. } = &commit {
            self.check_id(&value.id)?;
        }
        Ok(commit)
    }

    /// Returns a branch.
    ///
    /// # Errors
    ///
    /// When there is no valid response, or no such branch.
    pub async fn branch(&self, project: &str, name: &str) -> Result<Branch, ApiError> {
        let context = self.context(format!("the branch `{name}` of `{project}`"));
        let (id, branch) = (project_id(project)?, reference_id(name)?);
        let url = self.address(&["projects", &id, "repository", "branches", &branch], &[])?;
        let branch: Branch = self.get(&context, url).await?;
        self.check_id(&branch.commit.id)?;
        Ok(branch)
    }

    /// Returns a tag.
    ///
    /// # Errors
    ///
    /// When there is no valid response, or no such tag.
    pub async fn tag(&self, project: &str, name: &str) -> Result<Tag, ApiError> {
        let context = self.context(format!("the tag `{name}` of `{project}`"));
        let (id, tag) = (project_id(project)?, reference_id(name)?);
        let url = self.address(&["projects", &id, "repository", "tags", &tag], &[])?;
        let tag: Tag = self.get(&context, url).await?;
        if let Some(commit) = &tag.commit {
            self.check_id(&commit.id)?;
        }
        Ok(tag)
    }

    /// Returns all tags of a project; `etag` names the state that the caller has.
    ///
    /// # Errors
    ///
    /// When there is no valid response, or more tags than the limit.
    pub async fn tags(
        &self,
        project: &str,
        etag: Option<&str>,
    ) -> Result<Fresh<Vec<Tag>>, ApiError> {
        let context = self.context(format!("the tags of `{project}`"));
        let id = project_id(project)?;
        let url = self.address(&["projects", &id, "repository", "tags"], &[])?;
        let tags: Fresh<Vec<Tag>> = self.pages_fresh(&context, url, etag).await?;
        if let Fresh::New { value, .. } = &tags {
            let mut commits = value.iter().filter_map(|tag| tag.commit.as_ref());
            commits.try_for_each(|commit| self.check_id(&commit.id))?;
        }
        Ok(tags)
    }

    /// Checks that a server's commit id has the form of one: it becomes part of paths and lines.
    fn check_id(&self, id: &str) -> Result<(), ApiError> {
        let is_id = matches!(id.len(), 40 | 64) && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_id
            .then_some(())
            .ok_or_else(|| self.bad(Fault::Nonsense("a commit whose id is none")))
    }
}
