use super::error::LocalError;
use super::repository::{Git, GitError, GitRepository};
use super::situation::{Situation, describe};
use job_runner::{Head, RepositoryError, RepositoryFacts};
use pipeline::context::{GivenVariable, PipelineContext};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// What is around the text of a pipeline: the repository, the situation and the variables that are
/// given. Nothing is looked at before somebody asks.
#[derive(Debug)]
pub(super) struct Surroundings {
    git: Arc<Git>,
    repository: Arc<GitRepository>,
    situation: Situation,
    /// The pipeline file.
    file: PathBuf,
    given: Vec<GivenVariable>,
    described: OnceLock<Known>,
}

#[derive(Debug)]
struct Known {
    context: PipelineContext,
    notes: Vec<String>,
}

impl Surroundings {
    pub(super) fn new(
        root: &Path,
        file: &Path,
        situation: Situation,
        given: Vec<GivenVariable>,
    ) -> Self {
        let git = Arc::new(Git::new(root));
        let repository = Arc::new(GitRepository::with_git(Arc::clone(&git)));
        Self {
            git,
            repository,
            situation,
            file: file.to_owned(),
            given,
            described: OnceLock::new(),
        }
    }

    /// Begins to look at the repository, beside what the caller does meanwhile.
    pub(super) fn look_ahead(&self) {
        if self.described.get().is_none() {
            self.git.describe_ahead();
        }
    }

    /// Returns the repository, which knows of the situation once [`Self::context`] was asked for.
    pub(super) fn repository(&self) -> &Arc<GitRepository> {
        &self.repository
    }

    /// Returns what the jobs know.
    pub(super) fn context(&self) -> Result<&PipelineContext, LocalError> {
        Ok(&self.known()?.context)
    }

    /// Returns where the simulation differs from what there is.
    pub(super) fn notes(&self) -> Result<&[String], LocalError> {
        Ok(&self.known()?.notes)
    }

    fn known(&self) -> Result<&Known, LocalError> {
        if let Some(known) = self.described.get() {
            return Ok(known);
        }
        let facts = self.facts()?;
        let described = describe(&self.situation, &facts, &self.git, &self.file)?;
        self.repository.situate(described.situated);
        let mut context = described.context;
        context.given.clone_from(&self.given);
        let known = Known {
            context,
            notes: described.notes,
        };
        Ok(self.described.get_or_init(|| known))
    }

    fn facts(&self) -> Result<RepositoryFacts, GitError> {
        match self.git.describe() {
            // A pipeline can be looked at anywhere, if not run.
            Err(GitError::Repository(RepositoryError::None { .. })) => Ok(RepositoryFacts {
                toplevel: self.git.root().to_owned(),
                head: Head::Detached,
                commit: None,
                remote_url: None,
                default_branch: None,
            }),
            described => described,
        }
    }
}
