use super::CacheStore;
use super::job_cache::{CacheContext, JobCache};
use super::settings::CacheSettings;
use crate::attempts;
use crate::directories::JobDirectory;
use crate::stages::Stages;
use executor_core::trace::JobTraceExt;
use std::sync::Arc;

/// The caches of a job with an environment.
#[derive(Debug)]
pub(crate) struct JobCaches {
    pub(super) caches: Vec<JobCache>,
    pub(super) settings: CacheSettings,
    /// The number of attempts to restore a cache.
    pub(super) attempts: u32,
}

impl Stages<'_, '_> {
    /// Takes the caches of the job; the caller puts them back. The first call logs their warnings.
    pub(super) fn take_caches(&mut self) -> JobCaches {
        match self.caches.take() {
            Some(caches) => caches,
            None => self.plan_caches(),
        }
    }

    /// Returns the store of caches, if the job has any and the runner reaches its files.
    pub(super) fn cache_store(&self) -> Option<(Arc<dyn CacheStore>, JobDirectory)> {
        let store = self.build.options.caches.clone()?;
        let project = self.job_directory()?;
        (!self.build.job.cache.is_empty()).then_some((store, project))
    }

    fn plan_caches(&self) -> JobCaches {
        let (settings, mut warnings) = CacheSettings::read(&self.expanded);
        let job = &self.build.job;
        let default_key = format!("{}/{}", job.job_info.name, job.git_info.ref_name);
        let sight = CacheContext {
            default_key: &default_key,
            global_fallback: self.expanded.get("CACHE_FALLBACK_KEY").unwrap_or_default(),
            variables: &self.expanded,
        };
        let expand = |text: &str| {
            let expanded = self.expand_all("a text of a cache", &[text.to_owned()]);
            let expanded = expanded.map_err(|error| error.chain())?;
            Ok(expanded.into_iter().next().unwrap_or_default())
        };
        let caches = job.cache.iter();
        let caches = caches.filter_map(|it| JobCache::new(it, &sight, expand, &mut warnings));
        let caches: Vec<JobCache> = caches.collect();
        let (attempts, warning) = attempts::read(&self.expanded, "RESTORE_CACHE_ATTEMPTS");
        warnings.extend(warning);
        warnings.dedup();
        for warning in &warnings {
            self.build.log.warning_line(warning);
        }
        JobCaches {
            caches,
            settings,
            attempts,
        }
    }
}
