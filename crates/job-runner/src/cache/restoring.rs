use super::files::cached_paths;
use super::fingerprint::{fingerprint, names_digest};
use super::job_cache::JobCache;
use super::planned::JobCaches;
use super::{CacheError, CacheKey, CacheStore, RestoredCache};
use crate::attempts;
use crate::directories::JobDirectory;
use crate::limit::abort_at;
use crate::panics::off_thread;
use crate::sources::Sources;
use crate::stages::Stages;
use executor_core::trace::JobTraceExt;
use executor_core::{BuildError, BuildStage, Cancellation, chain, counted};
use fail_point::fail_point;
use std::collections::BTreeSet;
use std::path::PathBuf;
use tokio::time::Instant;

/// The parameters of a restore.
#[derive(Debug, Clone, Copy)]
struct RestoreContext<'a> {
    store: &'a dyn CacheStore,
    project: &'a JobDirectory,
    setup: &'a Cancellation,
}

impl Stages<'_, '_> {
    /// Restores the caches of earlier jobs.
    ///
    /// # Errors
    ///
    /// When the job is stopped; a job runs without caches that cannot be restored.
    pub(crate) async fn restore_caches(&mut self, setup: &Cancellation) -> Result<(), BuildError> {
        if self.needs_helper() && self.build.options.keeps_caches() {
            return self.restore_caches_by_helper(setup).await;
        }
        let Some((store, project)) = self.cache_store() else {
            return Ok(());
        };
        let context = RestoreContext {
            store: &*store,
            project: &project,
            setup,
        };
        let mut caches = self.take_caches();
        if !caches.caches.is_empty() {
            let open = self.open(BuildStage::RestoreCache, None);
            self.restore_all(context, &mut caches).await;
            self.close(open, None, !setup.is_canceled());
        }
        self.caches = Some(caches);
        Ok(setup.check()?)
    }

    async fn restore_all(&mut self, context: RestoreContext<'_>, planned: &mut JobCaches) {
        let mut caches = std::mem::take(&mut planned.caches);
        for cache in &mut caches {
            if !cache.policy.pulls() {
                let text = format!("Not downloading cache {} due to policy", cache.key.shown());
                self.build.log.system_line(&text);
                continue;
            }
            let keys: Vec<CacheKey> = cache.keys().cloned().collect();
            for key in &keys {
                if context.setup.is_canceled()
                    || self.restore_from(context, planned, cache, key).await
                {
                    break;
                }
            }
        }
        planned.caches = caches;
    }

    /// Restores a cache from this key; returns whether no other key needs to be tried.
    async fn restore_from(
        &mut self,
        context: RestoreContext<'_>,
        planned: &JobCaches,
        cache: &mut JobCache,
        key: &CacheKey,
    ) -> bool {
        let log = self.log();
        log.system_line(&format!("Checking cache for {}...", key.shown()));
        let mut attempt = 1;
        loop {
            let own = context.setup.child();
            let until = Instant::now() + planned.settings.timeout;
            let restored =
                abort_at(self.restore_once(context, cache, key, &own), until, &own).await;
            let error = match restored {
                Ok(Restored::Whole) => return true,
                Ok(Restored::Nothing) => {
                    log.system_line(&format!("No cache found for {}", key.shown()));
                    return false;
                }
                Err(error) => error,
            };
            if context.setup.is_canceled() {
                return false;
            }
            let why = planned.settings.message(&error, &own);
            log.warning_line(&format!("cache {} is not restored: {why}", key.shown()));
            if attempt >= planned.attempts || matches!(error, CacheError::Damaged { .. }) {
                return false;
            }
            attempts::pause(attempts::pause_after(attempt), context.setup).await;
            attempt += 1;
        }
    }

    async fn restore_once(
        &mut self,
        context: RestoreContext<'_>,
        cache: &mut JobCache,
        key: &CacheKey,
        own: &Cancellation,
    ) -> Result<Restored, CacheError> {
        let exists = tokio::select! {
            exists = context.store.contains(key) => exists,
            _ = own.canceled() => return Err(CacheError::Stopped),
        };
        if !exists {
            return Ok(Restored::Nothing);
        }
        let before = self.paths_of(cache, context.project, own).await?;
        // The user's own tree has newer files than any archive of it.
        if matches!(self.build.options.sources, Sources::InPlace(_)) && !before.is_empty() {
            let text = "The files exist already: the job runs in the working tree itself";
            self.build.log.system_line(text);
            return Ok(Restored::Whole);
        }
        if !before.is_empty() {
            // Artifacts follow caches, so those in the sources are fetched again.
            self.build.shown_inputs.clear();
        }
        let restored = match context.store.restore(key, &context.project.host, own).await {
            Ok(Some(restored)) => restored,
            Ok(None) => return Ok(Restored::Nothing),
            Err(error) => {
                self.remove_partial(context, cache, before).await;
                return Err(error);
            }
        };
        let files = counted(restored.files, "file");
        let text = format!("Successfully extracted cache ({files})");
        self.build.log.system_line(&text);
        if *key == cache.key && cache.policy.pushes() {
            cache.restored = self.fingerprint_of(context, cache, &restored, own).await;
        }
        Ok(Restored::Whole)
    }

    /// Returns the fingerprint of the restored files, if they are all files of the cache's paths.
    async fn fingerprint_of(
        &mut self,
        context: RestoreContext<'_>,
        cache: &JobCache,
        restored: &RestoredCache,
        own: &Cancellation,
    ) -> Option<String> {
        let collected = self.files_of(cache, context.project, own).await;
        let paths = cached_paths(collected.ok()?);
        if names_digest(&paths) != restored.names {
            return None;
        }
        let project = context.project.host.clone();
        off_thread(move || fingerprint(&project, &paths))
            .await
            .flatten()
            .ok()
    }

    async fn paths_of(
        &mut self,
        cache: &JobCache,
        project: &JobDirectory,
        own: &Cancellation,
    ) -> Result<Vec<PathBuf>, CacheError> {
        let collected = self.files_of(cache, project, own).await;
        let collected = collected.map_err(|source| CacheError::Other {
            message: "find its files".to_owned(),
            source: Some(source.into()),
        })?;
        Ok(collected.paths)
    }

    /// Removes the files of a cache that was restored only in part: the job might behave neither as with the whole
    /// cache nor as without it, and would save it.
    async fn remove_partial(
        &mut self,
        context: RestoreContext<'_>,
        cache: &JobCache,
        before: Vec<PathBuf>,
    ) {
        let finalisation = self.build.cancellation.child_for_finalisation();
        let Ok(after) = self.paths_of(cache, context.project, &finalisation).await else {
            return;
        };
        let before: BTreeSet<PathBuf> = before.into_iter().collect();
        let new: Vec<PathBuf> = after
            .into_iter()
            .filter(|it| !before.contains(it))
            .collect();
        let project = context.project.clone();
        let removed = off_thread(move || {
            let mut paths = new.iter().map(|path| project.join(path));
            paths.try_for_each(|path| {
                fail_point!(
                    "job_runner::cache::remove_half",
                    process::remove_tree(&path)
                )
            })
        });
        if let Err(error) = removed.await.flatten() {
            let text = format!("part of a cache remains: {}", chain(&error));
            self.build.log.warning_line(&text);
        }
    }
}

/// The result of one attempt to restore a cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Restored {
    Whole,
    Nothing,
}
