//! The files that one pattern finds.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// The matches of one pattern.
#[derive(Debug)]
pub(super) struct Found {
    /// The largest number of files.
    most: usize,
    /// Files and links.
    pub(super) paths: Vec<PathBuf>,
    pub(super) directories: Vec<PathBuf>,
    /// The empty ones of the directories.
    pub(super) empty: BTreeSet<PathBuf>,
    pub(super) warnings: Vec<String>,
}

impl Found {
    pub(super) fn with_limit(most: usize) -> Self {
        Self {
            most,
            paths: Vec::new(),
            directories: Vec::new(),
            empty: BTreeSet::new(),
            warnings: Vec::new(),
        }
    }
}

/// The error of finding the files of an artifact.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CollectError {
    /// A pattern of `exclude` is invalid.
    #[error("the pattern {pattern:?} of artifacts:exclude {why}")]
    Exclude {
        /// The pattern.
        pattern: String,
        /// The problem.
        why: String,
    },
    /// There are too many files.
    #[error(
        "there are more than {0} files; save only those that later jobs need, or pack them into an archive"
    )]
    TooMany(usize),
    /// A directory cannot be read.
    #[error("find files")]
    Directory(#[from] io::Error),
}

/// Takes `path`, and all entries of it when it is a directory.
pub(super) fn take_whole(
    project: &Path,
    path: &Path,
    found: &mut Found,
) -> Result<(), CollectError> {
    let Ok(metadata) = fs::symlink_metadata(project.join(path)) else {
        return Ok(());
    };
    if metadata.is_file() || metadata.is_symlink() {
        if found.paths.len() >= found.most {
            return Err(CollectError::TooMany(found.most));
        }
        found.paths.push(path.to_owned());
        return Ok(());
    }
    if !metadata.is_dir() {
        let kind = kind_of(metadata.file_type());
        let warning = format!("{}: {kind} is not archived", path.display());
        found.warnings.push(warning);
        return Ok(());
    }
    let names = names_in(project, path)?;
    if path != Path::new("") {
        found.directories.push(path.to_owned());
        if names.is_empty() {
            found.empty.insert(path.to_owned());
        }
    }
    for name in names {
        take_whole(project, &path.join(name), found)?;
    }
    Ok(())
}

/// Returns the kind of a file without content.
fn kind_of(kind: fs::FileType) -> &'static str {
    if kind.is_fifo() {
        "a pipe"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

pub(super) fn names_in(project: &Path, directory: &Path) -> io::Result<Vec<std::ffi::OsString>> {
    let path = project.join(directory);
    if !is_directory(&path) {
        return Ok(Vec::new());
    }
    let mut names = Vec::new();
    for entry in fs::read_dir(path)? {
        let name = entry?.file_name();
        // The job's repository refers to the user's objects and is not a result of the job.
        if directory != Path::new("") || name != ".git" {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

pub(super) fn is_directory(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir())
}
