use super::translate::{DEEPEST_GROUP, Translation};
use regex::bytes::{Regex, RegexBuilder};
use std::sync::OnceLock;

/// How large a compiled pattern may become, in bytes.
const LARGEST: usize = 5 << 20;
/// How deep the tree of a pattern may become: some levels for each group.
const DEEPEST_TREE: u32 = 8 * DEEPEST_GROUP;
/// Up to which length, in bytes, a pattern that repeats nothing by counts is small for certain.
const SMALL: usize = 256;

/// A pattern in the grammar of the `regex` crate, compiled when it is first needed.
///
/// A file has many patterns of which few are ever asked. What may become too large, or may name a
/// script that is none, is compiled at once, so that the author is told.
#[derive(Debug)]
pub(super) struct Compiled {
    translated: String,
    regex: OnceLock<Option<Regex>>,
}

impl Compiled {
    /// # Errors
    ///
    /// What the `regex` crate has against the pattern.
    pub(super) fn new(translation: Translation) -> Result<Self, regex::Error> {
        let Translation {
            text,
            counts_repetitions,
            names_script,
        } = translation;
        let may_fail = counts_repetitions || names_script || text.len() > SMALL;
        let regex = if may_fail {
            OnceLock::from(Some(build(&text)?))
        } else {
            OnceLock::new()
        };
        Ok(Self {
            translated: text,
            regex,
        })
    }

    pub(super) fn is_match(&self, text: &str) -> bool {
        let regex = self.regex();
        regex.is_some_and(|regex| regex.is_match(text.as_bytes()))
    }

    /// Returns the compiled pattern. It is always there; should the `regex` crate refuse one that
    /// is small, nothing fits it.
    pub(super) fn regex(&self) -> Option<&Regex> {
        let regex = self.regex.get_or_init(|| build(&self.translated).ok());
        regex.as_ref()
    }
}

fn build(translated: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(translated)
        .size_limit(LARGEST)
        .nest_limit(DEEPEST_TREE)
        .build()
}
