use super::job_cache::JobCache;
use crate::artifacts::{CollectError, Collected, collect};
use crate::off_thread::off_thread;
use crate::stages::Stages;
use executor_core::{BuildError, Cancellation};
use std::path::Path;

impl Stages<'_, '_> {
    /// Finds what the paths of a cache hold now.
    pub(super) async fn files_of(
        &mut self,
        cache: &JobCache,
        project: &Path,
        cancellation: &Cancellation,
    ) -> Result<Collected, BuildError> {
        let untracked = self
            .untracked(cache.untracked, project, cancellation)
            .await?;
        let (directory, paths) = (project.to_owned(), cache.paths.clone());
        let collected = off_thread(move || collect(&directory, &paths, &untracked, &[])).await;
        let collected = collected.unwrap_or_else(|error| Err(CollectError::Directory(error)));
        collected.map_err(|error| BuildError::config(error.to_string()))
    }
}
