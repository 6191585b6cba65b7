use super::caches::LocalCaches;
use super::list::{LocalCacheEntry, RemovedCache};

impl LocalCaches {
    /// Removes the least recently used caches until all are within the budget. Caches in use are kept.
    pub(super) fn keep_within_budget(&self) {
        let entries = match self.entries() {
            Ok(entries) => entries,
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "The size of the caches is unknown."
                );
                return;
            }
        };
        let remove = |entry: &LocalCacheEntry| match self.remove(&entry.id) {
            Ok(removed) => removed,
            Err(error) => {
                tracing::debug!(key = entry.key, %error, "An old cache could not be removed.");
                RemovedCache::InUse
            }
        };
        spend(&entries, self.bytes(), remove);
    }
}

/// Calls `remove` for entries from the first on until the rest fits into `budget`.
fn spend(
    entries: &[LocalCacheEntry],
    budget: u64,
    mut remove: impl FnMut(&LocalCacheEntry) -> RemovedCache,
) {
    let mut total: u64 = entries.iter().map(|entry| entry.size).sum();
    for entry in entries {
        if total <= budget {
            return;
        }
        match remove(entry) {
            RemovedCache::Freed(_) | RemovedCache::Gone => total = total.saturating_sub(entry.size),
            RemovedCache::InUse => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::SystemTime;

    fn check(sizes: &[u64], budget: u64, in_use: &[&str], expect: &[&str]) {
        let names = ["a", "b", "c", "d"];
        let entries: Vec<LocalCacheEntry> = names
            .iter()
            .zip(sizes)
            .map(|(name, size)| LocalCacheEntry {
                id: (*name).to_owned(),
                key: String::new(),
                project: String::new(),
                format: String::new(),
                files: 0,
                size: *size,
                used: SystemTime::UNIX_EPOCH,
            })
            .collect();
        let mut removed = Vec::new();
        spend(&entries, budget, |entry| {
            if in_use.contains(&entry.id.as_str()) {
                return RemovedCache::InUse;
            }
            removed.push(entry.id.clone());
            RemovedCache::Freed(entry.size)
        });
        assert_eq!(removed, expect, "of {sizes:?} within {budget}");
    }

    #[test]
    fn oldest_are_removed_until_the_rest_fits() {
        check(&[5, 5, 5], 15, &[], &[]);
        check(&[5, 5, 5], 14, &[], &["a"]);
        check(&[1, 9, 5], 5, &[], &["a", "b"]);
        check(&[5, 5, 5], 0, &[], &["a", "b", "c"]);
        check(&[5, 5, 5, 5], 10, &["a"], &["b", "c"]);
        check(&[5, 5], 0, &["a", "b"], &[]);
        check(&[], 0, &[], &[]);
    }
}
