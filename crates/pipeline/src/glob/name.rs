use super::segment::{Segment, whole};
use super::{GlobError, braces};

/// A glob for names, which have no components: `*` matches slashes too.
///
/// # Examples
///
/// ```
/// use pipeline::glob::NameGlob;
///
/// let glob = NameGlob::new("{build,test}*")?;
/// assert!(glob.is_match("test/unit"));
/// assert!(!glob.is_match("deploy"));
/// # Ok::<(), pipeline::glob::GlobError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameGlob {
    alternatives: Vec<Segment>,
}

impl NameGlob {
    /// Reads a glob.
    ///
    /// # Errors
    ///
    /// When its braces expand to more than 1024 alternatives, or to too many bytes of text.
    pub fn new(text: &str) -> Result<Self, GlobError> {
        let alternatives = braces::expand(text)?;
        Ok(Self {
            alternatives: alternatives
                .iter()
                .map(|alternative| whole(alternative))
                .collect(),
        })
    }

    /// Returns whether a text has wildcards, so that it may match other texts than itself.
    pub fn has_wildcards(text: &str) -> bool {
        text.contains(['*', '?', '[', '{', '\\'])
    }

    /// Returns whether the whole of a name matches.
    pub fn is_match(&self, name: &str) -> bool {
        self.alternatives
            .iter()
            .any(|alternative| alternative.is_match(name))
    }
}
