//! What jobs and steps keep for later runs: caches, reusable results and functions.

use super::{Cleaning, Fate, Removable, RemovableKind};
use crate::error::LocalError;
#[cfg(feature = "functions")]
use crate::remote::user_library::UserLibrary;
use crate::reuse::ReuseStore;
use crate::run::caches::project_name;
use executor_core::chain;
use job_runner::RemovedCache;
use std::path::PathBuf;

pub(super) fn clean_caches(cleaning: &Cleaning<'_>) -> Result<Vec<Removable>, LocalError> {
    let caches = cleaning.state.caches();
    let project = cleaning.project.map(|it| project_name(it.root()));
    let entries = caches.entries()?.into_iter().filter(|entry| {
        let is_selected = project.as_ref().is_none_or(|name| *name == entry.project);
        is_selected && cleaning.is_old_enough(entry.used)
    });
    let removed = entries.map(|entry| Removable {
        kind: RemovableKind::Cache,
        fate: cleaning.remove(|| match caches.remove(&entry.id) {
            Ok(RemovedCache::Freed(_) | RemovedCache::Gone) => Fate::Removed,
            Ok(RemovedCache::InUse) => Fate::InUse,
            Err(error) => Fate::Stays(chain(&error)),
        }),
        name: entry.key,
        project: Some(PathBuf::from(entry.project)),
        bytes: entry.size,
    });
    Ok(removed.collect())
}

/// Removes functions. All projects share them, so they have no project.
#[cfg(feature = "functions")]
pub(super) fn clean_functions(cleaning: &Cleaning<'_>) -> Result<Vec<Removable>, LocalError> {
    let cache = UserLibrary::cache(cleaning.state);
    let entries = cache.entries().map_err(LocalError::Functions)?.into_iter();
    let entries = entries.filter(|functions| cleaning.is_old_enough(functions.used));
    let removed = entries.map(|functions| Removable {
        kind: RemovableKind::Functions,
        fate: cleaning.remove(|| match cache.remove(&functions) {
            Ok(true) => Fate::Removed,
            Ok(false) => Fate::InUse,
            Err(error) => Fate::Stays(error.message),
        }),
        name: functions.name,
        project: None,
        bytes: functions.bytes,
    });
    Ok(removed.collect())
}

/// Removes reusable results. A run that reused one has its own copy, so none is in use.
pub(super) fn clean_reuse(cleaning: &Cleaning<'_>) -> Result<Vec<Removable>, LocalError> {
    let stores = match cleaning.project {
        Some(project) => vec![project.reuse()],
        None => cleaning.state.all_reuse()?,
    };
    let mut removed = Vec::new();
    for store in stores {
        let mut jobs = store.jobs().map_err(|error| store.unreadable(error))?;
        jobs.sort_by(|one, other| (&one.name, &one.path).cmp(&(&other.name, &other.path)));
        jobs.retain(|job| cleaning.is_old_enough(job.used));
        removed.extend(jobs.into_iter().map(|job| Removable {
            kind: RemovableKind::Reuse,
            fate: cleaning.remove(|| match ReuseStore::remove(&job) {
                Ok(()) => Fate::Removed,
                Err(error) => Fate::Stays(error.to_string()),
            }),
            name: job.name,
            project: cleaning.project.map(|it| it.root().to_owned()),
            bytes: job.bytes,
        }));
    }
    cleaning.sweep_after(&removed);
    Ok(removed)
}
