//! The caches of jobs: their directory, their project and their size limit.

use crate::history::state::StateDir;
use crate::remote::{Outside, RemoteError};
use crate::settings::SettingsError;
use job_runner::{CacheStore, LocalCaches};
use pipeline::Plan;
use std::path::Path;
use std::sync::Arc;

impl StateDir {
    /// Returns the caches of all projects, to list and remove them.
    pub fn caches(&self) -> LocalCaches {
        LocalCaches::at(self.path().join("caches"))
    }
}

/// Returns the caches for the jobs of a plan; `None` if no job has any, or the settings turn them off.
///
/// # Errors
///
/// When the settings cannot be read.
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
        // Any other error is about the GitLab server, which caches do not need.
        Err(_) => None,
    };
    let budget = size.unwrap_or(LocalCaches::DEFAULT_BUDGET);
    if budget == 0 {
        return Ok(None);
    }
    let caches = state.caches().of_project(project_name(root)).budget(budget);
    Ok(Some(Arc::new(caches)))
}

/// Returns the unique name of a project: the path of its Git history. Worktrees of one repository share their
/// caches, and no file of a project can name another project's caches.
pub(crate) fn project_name(root: &Path) -> String {
    let history = git::common_dir(root);
    let path = match &history {
        Some(history) if history.ends_with(".git") => history.parent().unwrap_or(history),
        Some(history) => history,
        None => root,
    };
    // Escaped, so that different paths that are not text stay different.
    path.to_str().map_or_else(
        || format!("{}", path.as_os_str().as_encoded_bytes().escape_ascii()),
        ToOwned::to_owned,
    )
}

/// Removes caches that killed runs left incomplete.
pub(crate) async fn sweep(state: &StateDir) {
    let caches = state.caches();
    if caches.has_leftovers() {
        // What cannot be removed now is left for the next run.
        let _ = tokio::task::spawn_blocking(move || caches.sweep()).await;
    }
}
