//! Regular expressions as in GitLab: RE2 syntax, matched in linear time.
//!
//! The `regex` crate makes the same promise as RE2 but has another grammar: classes are Unicode,
//! classes nest, `a**` and `(?x)` are valid. So a pattern is parsed by RE2's rules first
//! (`translate`, `class`, `escape`), which yields good errors, and is then written in the crate's
//! grammar.

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

/// The maximum length of a pattern in bytes; RE2 has a similar limit on instructions.
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
    /// When it is not RE2 syntax, or compiles to too large a program.
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

    /// Reads a pattern between slashes, followed by flags, as written in a pipeline file.
    ///
    /// As in GitLab, `\/` is a slash, and of a text with several lines the first that looks like a
    /// pattern is used.
    ///
    /// # Errors
    ///
    /// When there are no slashes around it, it is not RE2 syntax, or it compiles to too large a
    /// program. The error's offset is relative to `text`.
    pub fn from_literal(text: &str) -> Result<Self, PatternError> {
        let unescaped = text.replace("\\/", "/");
        let Some((body, flags)) = unescaped.split('\n').find_map(split_literal) else {
            return Err(PatternError::no_slashes());
        };
        Self::new(body, flags).map_err(|error| error.behind_slash(text))
    }

    /// Returns whether `text` looks like a pattern between slashes; the content is not checked.
    pub fn is_literal(text: &str) -> bool {
        text.split('\n').any(|line| split_literal(line).is_some())
    }

    /// Returns whether the pattern matches some part of `text`.
    pub fn is_match(&self, text: &str) -> bool {
        self.compiled.is_match(text)
    }

    /// Returns a text that the pattern matches, if one begins with its literal start.
    pub fn example(&self) -> Option<String> {
        let mut start = literal_start(&self.source);
        // No name of a branch begins with these.
        if start.starts_with(['-', '/', '.']) {
            start.insert(0, 'x');
        }
        // A word is a whole name, a single letter such as `v` or a word with a separator is not.
        let is_name = start.len() > 1 && start.ends_with(|end: char| end.is_alphanumeric());
        let (first, last) = if is_name {
            (Some(""), None)
        } else {
            (None, Some(""))
        };
        let ends = first.into_iter().chain(EXAMPLE_ENDS).chain(last);
        let mut examples = ends.map(|end| format!("{start}{end}"));
        examples.find(|example| !example.is_empty() && self.is_match(example))
    }

    /// Returns the last group of the last match in `text`; the whole match when no group took part.
    ///
    /// Considers the first thousand matches only, which bounds the time.
    pub fn last_group<'t>(&self, text: &'t str) -> Option<&'t str> {
        self.compiled.last_group(text)
    }

    /// Returns whether it was expensive to compile, so that a file may have only a few like it.
    pub(crate) fn is_large(&self) -> bool {
        self.compiled.is_large()
    }

    /// Returns the expression as written, without slashes and flags.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Returns its flags.
    pub fn flags(&self) -> &str {
        &self.flags
    }
}

/// What may follow the literal start of a pattern, such as the numbers of a version.
const EXAMPLE_ENDS: [&str; 7] = ["1", "1.0", "1.0.0", "/1", "-1", "/x", "x"];

/// Returns the text that a pattern starts with, as far as it is literal.
fn literal_start(source: &str) -> String {
    let source = source.trim_start_matches(['^', '(']);
    let mut letters = source.strip_prefix("?:").unwrap_or(source).chars();
    let mut start = String::new();
    while let Some(letter) = letters.next() {
        match letter {
            '?' | '*' | '{' => {
                start.pop();
                break;
            }
            '\\' => match letters.next() {
                Some(escaped) if escaped.is_ascii_punctuation() => start.push(escaped),
                _ => break,
            },
            '.' | '[' | '(' | ')' | '|' | '+' | '$' | '^' => break,
            letter => start.push(letter),
        }
    }
    start
}

/// Splits a line of the form `/body/flags`.
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
