//! Files of other projects.

use super::errors::failed;
use super::finder::Finder;
use super::reference::{file_path, is_commit, is_plain};
use crate::{ProjectAddress, Question};
use pipeline::include::{FileHome, IncludeError, IncludeFailure, IncludedFile};
use pipeline::repository::Paths;

/// A project at a commit.
#[derive(Debug, Clone)]
pub(super) struct Checkout {
    pub(super) project: ProjectAddress,
    pub(super) sha: String,
}

impl Checkout {
    /// Returns the home of a file in this checkout.
    pub(super) fn home(&self) -> FileHome {
        FileHome::Project {
            server: Some(self.project.instance.address().into()),
            path: self.project.path.as_str().into(),
            sha: self.sha.as_str().into(),
        }
    }

    /// Returns the name of a file in messages.
    fn name_of(&self, path: &str) -> String {
        let sha = self.sha.get(..8).unwrap_or(&self.sha);
        format!("{}/{path}@{sha}", self.project.path)
    }
}

impl Finder {
    /// Returns a file of a project at a branch, tag or commit.
    pub(super) async fn file_of(
        &self,
        project: ProjectAddress,
        file: &str,
        reference: Option<&str>,
    ) -> Result<IncludedFile, IncludeError> {
        let checkout = self.checkout(project, reference).await;
        let checkout = match checkout {
            // The file named no reference.
            Err(IncludeError::UnknownReference(_)) if reference.is_none() => {
                return Err(failed(
                    IncludeFailure::Missing,
                    "the project has no default branch, so it may be empty",
                    "a `ref` names another branch, a tag or a commit",
                ));
            }
            checkout => checkout?,
        };
        self.file_in(&checkout, file).await
    }

    /// Returns a local include of a file in another project.
    pub(super) async fn local(
        &self,
        path: &str,
        from: &FileHome,
    ) -> Result<IncludedFile, IncludeError> {
        match self.checkout_of(from)? {
            Some(checkout) => self.file_in(&checkout, path).await,
            None => Err(failed(
                IncludeFailure::Invalid,
                "a local file cannot be included from a file outside of any project",
                None,
            )),
        }
    }

    /// Returns all paths of the project of a file.
    pub(super) async fn paths(&self, home: &FileHome) -> Result<Paths, IncludeError> {
        match self.checkout_of(home)? {
            Some(checkout) => self.paths_in(&checkout).await,
            None => Ok(Paths::default()),
        }
    }

    /// Returns all paths of a project at a branch, tag or commit.
    pub(super) async fn paths_of(
        &self,
        project: &str,
        reference: Option<&str>,
    ) -> Result<Paths, IncludeError> {
        let project = self.project(project, &FileHome::Own)?;
        let checkout = self.checkout(project, reference).await?;
        self.paths_in(&checkout).await
    }

    async fn paths_in(&self, checkout: &Checkout) -> Result<Paths, IncludeError> {
        let question = Question::Tree {
            project: checkout.project.clone(),
            sha: checkout.sha.clone(),
        };
        let listing = self.asker.text(question).await?;
        let listing = listing.ok_or(IncludeError::Missing)?;
        Ok(listing.lines().map(str::to_owned).collect())
    }

    async fn file_in(&self, checkout: &Checkout, path: &str) -> Result<IncludedFile, IncludeError> {
        let Some(path) = file_path(path) else {
            return Err(failed(
                IncludeFailure::Invalid,
                "the path leads out of the project",
                None,
            ));
        };
        let text = self.text_in(checkout, &path).await?;
        Ok(IncludedFile {
            name: checkout.name_of(&path),
            text: text.ok_or(IncludeError::Missing)?.into(),
            home: checkout.home(),
            component: Vec::new(),
        })
    }

    /// Returns the text of a file; `None` if it does not exist.
    pub(super) async fn text_in(
        &self,
        checkout: &Checkout,
        path: &str,
    ) -> Result<Option<String>, IncludeError> {
        let question = Question::File {
            project: checkout.project.clone(),
            sha: checkout.sha.clone(),
            path: path.to_owned(),
        };
        self.asker.text(question).await
    }

    /// Finds the commit of a branch or tag, by default of the default branch.
    pub(super) async fn checkout(
        &self,
        project: ProjectAddress,
        reference: Option<&str>,
    ) -> Result<Checkout, IncludeError> {
        let reference = reference.filter(|name| *name != "HEAD");
        if let Some(sha) = reference.filter(|name| is_commit(name)) {
            let sha = sha.to_ascii_lowercase();
            return Ok(Checkout { project, sha });
        }
        let unknown = || {
            let name = reference.unwrap_or("HEAD");
            IncludeError::UnknownReference(name.to_owned())
        };
        if reference.is_some_and(|name| !is_plain(name)) {
            return Err(unknown());
        }
        let question = Question::Commit {
            project: project.clone(),
            reference: reference.map(str::to_owned),
        };
        let answer = self.asker.text(question).await?.ok_or_else(unknown)?;
        let sha = answer.trim();
        if !is_commit(sha) {
            return Err(failed(
                IncludeFailure::Unreadable,
                "the server's answer is not the id of a commit",
                None,
            ));
        }
        Ok(Checkout {
            project,
            sha: sha.to_ascii_lowercase(),
        })
    }

    /// Returns the checkout of a file, if it belongs to another project.
    fn checkout_of(&self, home: &FileHome) -> Result<Option<Checkout>, IncludeError> {
        let FileHome::Project { path, sha, .. } = home else {
            return Ok(None);
        };
        let project = self.project(path, home)?;
        let sha = sha.to_string();
        Ok(Some(Checkout { project, sha }))
    }
}
