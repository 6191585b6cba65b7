use super::open::Outside;
use crate::project::includes::LocalIncludes;
use crate::project::project_context::{ProjectContext, names_commit_variables};
use includes::{OwnProject, RemoteIncludes};
use pipeline::include::{
    FileHome, IncludeError, IncludeLocation, IncludeRequest, IncludeSource, IncludedFile,
};
use pipeline::repository::Paths;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Finds all included files of a project: those of the working tree, and remote ones.
#[derive(Debug)]
pub(crate) struct ProjectIncludes<'s> {
    tree: Arc<LocalIncludes>,
    outside: &'s Outside,
    project_context: &'s ProjectContext,
    /// Whether a fetched file names variables of the commit.
    has_commit_variables: AtomicBool,
}

impl<'s> ProjectIncludes<'s> {
    /// Returns the files of the working tree and of servers.
    pub(crate) fn new(
        tree: LocalIncludes,
        outside: &'s Outside,
        project_context: &'s ProjectContext,
    ) -> Self {
        Self {
            tree: Arc::new(tree),
            outside,
            project_context,
            has_commit_variables: AtomicBool::new(false),
        }
    }

    /// Returns the files of the working tree.
    pub(crate) fn tree(&self) -> &LocalIncludes {
        &self.tree
    }

    /// Returns whether a file names variables that only git knows.
    pub(crate) fn has_commit_variables(&self) -> bool {
        self.has_commit_variables.load(Ordering::Relaxed) || self.tree.has_commit_variables()
    }

    /// Fetches files that are not in the working tree.
    fn fetch_remote(&self, requests: &[IncludeRequest]) -> Vec<Result<IncludedFile, IncludeError>> {
        let remote = match self.outside.remote_includes() {
            Ok(remote) => remote,
            Err(error) => return requests.iter().map(|_| Err(error.clone())).collect(),
        };
        let is_component = |request: &IncludeRequest| {
            matches!(request.location, IncludeLocation::Component { .. })
        };
        if requests.iter().any(is_component) {
            self.set_own_project(remote);
        }
        let found = remote.fetch(requests);
        let mut files = found.iter().flatten();
        if files.any(|file| names_commit_variables(&file.text)) {
            self.has_commit_variables.store(true, Ordering::Relaxed);
        }
        found
    }

    /// Makes the components of the working tree available.
    fn set_own_project(&self, remote: &RemoteIncludes) {
        // Without a repository there is no commit that a component could name.
        let Ok(variables) = self.project_context.variables_at_a_glance() else {
            return;
        };
        let known = |name| variables.get(name).unwrap_or_default().to_owned();
        remote.set_own(OwnProject {
            path: known("CI_PROJECT_PATH"),
            sha: known("CI_COMMIT_SHA"),
            reference: known("CI_COMMIT_REF_NAME"),
            files: Arc::clone(&self.tree) as Arc<dyn IncludeSource>,
        });
    }
}

impl IncludeSource for ProjectIncludes<'_> {
    fn paths(&self, home: &FileHome) -> Result<Paths, IncludeError> {
        match home {
            FileHome::Own | FileHome::NoProject => self.tree.paths(home),
            FileHome::Project { .. } => self.outside.remote_includes()?.paths(home),
        }
    }

    fn fetch(&self, requests: &[IncludeRequest]) -> Vec<Result<IncludedFile, IncludeError>> {
        let (local, remote): (Vec<_>, Vec<_>) = requests.iter().cloned().partition(is_in_the_tree);
        let mut local = self.tree.fetch(&local).into_iter();
        let mut remote = match remote.as_slice() {
            [] => Vec::new(),
            requests => self.fetch_remote(requests),
        }
        .into_iter();
        let found = requests.iter().map(|request| {
            let next = if is_in_the_tree(request) {
                local.next()
            } else {
                remote.next()
            };
            next.unwrap_or(Err(IncludeError::Missing))
        });
        found.collect()
    }
}

/// Returns whether a request is for a file of the working tree or an artifact.
fn is_in_the_tree(request: &IncludeRequest) -> bool {
    match &request.location {
        IncludeLocation::Local { .. } => request.from == FileHome::Own,
        IncludeLocation::Artifact { .. } => true,
        _ => false,
    }
}
