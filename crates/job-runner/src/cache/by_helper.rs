//! Caches of environments in which only scripts reach the files.

use super::job_cache::JobCache;
use super::planned::JobCaches;
use super::settings::CacheSettings;
use crate::exchange::{HelperCache, HelperCacheSettings};
use crate::limit::within;
use crate::stages::Stages;
use executor_core::trace::JobTraceExt;
use executor_core::{BuildError, BuildStage, Cancellation};

impl Stages<'_, '_> {
    /// Runs the script that restores caches.
    ///
    /// # Errors
    ///
    /// When the script cannot be run, or the job is stopped. A cache that cannot be restored is no failure.
    pub(super) async fn restore_caches_by_helper(
        &mut self,
        setup: &Cancellation,
    ) -> Result<(), BuildError> {
        let planned = self.take_caches();
        let wanted = self.helper_caches(&planned, "downloading", |it| it.policy.pulls());
        let settings = planned.settings.into();
        let attempts = planned.attempts;
        self.caches = Some(planned);
        if wanted.is_empty() {
            return Ok(());
        }
        self.restore_by_helper(&wanted, settings, attempts, setup)
            .await
    }

    /// Runs the script that saves the caches that are due after this result of the scripts.
    ///
    /// # Errors
    ///
    /// When the script cannot be run. A cache that cannot be saved is no failure.
    pub(super) async fn archive_caches_by_helper(
        &mut self,
        succeeded: bool,
    ) -> Result<(), BuildError> {
        let mut planned = self.take_caches();
        planned.caches.retain(|it| it.is_due(succeeded));
        let wanted = self.helper_caches(&planned, "uploading", |it| it.policy.pushes());
        if wanted.is_empty() {
            return Ok(());
        }
        let stage = if succeeded {
            BuildStage::ArchiveCache
        } else {
            BuildStage::ArchiveCacheOnFailure
        };
        let finalisation = self.build.cancellation.child_for_finalisation();
        let end = self
            .settings
            .job_limit(self.settings.deadlines.end(), &finalisation);
        let settings = planned.settings.into();
        let saving = self.save_by_helper(stage, &wanted, settings, &finalisation);
        within(saving, vec![end]).await
    }

    fn helper_caches(
        &self,
        planned: &JobCaches,
        verb: &str,
        is_wanted: impl Fn(&JobCache) -> bool,
    ) -> Vec<HelperCache> {
        let (wanted, others): (Vec<_>, Vec<_>) =
            planned.caches.iter().partition(|it| is_wanted(it));
        for cache in others {
            let text = format!("Not {verb} cache {} due to policy", cache.key.shown());
            self.build.log.system_line(&text);
        }
        let cache = |cache: &JobCache| HelperCache {
            keys: cache.keys().cloned().collect(),
            paths: cache.paths.clone(),
            untracked: cache.untracked,
        };
        wanted.into_iter().map(cache).collect()
    }
}

impl From<CacheSettings> for HelperCacheSettings {
    fn from(settings: CacheSettings) -> Self {
        Self {
            format: settings.format,
            level: settings.level,
            timeout: settings.timeout,
        }
    }
}
