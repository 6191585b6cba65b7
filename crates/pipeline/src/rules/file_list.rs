use super::error::FileError;
use super::file_verdict::{FileVerdict, MOST_COMPARISONS};
use crate::glob::Glob;
use crate::pattern::Pattern;
use crate::repository::Paths;

/// The paths of a commit, ready to be asked for often.
#[derive(Debug)]
pub(super) struct FileList {
    paths: Paths,
    /// The places of the paths in the order of their bytes.
    order: Vec<usize>,
}

impl FileList {
    pub(super) fn new(paths: Paths) -> Self {
        let mut order: Vec<usize> = (0..paths.len()).collect();
        order.sort_unstable_by(|&left, &right| paths[left].cmp(&paths[right]));
        Self { paths, order }
    }

    /// Answers `exists`.
    ///
    /// Globs without any sign are looked up. When no glob has a slash or `**`, files in folders are
    /// not even counted.
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
                return Ok(fits(glob, path));
            }
        }
        let paths = self.paths.iter();
        let paths = paths.filter(|path| !only_top || !path.contains('/'));
        let paths: Vec<&String> = paths.collect();
        compare(&others, &paths)
    }

    /// Returns the path that is `glob`, or the first below it when that ends with a slash.
    fn find(&self, glob: &str) -> Option<&str> {
        let at = self.order.partition_point(|&at| *self.paths[at] < *glob);
        let path: &str = &self.paths[*self.order.get(at)?];
        let fits = path == glob || (glob.ends_with('/') && path.starts_with(glob));
        fits.then_some(path)
    }

    /// Answers `exists:regexp`.
    pub(super) fn fitting(&self, pattern: &Pattern) -> FileVerdict {
        fitting(pattern, &self.paths)
    }
}

/// Answers `changes`.
pub(super) fn changes(globs: &[String], paths: &Paths) -> Result<FileVerdict, FileError> {
    let globs: Vec<&String> = globs.iter().collect();
    let paths: Vec<&String> = paths.iter().collect();
    compare(&globs, &paths)
}

/// Returns the first path that fits a regular expression.
pub(super) fn fitting(pattern: &Pattern, paths: &Paths) -> FileVerdict {
    match paths.iter().find(|path| pattern.is_match(path)) {
        Some(path) => fits(&pattern.to_string(), path),
        None => FileVerdict::FitsNot { paths: paths.len() },
    }
}

/// Compares each path with each glob, unless that would be too much.
fn compare(globs: &[&String], paths: &[&String]) -> Result<FileVerdict, FileError> {
    let comparisons = globs.len().saturating_mul(paths.len());
    if comparisons > MOST_COMPARISONS {
        return Ok(FileVerdict::TooMany { comparisons });
    }
    for &glob in globs {
        let read = Glob::new(glob)?;
        if let Some(path) = paths.iter().find(|path| read.is_match(path)) {
            return Ok(fits(glob, path));
        }
    }
    let paths = paths.len();
    Ok(FileVerdict::FitsNot { paths })
}

fn fits(pattern: &str, path: &str) -> FileVerdict {
    FileVerdict::Fits {
        pattern: pattern.to_owned(),
        path: path.to_owned(),
    }
}
