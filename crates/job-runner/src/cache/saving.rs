use super::files::cached_paths;
use super::fingerprint::fingerprint;
use super::job_cache::JobCache;
use super::settings::CacheSettings;
use super::{CacheError, CacheFiles, CacheStore, SavedCache};
use crate::directories::JobDirectory;
use crate::limit::abort_at;
use crate::panics::off_thread;
use crate::stages::Stages;
use executor_core::job::ArtifactWhen;
use executor_core::trace::JobTraceExt;
use executor_core::{BuildError, BuildStage, Cancellation};
use std::time::Duration;
use tokio::time::Instant;

impl Stages<'_, '_> {
    /// Saves the caches that are due after this result of the scripts.
    ///
    /// # Errors
    ///
    /// When the environment cannot run its script for it; all others are warnings.
    pub(crate) async fn archive_caches(&mut self, succeeded: bool) -> Result<(), BuildError> {
        if self.needs_helper() && self.build.options.keeps_caches() {
            return self.archive_caches_by_helper(succeeded).await;
        }
        self.archive_caches_here(succeeded).await;
        Ok(())
    }

    async fn archive_caches_here(&mut self, succeeded: bool) {
        let Some((store, project)) = self.cache_store() else {
            return;
        };
        let planned = self.take_caches();
        let due: Vec<&JobCache> = planned
            .caches
            .iter()
            .filter(|it| it.is_due(succeeded))
            .collect();
        if due.is_empty() {
            return;
        }
        let stage = if succeeded {
            BuildStage::ArchiveCache
        } else {
            BuildStage::ArchiveCacheOnFailure
        };
        let open = self.open(stage, None);
        let finalisation = self.build.cancellation.child_for_finalisation();
        let mut all_saved = true;
        for cache in due {
            if finalisation.is_canceled() {
                all_saved = false;
                break;
            }
            if !cache.policy.pushes() {
                let text = format!("Not uploading cache {} due to policy", cache.key.shown());
                self.build.log.system_line(&text);
                continue;
            }
            let own = finalisation.child();
            let until = self.cache_ends(succeeded, planned.settings.timeout);
            let saved = self.archive_cache(&*store, &project, cache, &planned.settings, &own);
            if let Err(error) = abort_at(saved, until, &own).await {
                let why = planned.settings.message(&error, &own);
                let text = format!("cache {} is not saved: {why}", cache.key.shown());
                self.build.log.warning_line(&text);
                all_saved = false;
            }
        }
        self.close(open, None, all_saved);
    }

    /// Returns the moment by which the next cache must be saved.
    fn cache_ends(&self, succeeded: bool, timeout: Duration) -> Instant {
        let mut artifacts = self.build.job.artifacts.iter();
        let follow = self.build.options.artifacts.is_some()
            && artifacts.any(|it| match it.when {
                ArtifactWhen::OnSuccess => succeeded,
                ArtifactWhen::OnFailure => !succeeded,
                ArtifactWhen::Always => true,
            });
        let now = Instant::now();
        let remaining = self.settings.deadlines.end().saturating_duration_since(now);
        now + share(remaining, timeout, follow)
    }

    async fn archive_cache(
        &mut self,
        store: &dyn CacheStore,
        project: &JobDirectory,
        cache: &JobCache,
        settings: &CacheSettings,
        own: &Cancellation,
    ) -> Result<(), CacheError> {
        let log = self.log();
        log.system_line(&format!("Creating cache {}...", cache.key.shown()));
        let collected = self.files_of(cache, project, own).await;
        let collected = collected.map_err(|source| CacheError::Other {
            message: "find its files".to_owned(),
            source: Some(source.into()),
        })?;
        for warning in &collected.warnings {
            log.warning_line(warning);
        }
        for (pattern, count) in &collected.found {
            if *count == 0 {
                log.warning_line(&format!("{pattern}: no matching files"));
            } else {
                log.system_line(&format!("{pattern}: found {count} matching files"));
            }
        }
        if collected.paths.is_empty() {
            log.system_line("No files to cache");
            return Ok(());
        }
        let paths = cached_paths(collected);
        let (directory, files) = (project.host.clone(), paths.clone());
        let fingerprint = off_thread(move || fingerprint(&directory, &files))
            .await
            .flatten();
        let files = CacheFiles {
            project: project.host.clone(),
            paths,
            are_as_restored: cache.restored.is_some() && cache.restored == fingerprint.ok(),
            format: settings.format,
            level: settings.level,
        };
        match store.save(&cache.key, files, own).await? {
            SavedCache::UpToDate => log.system_line("Archive is up to date!"),
            SavedCache::Created { skipped, .. } => {
                for skipped in &skipped {
                    log.warning_line(&format!("not in the cache: {skipped}"));
                }
                log.system_line("Created cache");
            }
        }
        Ok(())
    }
}

/// Returns the part of the job's remaining time that a cache may take; artifacts may follow and need some of it.
fn share(remaining: Duration, timeout: Duration, artifacts_follow: bool) -> Duration {
    let remaining = if artifacts_follow {
        remaining / 4 * 3
    } else {
        remaining
    };
    remaining.min(timeout)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cache_leaves_time_for_artifacts() {
        let check = |remaining, timeout, follow, expect| {
            let share = share(
                Duration::from_secs(remaining),
                Duration::from_secs(timeout),
                follow,
            );
            assert_eq!(share, Duration::from_secs(expect));
        };
        check(100, 600, false, 100);
        check(100, 600, true, 75);
        check(9000, 600, true, 600);
        check(0, 600, true, 0);
    }
}
