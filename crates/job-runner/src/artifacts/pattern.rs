//! One pattern of `artifacts:paths` or `artifacts:exclude`.

use super::found::{CollectError, Found, is_directory, names_in, take_whole};
use super::glob::Glob;
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

/// A pattern, split at its first wildcard.
#[derive(Debug)]
pub(crate) struct Pattern {
    /// The directories before the first wildcard.
    base: PathBuf,
    /// The whole pattern, if it has a wildcard.
    glob: Option<Glob>,
    /// The largest number of components of a match; `None` for any number, with `**`.
    depth: Option<usize>,
}

impl Pattern {
    /// Reads a pattern of a job whose scripts call their directory `project`.
    ///
    /// # Errors
    ///
    /// The problem, to be appended to the pattern.
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
        // Each slash ends at most one component, also one between braces.
        let depth = (!text.contains("**")).then(|| text.matches('/').count() + 1);
        Ok(Self { base, glob, depth })
    }

    /// Returns the directory or file below which all matches are.
    pub(crate) fn root(&self) -> &Path {
        &self.base
    }

    /// Returns whether a path relative to the project matches.
    pub(crate) fn matches(&self, path: &Path) -> bool {
        match &self.glob {
            Some(glob) => glob.is_match(path),
            None => path == self.base,
        }
    }

    /// Adds all matches below `project`.
    pub(super) fn find(&self, project: &Path, found: &mut Found) -> Result<(), CollectError> {
        // A link on the path would lead out of the project, or to files with other names.
        let mut parents = self.base.ancestors().skip(1);
        if parents.any(|parent| project.join(parent).is_symlink() && parent != Path::new("")) {
            return Ok(());
        }
        // All entries of a directory include the directory, but not a link to one.
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

    /// Returns whether an entry of this directory may match.
    pub(super) fn reaches_below(&self, path: &Path) -> bool {
        let names = || path.components().count();
        self.depth.is_none_or(|depth| names() < depth)
    }
}

/// Returns the path of `text` relative to the project.
fn relative(project: &Path, text: &str) -> Result<PathBuf, String> {
    // `.` is the whole project; an empty text comes from an unset variable.
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

/// Returns the paths below which all matches of `patterns` are: those before the first wildcards, none below
/// another. The whole job directory, `project` in scripts, is `.`.
///
/// Invalid patterns are ignored; their users report them.
pub(crate) fn pattern_roots(project: &Path, patterns: &[String]) -> Vec<String> {
    let read = patterns.iter();
    let read = read.filter_map(|text| Pattern::parse(project, text).ok());
    let paths: BTreeSet<PathBuf> = read.map(|it| it.root().to_owned()).collect();
    if paths.contains(Path::new("")) {
        return vec![".".to_owned()];
    }
    let is_covered = |path: &Path| path.ancestors().skip(1).any(|it| paths.contains(it));
    let uncovered = paths.iter().filter(|path| !is_covered(path));
    uncovered
        .map(|path| path.to_string_lossy().into_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_end_before_wildcards_without_duplicates() {
        let check = |patterns: &[&str], expect: &[&str]| {
            let patterns: Vec<String> = patterns.iter().map(ToString::to_string).collect();
            let found = pattern_roots(Path::new("/builds/p"), &patterns);
            assert_eq!(found, expect, "{patterns:?}");
        };
        check(&[], &[]);
        check(&["dist"], &["dist"]);
        check(&["dist/", "./dist", "dist/a", "dist/*.js"], &["dist"]);
        check(&["dist/a/*.js", "dist/b"], &["dist/a", "dist/b"]);
        check(&["dist", "dist-2/x"], &["dist", "dist-2/x"]);
        check(&["/builds/p/out/**/*.o"], &["out"]);
        check(&["*.txt", "dist"], &["."]);
        check(&["**/*.js"], &["."]);
        check(&["."], &["."]);
        check(&["a{b,c}/d"], &["."]);
        check(&["../x", "/etc/passwd", ""], &[]);
        check(&["a/../b/c"], &["b/c"]);
    }
}
