use super::freshness::Times;
use crate::StoredAnswer;
use crate::key::Key;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::time::SystemTime;

/// The answers that this process has seen, whether or not they could be stored.
#[derive(Debug, Default)]
pub(super) struct Memory(Mutex<HashMap<Key, Known>>);

/// An answer, and when this process asked for it.
#[derive(Debug, Clone)]
pub(super) struct Known {
    pub(super) kept: StoredAnswer,
    pub(super) asked: Option<SystemTime>,
}

impl Known {
    pub(super) fn times(&self) -> Times {
        Times {
            checked: self.kept.checked,
            asked: self.asked,
        }
    }
}

impl Memory {
    pub(super) fn get(&self, key: Key) -> Option<Known> {
        self.lock().get(&key).cloned()
    }

    pub(super) fn put(&self, key: Key, known: Known) {
        self.lock().insert(key, known);
    }

    pub(super) fn forget(&self, key: Key) {
        self.lock().remove(&key);
    }

    fn lock(&self) -> parking_lot::MutexGuard<'_, HashMap<Key, Known>> {
        self.0.lock()
    }
}
