use super::translate::{DEEPEST_GROUP, Translation};
use parking_lot::Mutex;
use regex::bytes::{Regex, RegexBuilder};
use std::collections::VecDeque;
use std::sync::Arc;

/// The maximum size of a compiled pattern, in bytes.
const LARGEST: usize = 5 << 20;
/// The size from which a compiled pattern counts as large, in bytes.
const LARGE: usize = 256 << 10;
/// The maximum depth of a pattern's syntax tree: several levels for each group.
const DEEPEST_TREE: u32 = 8 * DEEPEST_GROUP;
/// The length in bytes up to which a pattern without counted repetitions is certainly small.
const SMALL: usize = 256;

/// The number of matches considered in a text.
const MOST_PLACES: usize = 1000;

/// How many compiled patterns are cached: large ones take megabytes, small ones a few kilobytes.
const KEPT_SMALL: usize = 64;
const KEPT_LARGE: usize = 8;

/// The most recently compiled patterns. A file can have thousands of patterns, and must not
/// determine how much memory they take.
static RECENT_SMALL: Recent = Recent::new(KEPT_SMALL);
static RECENT_LARGE: Recent = Recent::new(KEPT_LARGE);

/// A pattern in the grammar of the `regex` crate, compiled on demand.
///
/// Most patterns of a file are never matched. A pattern that may be too large, or may name an
/// unknown script, is compiled at once to report the error.
#[derive(Debug)]
pub(super) struct Compiled {
    translated: Arc<str>,
    is_large: bool,
}

impl Compiled {
    /// # Errors
    ///
    /// The error of the `regex` crate.
    pub(super) fn new(translation: Translation) -> Result<Self, regex::Error> {
        let Translation {
            text,
            counts_repetitions,
            names_script,
        } = translation;
        let may_be_large = counts_repetitions || names_script || text.len() > SMALL;
        let is_large = match may_be_large.then(|| build(&text, LARGE)) {
            Some(Err(regex::Error::CompiledTooBig(_))) => true,
            Some(Err(error)) => return Err(error),
            Some(Ok(_)) | None => false,
        };
        let translated: Arc<str> = text.into();
        if is_large {
            RECENT_LARGE.keep(&translated, &build(&translated, LARGEST)?);
        }
        Ok(Self {
            translated,
            is_large,
        })
    }

    /// Returns whether the pattern was expensive to compile.
    pub(super) fn is_large(&self) -> bool {
        self.is_large
    }

    pub(super) fn is_match(&self, text: &str) -> bool {
        let regex = self.regex();
        regex.is_some_and(|regex| regex.is_match(text.as_bytes()))
    }

    pub(super) fn last_group<'t>(&self, text: &'t str) -> Option<&'t str> {
        let regex = self.regex()?;
        // Each search may scan the whole rest, so their number must be bounded.
        let last = regex.find_iter(text.as_bytes()).take(MOST_PLACES).last()?;
        let captures = regex.captures_at(text.as_bytes(), last.start())?;
        let mut groups = (1..captures.len()).rev();
        let group = groups.find_map(|group| captures.get(group));
        text.get(group.unwrap_or(last).range())
    }

    /// Returns the compiled pattern. Should the `regex` crate refuse a small one, against
    /// expectation, nothing matches it.
    pub(super) fn regex(&self) -> Option<Regex> {
        let recent = if self.is_large {
            &RECENT_LARGE
        } else {
            &RECENT_SMALL
        };
        recent.find(&self.translated).or_else(|| {
            let regex = build(&self.translated, LARGEST).ok()?;
            recent.keep(&self.translated, &regex);
            Some(regex)
        })
    }
}

/// A cache of compiled patterns, the oldest first.
struct Recent {
    patterns: Mutex<VecDeque<(Arc<str>, Regex)>>,
    most: usize,
}

impl Recent {
    const fn new(most: usize) -> Self {
        Self {
            patterns: Mutex::new(VecDeque::new()),
            most,
        }
    }

    fn find(&self, translated: &Arc<str>) -> Option<Regex> {
        let patterns = self.patterns.lock();
        let is_it = |known: &Arc<str>| Arc::ptr_eq(known, translated) || known == translated;
        let found = patterns.iter().rev().find(|(known, _)| is_it(known));
        found.map(|(_, regex)| regex.clone())
    }

    fn keep(&self, translated: &Arc<str>, regex: &Regex) {
        let mut patterns = self.patterns.lock();
        if patterns.len() == self.most {
            patterns.pop_front();
        }
        patterns.push_back((Arc::clone(translated), regex.clone()));
    }
}

fn build(translated: &str, largest: usize) -> Result<Regex, regex::Error> {
    RegexBuilder::new(translated)
        .size_limit(largest)
        .nest_limit(DEEPEST_TREE)
        .build()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::Pattern;

    #[test]
    fn the_cache_of_patterns_is_bounded() {
        for number in 0..3 * KEPT_LARGE {
            let pattern = Pattern::new(&format!(r"^\pL{{50}}-{number}$"), "").unwrap();
            assert!(pattern.is_match(&format!("{}-{number}", "a".repeat(50))));
        }
        assert!(RECENT_LARGE.patterns.lock().len() <= KEPT_LARGE);
        for number in 0..3 * KEPT_SMALL {
            let pattern = Pattern::new(&format!("^x{number}$"), "").unwrap();
            assert!(pattern.is_match(&format!("x{number}")));
        }
        assert!(RECENT_SMALL.patterns.lock().len() <= KEPT_SMALL);
    }
}
