//! Regular expressions as GitLab has them: RE2, in time linear to the text.
//!
//! The `regex` crate gives the same promise as RE2, yet has a grammar of its own: classes are those
//! of Unicode, classes nest, `a**` and `(?x)` mean something. So a pattern is read by RE2's rules
//! first (`translate`, `class`, `escape`), which also say what is wrong with it, and written anew
//! in the crate's grammar.

mod class;
mod compiled;
mod error;
mod escape;
mod flags;
mod translate;

pub use error::{PatternError, PatternErrorKind};

use compiled::Compiled;
use std::fmt;
use std::sync::Arc;

/// How long a pattern may be, in bytes; RE2 stops at about as many instructions.
const LONGEST: usize = 64 << 10;

/// A regular expression in RE2's syntax.
///
/// # Examples
///
/// ```
/// use pipeline::pattern::Pattern;
///
/// let pattern = Pattern::from_literal(r"/^release\/v\d+$/i")?;
/// assert!(pattern.is_match("Release/v12"));
/// assert!(!pattern.is_match("release/v12\n"));
///
/// let error = Pattern::new("main(?!-old)", "").unwrap_err();
/// assert_eq!(error.to_string(), "look-around `(?!` is not RE2 syntax");
/// # Ok::<(), pipeline::pattern::PatternError>(())
/// ```
#[derive(Clone)]
pub struct Pattern {
    source: Arc<str>,
    flags: Arc<str>,
    compiled: Arc<Compiled>,
}

impl Pattern {
    /// Reads a pattern without slashes; `flags` are any of `i`, `s`, `m` and `U`.
    ///
    /// # Errors
    ///
    /// When it is not RE2 syntax, or would become too large.
    pub fn new(source: &str, flags: &str) -> Result<Self, PatternError> {
        if source.len() > LONGEST {
            return Err(PatternError::too_large(0));
        }
        let translation = translate::translate(source, flags)?;
        let compiled = Compiled::new(translation).map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => PatternError::too_large(0),
            _ => PatternError::syntax(0, format!("`{source}` is not RE2 syntax")),
        })?;
        Ok(Self {
            source: source.into(),
            flags: flags.into(),
            compiled: Arc::new(compiled),
        })
    }

    /// Reads a pattern between slashes with flags behind them, as it stands in a pipeline file.
    ///
    /// As in GitLab, `\/` is a slash, and of a text with several lines the first that looks like a
    /// pattern is taken.
    ///
    /// # Errors
    ///
    /// When there are no slashes around it, it is not RE2 syntax, or would become too large. The
    /// error's offset is that in `text`.
    pub fn from_literal(text: &str) -> Result<Self, PatternError> {
        let unescaped = text.replace("\\/", "/");
        let Some((body, flags)) = unescaped.split('\n').find_map(split_literal) else {
            return Err(PatternError::no_slashes());
        };
        Self::new(body, flags).map_err(|error| error.behind_slash(text))
    }

    /// Returns whether `text` looks like a pattern between slashes, whatever is between them.
    pub fn is_literal(text: &str) -> bool {
        text.split('\n').any(|line| split_literal(line).is_some())
    }

    /// Returns whether some part of `text` fits.
    pub fn is_match(&self, text: &str) -> bool {
        self.compiled.is_match(text)
    }

    /// Returns what the last group took in the last place of `text` that fits; all that fits there
    /// when the expression has no group, or none took part.
    ///
    /// In the time of a thousand looks at `text` at most: no more places are counted.
    pub fn last_group<'t>(&self, text: &'t str) -> Option<&'t str> {
        self.compiled.last_group(text)
    }

    /// Returns whether reading it took time and space, so that a file may not have many of its kind.
    pub(crate) fn is_large(&self) -> bool {
        self.compiled.is_large()
    }

    /// Returns the expression as it was written, without slashes and flags.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Returns its flags.
    pub fn flags(&self) -> &str {
        &self.flags
    }
}

/// Splits `/body/flags`, as far as a single line is that.
fn split_literal(line: &str) -> Option<(&str, &str)> {
    let (body, flags) = line.strip_prefix('/')?.rsplit_once('/')?;
    flags.chars().all(flags::is_known).then_some((body, flags))
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source && self.flags == other.flags
    }
}

impl Eq for Pattern {}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/{}/{}", self.source, self.flags)
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pattern({self})")
    }
}

#[cfg(test)]
mod tests;
