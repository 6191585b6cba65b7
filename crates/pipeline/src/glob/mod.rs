//! Globs of `changes` and `exists`, with the semantics of Ruby's `File.fnmatch` and the flags
//! `PATHNAME`, `DOTMATCH` and `EXTGLOB`.
//!
//! Braces are expanded first, within bounds, and each alternative becomes a list of segments, one
//! for each part between slashes. Matching backtracks only to the last `*` of a segment and to the
//! last `**/`; that is sufficient, and bounds the work by pattern length times path length.

mod affixes;
mod braces;
mod name;
mod segment;

pub use affixes::Affixes;
pub use braces::GlobError;
pub use name::NameGlob;

use segment::Segment;

/// A compiled glob for paths.
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
    /// The alternatives after brace expansion; one of them must match.
    alternatives: Vec<Vec<Segment>>,
}

impl Glob {
    /// Reads a glob.
    ///
    /// # Errors
    ///
    /// When its braces expand to more than 1024 alternatives, or to too many bytes of text.
    pub fn new(text: &str) -> Result<Self, GlobError> {
        let alternatives = braces::expand(text)?;
        let alternatives = alternatives
            .iter()
            .map(|alternative| segment::split(alternative));
        Ok(Self {
            alternatives: alternatives.collect(),
        })
    }

    /// Returns whether the whole of `path` matches.
    pub fn is_match(&self, path: &str) -> bool {
        let mut alternatives = self.alternatives.iter();
        alternatives.any(|segments| matches(segments, path))
    }

    /// Returns whether it matches no path because a bracket or brace in it is not closed.
    pub fn matches_nothing(&self) -> bool {
        let mut alternatives = self.alternatives.iter();
        alternatives.all(|segments| segments.iter().any(Segment::matches_nothing))
    }

    /// Returns the common prefix and suffix of all matching paths, for each alternative.
    pub fn affixes(&self) -> impl Iterator<Item = Affixes> {
        self.alternatives
            .iter()
            .map(|segments| Affixes::of(segments))
    }
}

fn matches(segments: &[Segment], path: &str) -> bool {
    let mut segments = segments;
    let mut rest = Some(path);
    // Where to backtrack: the segments after the last `**/`, and the part of the path where they
    // were last tried.
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
