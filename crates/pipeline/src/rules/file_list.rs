use super::error::FileError;
use super::file_verdict::{FileVerdict, MOST_COMPARISONS};
use crate::glob::Glob;
use crate::pattern::Pattern;
use crate::repository::Paths;

/// The paths of a commit, indexed for repeated queries.
#[derive(Debug)]
pub(super) struct FileList {
    paths: Paths,
    /// The indices of the paths in byte order.
    order: Vec<usize>,
}

impl FileList {
    pub(super) fn new(paths: Paths) -> Self {
        let mut order: Vec<usize> = (0..paths.len()).collect();
        order.sort_unstable_by(|&left, &right| paths[left].cmp(&paths[right]));
        Self { paths, order }
    }

    /// Evaluates `exists`.
    ///
    /// Globs without wildcards are looked up. When no glob has a slash or `**`, files in
    /// directories are not considered.
    pub(super) fn exists(&self, globs: &[String]) -> Result<FileVerdict, FileError> {
        if globs.iter().all(|glob| glob.trim().is_empty()) {
            return Ok(FileVerdict::NoPattern);
        }
        let is_at_top = |glob: &String| !glob.contains('/') && !glob.contains("**");
        let only_top = globs.iter().all(is_at_top);
        let is_exact = |glob: &&String| !glob.contains(['*', '?', '[', '{']);
        let (exact, others): (Vec<&String>, Vec<&String>) = globs.iter().partition(is_exact);
        for glob in exact {
            if let Some(path) = self.find(glob) {
                return Ok(found(glob, path));
            }
        }
        let paths = self.paths.iter();
        let paths = paths.filter(|path| !only_top || !path.contains('/'));
        let paths: Vec<&String> = paths.collect();
        compare(&others, &paths)
    }

    /// Returns the path equal to `glob`, or the first path below it when `glob` ends with a slash.
    fn find(&self, glob: &str) -> Option<&str> {
        let at = self.order.partition_point(|&at| *self.paths[at] < *glob);
        let path: &str = &self.paths[*self.order.get(at)?];
        let is_match = path == glob || (glob.ends_with('/') && path.starts_with(glob));
        is_match.then_some(path)
    }

    /// Evaluates `exists:regexp`.
    pub(super) fn matching(&self, pattern: &Pattern) -> FileVerdict {
        matching(pattern, &self.paths)
    }
}

/// Evaluates `changes`.
pub(super) fn changes(globs: &[String], paths: &Paths) -> Result<FileVerdict, FileError> {
    let globs: Vec<&String> = globs.iter().collect();
    let paths: Vec<&String> = paths.iter().collect();
    compare(&globs, &paths)
}

/// Finds the first path that matches a regular expression.
pub(super) fn matching(pattern: &Pattern, paths: &Paths) -> FileVerdict {
    match paths.iter().find(|path| pattern.is_match(path)) {
        Some(path) => found(&pattern.to_string(), path),
        None => FileVerdict::NoMatch { paths: paths.len() },
    }
}

/// Compares each path with each glob, within GitLab's limit on comparisons.
fn compare(globs: &[&String], paths: &[&String]) -> Result<FileVerdict, FileError> {
    let comparisons = globs.len().saturating_mul(paths.len());
    if comparisons > MOST_COMPARISONS {
        return Ok(FileVerdict::TooMany { comparisons });
    }
    for &glob in globs {
        let read = Glob::new(glob)?;
        if let Some(path) = paths.iter().find(|path| read.is_match(path)) {
            return Ok(found(glob, path));
        }
    }
    let paths = paths.len();
    Ok(FileVerdict::NoMatch { paths })
}

fn found(pattern: &str, path: &str) -> FileVerdict {
    FileVerdict::Match {
        pattern: pattern.to_owned(),
        path: path.to_owned(),
    }
}
