//! The caches of jobs: where they are, whose they are and how much room they may have.

use crate::history::state::StateDir;
use crate::remote::{Outside, RemoteError};
use crate::settings::SettingsError;
use job_runner::{CacheStore, LocalCaches};
use pipeline::Plan;
use std::path::Path;
use std::sync::Arc;

impl StateDir {
    /// Returns the caches that jobs have left, of all projects: to list and remove them.
    pub fn caches(&self) -> LocalCaches {
        LocalCaches::at(self.path().join("caches"))
    }
}

/// Returns where the jobs of a plan keep caches; `None` when there are none, or the user wants none.
///
/// # Errors
///
/// When what the user wants cannot be read.
pub(crate) fn of_plan(
    plan: &Plan,
    outside: &Outside,
    state: &StateDir,
    root: &Path,
) -> Result<Option<Arc<dyn CacheStore>>, SettingsError> {
    let mut jobs = plan.jobs().iter();
    let has_caches = jobs.any(|job| job.definition.cache.iter().flatten().next().is_some());
    if !has_caches {
        return Ok(None);
    }
    let size = match outside.settings() {
        Ok(settings) => settings.cache.size,
        Err(RemoteError::Settings(error)) => return Err(error),
        // What else may be wrong is wrong with where a GitLab is.
        Err(_) => None,
    };
    let budget = size.unwrap_or(LocalCaches::DEFAULT_BUDGET);
    if budget == 0 {
        return Ok(None);
    }
    let caches = state.caches().of_project(project_name(root)).budget(budget);
    Ok(Some(Arc::new(caches)))
}

/// Returns what tells a project from all others: where its history is, so that worktrees of one
/// repository share their caches, and nobody gets at those of another by what his files say.
pub(crate) fn project_name(root: &Path) -> String {
    let history = git::common_dir(root);
    let path = match &history {
        Some(history) if history.ends_with(".git") => history.parent().unwrap_or(history),
        Some(history) => history,
        None => root,
    };
    // Bytes that are no text stay apart from each other.
    path.to_str().map_or_else(
        || format!("{}", path.as_os_str().as_encoded_bytes().escape_ascii()),
        ToOwned::to_owned,
    )
}

/// Removes what killed runs have left half written.
pub(crate) async fn sweep(state: &StateDir) {
    let caches = state.caches();
    if caches.has_leftovers() {
        // What cannot be removed now waits for the next.
        let _ = tokio::task::spawn_blocking(move || caches.sweep()).await;
    }
}
