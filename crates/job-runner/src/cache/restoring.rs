use super::files::kept;
use super::in_time::in_time;
use super::job_cache::JobCache;
use super::look::{look, names};
use super::planned::JobCaches;
use super::{CacheError, CacheKey, CacheStore, RestoredCache};
use crate::attempts;
use crate::job_directory::JobDirectory;
use crate::off_thread::off_thread;
use crate::sources::Sources;
use crate::stages::Stages;
use executor_core::trace::JobTraceExt;
use executor_core::{BuildError, BuildStage, Cancellation, chain};
use fail_point::fail_point;
use std::collections::BTreeSet;
use std::path::PathBuf;
use tokio::time::Instant;

/// Where caches come from and go to.
#[derive(Debug, Clone, Copy)]
struct Way<'a> {
    store: &'a dyn CacheStore,
    project: &'a JobDirectory,
    setup: &'a Cancellation,
}

impl Stages<'_, '_> {
    /// Puts the files of earlier jobs where the job's sources are, as far as there are any.
    ///
    /// # Errors
    ///
    /// When the job is stopped; a job without its caches goes on.
    pub(crate) async fn restore_caches(&mut self, setup: &Cancellation) -> Result<(), BuildError> {
        let Some((store, project)) = self.cache_store() else {
            return Ok(());
        };
        let way = Way {
            store: &*store,
            project: &project,
            setup,
        };
        let mut caches = self.take_caches();
        if !caches.caches.is_empty() {
            let open = self.open(BuildStage::RestoreCache, None);
            self.restore_all(way, &mut caches).await;
            self.close(open, None, !setup.is_canceled());
        }
        self.caches = Some(caches);
        Ok(setup.check()?)
    }

    async fn restore_all(&mut self, way: Way<'_>, planned: &mut JobCaches) {
        let mut caches = std::mem::take(&mut planned.caches);
        for cache in &mut caches {
            if !cache.policy.pulls() {
                let text = format!("Not downloading cache {} due to policy", cache.key.shown());
                self.build.log.system_line(&text);
                continue;
            }
            let keys: Vec<CacheKey> = cache.keys().cloned().collect();
            for key in &keys {
                if way.setup.is_canceled() || self.restore_from(way, planned, cache, key).await {
                    break;
                }
            }
        }
        planned.caches = caches;
    }

    /// Restores a cache from this key; returns whether there is nothing left to look for.
    async fn restore_from(
        &mut self,
        way: Way<'_>,
        planned: &JobCaches,
        cache: &mut JobCache,
        key: &CacheKey,
    ) -> bool {
        let log = self.log();
        log.system_line(&format!("Checking cache for {}...", key.shown()));
        let mut attempt = 1;
        loop {
            let own = way.setup.child();
            let until = Instant::now() + planned.settings.timeout;
            let restored = in_time(self.restore_once(way, cache, key, &own), until, &own).await;
            let error = match restored {
                Ok(Restored::Whole) => return true,
                Ok(Restored::Nothing) => {
                    log.system_line(&format!("No cache found for {}", key.shown()));
                    return false;
                }
                Err(error) => error,
            };
            if way.setup.is_canceled() {
                return false;
            }
            let why = planned.settings.told(&error, &own);
            log.warning_line(&format!("cache {} is not restored: {why}", key.shown()));
            if attempt >= planned.attempts || matches!(error, CacheError::Damaged { .. }) {
                return false;
            }
            attempts::rest(attempts::rest_after(attempt), way.setup).await;
            attempt += 1;
        }
    }

    async fn restore_once(
        &mut self,
        way: Way<'_>,
        cache: &mut JobCache,
        key: &CacheKey,
        own: &Cancellation,
    ) -> Result<Restored, CacheError> {
        if !way.store.contains(key).await {
            return Ok(Restored::Nothing);
        }
        let before = self.paths_of(cache, way.project, own).await?;
        // What lies in the user's own tree is newer than any archive of it.
        if matches!(self.build.options.sources, Sources::InPlace(_)) && !before.is_empty() {
            let text = "The files are there already: the job runs in the working tree itself";
            self.build.log.system_line(text);
            return Ok(Restored::Whole);
        }
        if !before.is_empty() {
            // Artifacts come after caches: those that came with the sources come once more.
            self.build.shown_inputs.clear();
        }
        let restored = match way.store.restore(key, &way.project.host, own).await {
            Ok(Some(restored)) => restored,
            Ok(None) => return Ok(Restored::Nothing),
            Err(error) => {
                self.remove_half(way, cache, before).await;
                return Err(error);
            }
        };
        let text = format!("Successfully extracted cache ({} files)", restored.files);
        self.build.log.system_line(&text);
        if *key == cache.key && cache.policy.pushes() {
            cache.restored = self.look_after(way, cache, &restored, own).await;
        }
        Ok(Restored::Whole)
    }

    /// Returns what the restored files look like, if they are all that the cache's paths hold.
    async fn look_after(
        &mut self,
        way: Way<'_>,
        cache: &JobCache,
        restored: &RestoredCache,
        own: &Cancellation,
    ) -> Option<String> {
        let collected = self.files_of(cache, way.project, own).await;
        let paths = kept(collected.ok()?);
        if names(&paths) != restored.names {
            return None;
        }
        let project = way.project.host.clone();
        off_thread(move || look(&project, &paths))
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
            message: "look for its files".to_owned(),
            source: Some(source.into()),
        })?;
        Ok(collected.paths)
    }

    /// Takes away what came of a cache that could not be restored as a whole: with half of it the job
    /// might do what it would do with none or all of it, and would save it.
    async fn remove_half(&mut self, way: Way<'_>, cache: &JobCache, before: Vec<PathBuf>) {
        let finalisation = self.build.cancellation.child_for_finalisation();
        let Ok(after) = self.paths_of(cache, way.project, &finalisation).await else {
            return;
        };
        let before: BTreeSet<PathBuf> = before.into_iter().collect();
        let new: Vec<PathBuf> = after
            .into_iter()
            .filter(|it| !before.contains(it))
            .collect();
        let project = way.project.clone();
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
            let text = format!("half of a cache is left: {}", chain(&error));
            self.build.log.warning_line(&text);
        }
    }
}

/// What became of one look for a cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Restored {
    Whole,
    Nothing,
}
