use crate::error::LocalError;
use crate::project::repository::{BlockingGit, BlockingGitError, GitRepository};
use crate::project::situation::{Described, Situation, SituationRef, describe};
use crate::remote::{GitLabVariables, Outside, Protection, Taken};
use executor_core::variable::JobVariables;
use git::{Head, RepositoryError, RepositoryFacts, glance};
use pipeline::context::{ExternalVariable, PipelineContext};
use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// The context of a pipeline file: the repository, the situation and the variables. Everything is read when it is
/// first needed.
#[derive(Debug)]
pub(crate) struct ProjectContext {
    git: Arc<BlockingGit>,
    repository: Arc<GitRepository>,
    situation: Situation,
    /// The pipeline file.
    file: PathBuf,
    external: Vec<ExternalVariable>,
    /// The names of variables that no job has.
    unset: BTreeSet<String>,
    /// Access to servers, which may know the project's GitLab.
    outside: Option<Arc<Outside>>,
    /// The variables of a GitLab, if they are used.
    gitlab: Option<GitLabVariables>,
    described: OnceLock<Known>,
}

#[derive(Debug)]
struct Known {
    context: PipelineContext,
    notes: Vec<String>,
    has_commit: bool,
}

impl ProjectContext {
    pub(crate) fn new(
        root: &Path,
        file: &Path,
        situation: Situation,
        external: Vec<ExternalVariable>,
    ) -> Self {
        let git = Arc::new(BlockingGit::new(root));
        let repository = Arc::new(GitRepository::with_git(Arc::clone(&git)));
        Self {
            git,
            repository,
            situation,
            file: file.to_owned(),
            external,
            unset: BTreeSet::new(),
            outside: None,
            gitlab: None,
            described: OnceLock::new(),
        }
    }

    /// Removes variables, whatever sets them.
    pub(crate) fn unset(&mut self, names: BTreeSet<String>) {
        self.unset = names;
    }

    /// Adds access to servers.
    pub(crate) fn add_outside(&mut self, outside: &Arc<Outside>) {
        self.outside = Some(Arc::clone(outside));
    }

    /// Adds the variables of a GitLab, which are requested when needed.
    pub(crate) fn add_gitlab(&mut self, gitlab: GitLabVariables) {
        self.gitlab = Some(gitlab);
    }

    /// Returns git in this working tree.
    pub(crate) fn git(&self) -> &Arc<BlockingGit> {
        &self.git
    }

    /// Returns the changed files that the user named.
    pub(crate) fn named_changes(&self) -> Option<&[String]> {
        self.situation.changes.as_deref()
    }

    /// Starts to read the repository in the background.
    pub(crate) fn look_ahead(&self) {
        if self.described.get().is_none() {
            self.git.describe_ahead();
        }
    }

    /// Returns the repository, which has the situation after [`Self::context`].
    pub(crate) fn repository(&self) -> &Arc<GitRepository> {
        &self.repository
    }

    /// Returns the context of the jobs.
    pub(crate) fn context(&self) -> Result<&PipelineContext, LocalError> {
        Ok(&self.known()?.context)
    }

    /// Returns the variables before there is a pipeline, without starting git if possible: those of
    /// [`names_commit_variables`] are then empty.
    pub(crate) fn variables_at_a_glance(&self) -> Result<JobVariables, LocalError> {
        if let Some(known) = self.described.get() {
            return Ok(known.context.pre_pipeline_variables());
        }
        let needs_git = match self.situation.reference {
            SituationRef::CheckedOut | SituationRef::Branch(_) => false,
            SituationRef::Tag(_) | SituationRef::MergeRequest { .. } => true,
        };
        let needs_git = needs_git
            || self.gitlab.is_some()
            || self
                .external
                .iter()
                .any(|it| names_commit_variables(&it.variable.value));
        let Some(facts) = glance(self.git.root()).filter(|_| !needs_git) else {
            return Ok(self.context()?.pre_pipeline_variables());
        };
        let described = self.describe(&facts)?;
        self.repository.situate(described.situated);
        let mut context = described.context;
        context.external.clone_from(&self.external);
        context.unset.clone_from(&self.unset);
        Ok(context.pre_pipeline_variables())
    }

