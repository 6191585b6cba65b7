//! One pattern of `artifacts:paths` or `artifacts:exclude`.

use super::collect::{CollectError, Found, is_directory, names_in, take_whole};
use super::glob::Glob;
use std::path::{Component, Path, PathBuf};

/// A pattern, split where its first wildcard stands.
#[derive(Debug)]
pub(crate) struct Pattern {
    /// The directories before the first wildcard.
    base: PathBuf,
    /// All of it, where there is a wildcard.
    glob: Option<Glob>,
    /// How many names a path that matches can have at most; `None` where `**` stands for any number.
    depth: Option<usize>,
}

impl Pattern {
    /// Reads a pattern of a job whose scripts call their directory `project`.
    ///
    /// # Errors
    ///
    /// What is wrong with it, to be put behind it.
    pub(crate) fn parse(project: &Path, text: &str) -> Result<Self, String> {
        let inside = relative(project, text)?;
        let is_wild = |part: &Path| {
            let part = part.to_string_lossy();
            part.contains(['*', '?', '[', '{', '}', '\\'])
        };
        let base: PathBuf = inside
            .iter()
            .take_while(|part| !is_wild(Path::new(part)))
            .collect();
        let text = inside.to_string_lossy();
        let is_plain = base == inside;
        let glob = (!is_plain).then(|| Glob::parse(&text)).transpose()?;
        // Each slash ends at most one name, also one between braces.
        let depth = (!text.contains("**")).then(|| text.matches('/').count() + 1);
        Ok(Self { base, glob, depth })
    }

    /// Returns the directory, or the file, that all is below that can be meant.
    pub(crate) fn beginning(&self) -> &Path {
        &self.base
    }

    /// Returns whether a path below the project is meant.
    pub(crate) fn matches(&self, path: &Path) -> bool {
        match &self.glob {
            Some(glob) => glob.is_match(path),
            None => path == self.base,
        }
    }

    /// Adds all that is meant below `project`.
    pub(super) fn find(&self, project: &Path, found: &mut Found) -> Result<(), CollectError> {
        // A link on the way would lead out of the project, or to files that have another name.
        let mut way = self.base.ancestors().skip(1);
        if way.any(|parent| project.join(parent).is_symlink() && parent != Path::new("")) {
            return Ok(());
        }
        // All below a directory is the directory too, which a link to one is not.
        let is_itself = self.glob.is_none() || is_directory(&project.join(&self.base));
        if is_itself && self.matches(&self.base) {
            return take_whole(project, &self.base, found);
        }
        self.walk(project, &self.base, found)
    }

    fn walk(
        &self,
        project: &Path,
        directory: &Path,
        found: &mut Found,
    ) -> Result<(), CollectError> {
        for name in names_in(project, directory)? {
            let path = directory.join(name);
            if self.matches(&path) {
                take_whole(project, &path, found)?;
            } else if self.reaches_below(&path) && is_directory(&project.join(&path)) {
                self.walk(project, &path, found)?;
            }
        }
        Ok(())
    }

    /// Returns whether anything below this directory may be meant.
    pub(super) fn reaches_below(&self, path: &Path) -> bool {
        let names = || path.components().count();
        self.depth.is_none_or(|depth| names() < depth)
    }
}

/// Returns the path below the project that `text` means.
fn relative(project: &Path, text: &str) -> Result<PathBuf, String> {
    // All of the project is `.`; nothing is what a variable gives that is not set.
    if text.is_empty() {
        return Err("no matching files, the path is empty".to_owned());
    }
    let path = Path::new(text);
    let path = if path.is_absolute() {
        path.strip_prefix(project)
            .map_err(|_| "is outside of the project directory")?
    } else {
        path
    };
    let mut inside = PathBuf::new();
    for component in path.components() {
        match component {
            Component::Normal(part) => inside.push(part),
            Component::CurDir => {}
            Component::ParentDir if inside.pop() => {}
            _ => return Err("is outside of the project directory".to_owned()),
        }
    }
    Ok(inside)
}
