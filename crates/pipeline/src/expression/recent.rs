use crate::pattern::Pattern;
use parking_lot::Mutex;
use std::fmt;

/// The last text that was read as a pattern, with what became of it.
///
/// A pattern in a variable is usually the same for all jobs, so one entry is enough.
#[derive(Default)]
pub(super) struct RecentPattern(Mutex<Option<(String, Option<Pattern>)>>);

/// Shows nothing: the text is a variable's value, which may be a secret.
impl fmt::Debug for RecentPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecentPattern").finish_non_exhaustive()
    }
}

impl RecentPattern {
    /// Returns the pattern that `text` is; `None` when it is plain text.
    pub(super) fn read(&self, text: &str) -> Option<Pattern> {
        if !text.contains('/') {
            return None;
        }
        // A poisoned entry is a whole entry: it is set in one go.
        let mut recent = self.0.lock();
        if let Some((known, pattern)) = &*recent
            && known == text
        {
            return pattern.clone();
        }
        let pattern = Pattern::from_literal(text).ok();
        *recent = Some((text.to_owned(), pattern.clone()));
        pattern
    }
}
