//! Globs of `changes` and `exists`, as Ruby's `File.fnmatch` takes them with `PATHNAME`, `DOTMATCH`
//! and `EXTGLOB`.
//!
//! Braces are spelled out first, within bounds, and each spelling becomes a list of segments, one
//! for each part between slashes. Matching goes back to the last `*` of a segment and to the last
//! `**/` only, which is enough to find a fit and keeps the work below pattern times path.

mod affixes;
mod braces;
mod name;
mod segment;

pub use affixes::Affixes;
pub use name::NameGlob;

use segment::Segment;
use thiserror::Error;

/// A glob, ready to be compared with paths.
///
/// # Examples
///
/// ```
/// use pipeline::glob::Glob;
///
/// let glob = Glob::new("src/**/*.{c,h}")?;
/// assert!(glob.is_match("src/main.c"));
/// assert!(glob.is_match("src/a/b/.hidden.h"));
/// assert!(!glob.is_match("lib/src/main.c"));
/// # Ok::<(), pipeline::glob::GlobError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glob {
    /// What is left when the braces are spelled out; one of them must fit.
    spellings: Vec<Vec<Segment>>,
}

/// Why a text is no glob that can be compared with paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum GlobError {
    /// Its braces stand for too much.
    #[error("the braces of the glob stand for too many texts")]
    TooManySpellings,
}

impl Glob {
    /// Reads a glob.
    ///
    /// # Errors
    ///
    /// When its braces stand for more than 1024 texts, or for too many bytes of text.
    pub fn new(text: &str) -> Result<Self, GlobError> {
        let spellings = braces::spell_out(text)?;
        let spellings = spellings.iter().map(|spelling| segment::split(spelling));
        Ok(Self {
            spellings: spellings.collect(),
        })
    }

    /// Returns whether the whole of `path` fits.
    pub fn is_match(&self, path: &str) -> bool {
        let mut spellings = self.spellings.iter();
        spellings.any(|segments| matches(segments, path))
    }

    /// Returns what all paths that fit begin and end with, for each spelling.
    pub fn affixes(&self) -> impl Iterator<Item = Affixes> {
        self.spellings.iter().map(|segments| Affixes::of(segments))
    }
}

fn matches(segments: &[Segment], path: &str) -> bool {
    let mut segments = segments;
    let mut rest = Some(path);
    // What is to be tried when the current try fails: the segments behind the last `**/`, and the
    // path where they were tried last.
    let mut retry: Option<(&[Segment], &str)> = None;
    loop {
        if let ([Segment::AnyDepth, behind @ ..], Some(path)) = (segments, rest) {
            segments = behind;
            retry = Some((behind, path));
        }
        match (segments, rest) {
            ([], None) => return true,
            ([segment, behind @ ..], Some(path)) => {
                let (part, next) = split_first(path);
                if segment.is_match(part) {
                    (segments, rest) = (behind, next);
                    continue;
                }
            }
            _ => {}
        }
        let Some((behind, tried)) = retry else {
            return false;
        };
        let (_, Some(next)) = split_first(tried) else {
            return false;
        };
        (segments, rest) = (behind, Some(next));
        retry = Some((behind, next));
    }
}

/// Splits off the first part of a path.
fn split_first(path: &str) -> (&str, Option<&str>) {
    match path.split_once('/') {
        Some((part, rest)) => (part, Some(rest)),
        None => (path, None),
    }
}

#[cfg(test)]
mod tests;
