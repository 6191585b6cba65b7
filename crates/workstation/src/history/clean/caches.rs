use super::{Cleaning, Fate, Removable, RemovableKind};
use crate::error::LocalError;
use crate::run::caches::project_name;
use jiff::Timestamp;
use job_runner::{LocalCacheEntry, LocalCaches, RemovedCache};
use std::error::Error;
use std::path::PathBuf;

pub(super) fn clean(cleaning: &Cleaning<'_>) -> Result<Vec<Removable>, LocalError> {
    let caches = cleaning.state.caches();
    let wanted = cleaning.project.map(|it| project_name(it.root()));
    let mut found = Vec::new();
    for entry in caches.entries()? {
        let used = Timestamp::try_from(entry.used).unwrap_or(Timestamp::MIN);
        let is_meant = wanted
            .as_ref()
            .is_none_or(|wanted| *wanted == entry.project);
        if is_meant && cleaning.is_old_enough(used) {
            let fate = fate(cleaning, &caches, &entry);
            found.push(Removable {
                kind: RemovableKind::Cache,
                name: entry.key,
                project: Some(PathBuf::from(entry.project)),
                bytes: entry.size,
                fate,
            });
        }
    }
    Ok(found)
}

fn fate(cleaning: &Cleaning<'_>, caches: &LocalCaches, entry: &LocalCacheEntry) -> Fate {
    if cleaning.dry_run {
        return Fate::Seen;
    }
    match caches.remove(&entry.id) {
        Ok(RemovedCache::Freed(_) | RemovedCache::Gone) => Fate::Removed,
        Ok(RemovedCache::InUse) => Fate::InUse,
        Err(error) => Fate::Stays(executor_core::chain(&error as &dyn Error)),
    }
}
