use std::collections::HashMap;
use std::sync::Arc;

/// Texts longer than this are kept apart; few of them come twice.
const LONGEST: usize = 24;

/// Gives equal short texts one place in memory: keywords come again in every job.
#[derive(Debug, Default)]
pub(super) struct Names<'t> {
    known: HashMap<&'t str, Arc<str>>,
}

impl<'t> Names<'t> {
    /// Returns a text of the file, shared with those that are equal.
    pub(super) fn share(&mut self, text: &'t str) -> Arc<str> {
        if text.len() > LONGEST {
            return text.into();
        }
        Arc::clone(self.known.entry(text).or_insert_with(|| text.into()))
    }
}
