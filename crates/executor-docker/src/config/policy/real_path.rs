use std::io::{Error, ErrorKind, Result};
use std::path::{Component, Path, PathBuf};

/// A path on the engine's host without links and `..`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RealPath(PathBuf);

impl RealPath {
    /// Resolves the links of a path on this host. A missing rest of the path is appended as written.
    ///
    /// # Errors
    ///
    /// When the path is relative, has a `..` in a missing part, is a dangling link, or cannot be read.
    pub fn resolve(path: &str) -> Result<Self> {
        let path = absolute(path)?;
        let mut known = path;
        loop {
            match std::fs::canonicalize(known) {
                Ok(real) => {
                    let rest = path.strip_prefix(known).map_err(Error::other)?;
                    without_parents(rest)?;
                    // An empty rest would add a slash.
                    let whole = if known == path { real } else { real.join(rest) };
                    return Ok(Self(whole));
                }
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    if known.symlink_metadata().is_ok() {
                        return Err(invalid("is a link to what does not exist"));
                    }
                    known = known.parent().ok_or(error)?;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns the path for an engine on another host, without resolving links.
    ///
    /// # Errors
    ///
    /// When the path is relative or has a `..`.
    pub fn of_another_host(path: &str) -> Result<Self> {
        let path = absolute(path)?;
        without_parents(path)?;
        Ok(Self(path.components().collect()))
    }

    /// Returns the path.
    pub fn as_path(&self) -> &Path {
        &self.0
    }
}

fn absolute(path: &str) -> Result<&Path> {
    if path.contains('\0') {
        return Err(invalid("has a character that no path has"));
    }
    let path = Path::new(path);
    if path.is_absolute() {
        return Ok(path);
    }
    Err(invalid("is not an absolute path"))
}

fn without_parents(path: &Path) -> Result<()> {
    if path.components().any(|it| it == Component::ParentDir) {
        return Err(invalid("has a `..` whose meaning cannot be known"));
    }
    Ok(())
}

fn invalid(text: &'static str) -> Error {
    Error::new(ErrorKind::InvalidInput, text)
}
