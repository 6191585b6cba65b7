use crate::Digest;
use std::fmt;

/// How the lock file, the texts beside it and what the pipeline asks differ.
///
/// Files are named by their paths from the top of the project, questions in words without secrets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VendorReport {
    /// Files that the lock file wants, and that are not there.
    pub missing: Vec<String>,
    /// Files that are not what they were.
    pub changed: Vec<ChangedText>,
    /// Files that nothing in the lock file wants.
    pub superfluous: Vec<String>,
    /// What the pipeline asks, and the lock file does not know.
    pub unlocked: Vec<String>,
    /// What the lock file knows, and the pipeline does not ask any more.
    pub unasked: Vec<String>,
}

/// A file that is not what it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedText {
    /// Its path from the top of the project.
    pub path: String,
    /// The digest of what it was.
    pub locked: Digest,
    /// The digest of what it is; nothing when it is no regular file, or too long.
    pub found: Option<Digest>,
}

impl VendorReport {
    /// Returns whether nothing differs.
    pub fn is_clean(&self) -> bool {
        *self == Self::default()
    }
}

impl fmt::Display for VendorReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for path in &self.missing {
            writeln!(f, "missing: {path}")?;
        }
        for ChangedText {
            path,
            locked,
            found,
        } in &self.changed
        {
            match found {
                Some(found) => writeln!(f, "changed: {path} is {found}, locked is {locked}")?,
                None => writeln!(f, "changed: {path} is no file that can be read")?,
            }
        }
        for path in &self.superfluous {
            writeln!(f, "superfluous: {path}")?;
        }
        for what in &self.unlocked {
            writeln!(f, "not locked: {what}")?;
        }
        for what in &self.unasked {
            writeln!(f, "not asked any more: {what}")?;
        }
        Ok(())
    }
}
