//! The word by which the line of a started shell is recognised.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Returns a word that no output contains by chance.
pub(crate) fn new_mark() -> String {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let nanos = now.map_or(0, |since| since.as_nanos());
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    format!("runwright-{:x}-{nanos:x}-{number:x}", std::process::id())
}
