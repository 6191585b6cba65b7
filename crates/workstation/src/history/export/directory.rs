use super::error::ExportError;
use super::{Export, Overwrite};
use content_store::EntryKind;
use executor_core::Cancellation;
use fail_point::fail_point;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

pub(super) fn write(
    export: &Export<'_>,
    directory: &Path,
    cancellation: &Cancellation,
) -> Result<(), ExportError> {
    let tree = export.artifacts.tree_of(export.artifact)?;
    if let Some(entry) = tree.entries().iter().rfind(|it| is_in_git(&it.path)) {
        return Err(ExportError::GitDirectory {
            path: entry.path.clone(),
        });
    }
    for entry in tree.entries() {
        if changes_pipeline(export, &entry.path, directory)? {
            return Err(ExportError::PipelineFile {
                path: entry.path.clone(),
            });
        }
    }
    match fs::symlink_metadata(directory) {
        Ok(found) if found.is_symlink() => return Err(through_link(directory)),
        Ok(found) if !found.is_dir() => return Err(exists(directory)),
        Ok(_) => {
            let files = tree
                .entries()
                .iter()
                .filter(|it| !matches!(it.kind, EntryKind::Directory { .. }));
            for entry in files {
                check(directory, &entry.path, export.overwrite)?;
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let made = fail_point!(
                "workstation::export::make_dir",
                fs::create_dir_all(directory)
            );
            made.map_err(ExportError::io("create", directory))?;
        }
        Err(error) => return Err(ExportError::io("read", directory)(error)),
    }
    Ok(export
        .artifacts
        .extract(export.artifact, directory, cancellation)?)
}

/// Returns whether a path is a Git directory or a part of one; some file systems ignore the case of letters.
fn is_in_git(path: &Path) -> bool {
    path.iter().any(|part| part.eq_ignore_ascii_case(".git"))
}

/// Returns whether an entry of the artifact would change a file of the pipeline.
fn changes_pipeline(
    export: &Export<'_>,
    path: &Path,
    directory: &Path,
) -> Result<bool, ExportError> {
    let mut files = export.pipeline_files.iter();
    if !files.any(|file| path.as_os_str().eq_ignore_ascii_case(file)) {
        return Ok(false);
    }
    let Some(mut stored) = export.artifacts.open(export.artifact, path)? else {
        // A link or a directory.
        return Ok(true);
    };
    let mut content = Vec::new();
    stored
        .read_to_end(&mut content)
        .map_err(ExportError::io("read", path))?;
    Ok(fs::read(directory.join(path)).map_or(true, |present| present != content))
}

/// Refuses a path below `directory` that goes through a link or that exists, unless it may be overwritten.
fn check(directory: &Path, path: &Path, overwrite: Overwrite) -> Result<(), ExportError> {
    let mut target = PathBuf::from(directory);
    let mut parts = path.components().peekable();
    while let Some(part) = parts.next() {
        target.push(part);
        let Ok(found) = fs::symlink_metadata(&target) else {
            return Ok(());
        };
        let is_last = parts.peek().is_none();
        if found.is_symlink() && !is_last {
            return Err(through_link(&target));
        }
        if is_last && (overwrite == Overwrite::Nothing || found.is_dir()) {
            return Err(exists(&target));
        }
    }
    Ok(())
}

pub(super) fn exists(path: &Path) -> ExportError {
    ExportError::Exists {
        path: path.to_owned(),
    }
}

pub(super) fn through_link(path: &Path) -> ExportError {
    ExportError::ThroughLink {
        path: path.to_owned(),
    }
}
