use super::error::ExportError;
use super::{Export, Overwrite};
use content_store::EntryKind;
use executor_core::Cancellation;
use fail_point::fail_point;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

pub(super) fn write(
    export: &Export<'_>,
    directory: &Path,
    cancellation: &Cancellation,
) -> Result<(), ExportError> {
    let tree = export.artifacts.tree_of(export.artifact)?;
    match fs::symlink_metadata(directory) {
        Ok(found) if found.is_symlink() => return Err(through_link(directory)),
        Ok(found) if !found.is_dir() => return Err(in_the_way(directory)),
        Ok(_) => {
            let files = tree
                .entries()
                .iter()
                .filter(|it| !matches!(it.kind, EntryKind::Directory { .. }));
            for entry in files {
                look(directory, &entry.path, export.overwrite)?;
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let made = fail_point!("runwright::export::make_dir", fs::create_dir_all(directory));
            made.map_err(ExportError::io("create", directory))?;
        }
        Err(error) => return Err(ExportError::io("look at", directory)(error)),
    }
    Ok(export
        .artifacts
        .extract(export.artifact, directory, cancellation)?)
}

/// Refuses a place below `directory` that a link leads away from, and one where something is, unless
/// that may be written over.
fn look(directory: &Path, path: &Path, overwrite: Overwrite) -> Result<(), ExportError> {
    let mut place = PathBuf::from(directory);
    let mut parts = path.components().peekable();
    while let Some(part) = parts.next() {
        place.push(part);
        let Ok(found) = fs::symlink_metadata(&place) else {
            return Ok(());
        };
        let is_last = parts.peek().is_none();
        if found.is_symlink() && !is_last {
            return Err(through_link(&place));
        }
        if is_last && (overwrite == Overwrite::Nothing || found.is_dir()) {
            return Err(in_the_way(&place));
        }
    }
    Ok(())
}

pub(super) fn in_the_way(path: &Path) -> ExportError {
    ExportError::InTheWay {
        path: path.to_owned(),
    }
}

pub(super) fn through_link(path: &Path) -> ExportError {
    ExportError::ThroughLink {
        path: path.to_owned(),
    }
}
