use super::segment::{Segment, whole};
use super::{GlobError, braces};

/// A glob for names, which have no parts: `*` stands for slashes too.
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
    spellings: Vec<Segment>,
}

impl NameGlob {
    /// Reads a glob.
    ///
    /// # Errors
    ///
    /// When its braces stand for more than 1024 texts, or for too many bytes of text.
    pub fn new(text: &str) -> Result<Self, GlobError> {
        let spellings = braces::spell_out(text)?;
        Ok(Self {
            spellings: spellings.iter().map(|spelling| whole(spelling)).collect(),
        })
    }

    /// Returns whether a text has signs of a glob, so that it may stand for other texts than itself.
    pub fn has_signs(text: &str) -> bool {
        text.contains(['*', '?', '[', '{', '\\'])
    }

    /// Returns whether the whole of a name fits.
    pub fn is_match(&self, name: &str) -> bool {
        self.spellings
            .iter()
            .any(|spelling| spelling.is_match(name))
    }
}