    /// Returns the variables from outside, without those of a GitLab.
    pub(crate) fn external(&self) -> &[ExternalVariable] {
        &self.external
    }

    /// Returns where the simulation differs from the repository.
    pub(crate) fn notes(&self) -> Result<&[String], LocalError> {
        Ok(&self.known()?.notes)
    }

    /// Returns whether a commit is checked out.
    pub(crate) fn has_commit(&self) -> Result<bool, LocalError> {
        Ok(self.known()?.has_commit)
    }

    fn known(&self) -> Result<&Known, LocalError> {
        if let Some(known) = self.described.get() {
            return Ok(known);
        }
        let facts = self.facts()?;
        let described = self.describe(&facts)?;
        self.repository.situate(described.situated);
        let mut context = described.context;
        let mut notes = described.notes;
        let remote = facts.remote_url.as_deref();
        let taken = match &self.gitlab {
            Some(gitlab) => gitlab.take(remote, &context, &self.external)?,
            None => Taken::default(),
        };
        notes.extend(taken.notes);
        protect(&mut context, &taken.protection);
        context.unset.clone_from(&self.unset);
        context.external = taken.variables;
        context.external.extend(self.external.iter().cloned());
        notes.extend(note_of_protected(&context, &taken.protection));
        if context.is_skipped() {
            notes.push(SKIPPED.to_owned());
        }
        let known = Known {
            context,
            notes,
            has_commit: facts.commit.is_some(),
        };
        Ok(self.described.get_or_init(|| known))
    }

    fn describe(&self, facts: &RepositoryFacts) -> Result<Described, BlockingGitError> {
        let outside = self.outside.as_ref();
        let remote = facts.remote_url.as_deref();
        let server = outside.and_then(|outside| outside.own_server(remote));
        describe(
            &self.situation,
            facts,
            server.as_ref(),
            &self.git,
            &self.file,
        )
    }

    fn facts(&self) -> Result<RepositoryFacts, BlockingGitError> {
        match self.git.describe() {
            // A pipeline can be read anywhere, though not run.
            Err(BlockingGitError::Repository(RepositoryError::None { .. })) => {
                Ok(RepositoryFacts {
                    toplevel: self.git.root().to_owned(),
                    head: Head::Detached,
                    commit: None,
                    remote_url: None,
                    default_branch: None,
                })
            }
            described => described,
        }
    }
}

/// Sets whether the pipeline's branches and tags are protected.
fn protect(context: &mut PipelineContext, protection: &Protection) {
    context.commit.is_protected = protection.is_protected();
    if let Some(request) = &mut context.merge_request {
        request.source.is_protected = protection.of(0);
        request.target.is_protected = protection.of(1);
    }
}

/// Returns a note about variables that are left out because they are protected.
fn note_of_protected(context: &PipelineContext, protection: &Protection) -> Option<String> {
    let protected = context.external.iter().filter(|given| given.is_protected);
    let mut seen = HashSet::new();
    let names = protected.map(|given| &*given.variable.key);
    let names: Vec<&str> = names.filter(|name| seen.insert(*name)).collect();
    protection.note(&names)
}

/// The note about a commit without a pipeline.
const SKIPPED: &str = "the commit message has `[ci skip]`, so GitLab skips all jobs after a push; here they can \
                       run";

/// Prefixes of variables that only git knows.
const COMMIT_PREFIXES: [&str; 7] = [
    "CI_COMMIT_AUTHOR",
    "CI_COMMIT_DESCRIPTION",
    "CI_COMMIT_MESSAGE",
    "CI_COMMIT_TIMESTAMP",
    "CI_COMMIT_TITLE",
    "CI_COMMIT_USER",
    "GITLAB_USER_",
];

/// Returns whether a text names variables that only git knows.
pub(crate) fn names_commit_variables(text: &str) -> bool {
    COMMIT_PREFIXES.iter().any(|name| text.contains(name))
}
