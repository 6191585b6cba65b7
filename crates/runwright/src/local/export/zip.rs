use super::directory::{in_the_way, through_link};
use super::error::ExportError;
use super::scratch::Scratch;
use super::{Export, Overwrite};
use archive::{Packing, Skipped, pack};
use executor_core::Cancellation;
use fail_point::fail_point;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

pub(super) fn write(
    export: &Export<'_>,
    file: &Path,
    scratch: &Path,
    cancellation: &Cancellation,
) -> Result<Vec<Skipped>, ExportError> {
    look(file, export.overwrite)?;
    let scratch = Scratch::new(scratch)?;
    let tree = export.artifacts.tree_of(export.artifact)?;
    let paths: Vec<PathBuf> = tree.entries().iter().map(|it| it.path.clone()).collect();
    let packed = scratch.path().join("archive.zip");
    let files = scratch.path().join("files");
    let made = fail_point!("runwright::export::make_files", fs::create_dir(&files));
    made.map_err(ExportError::io("create", &files))?;
    export
        .artifacts
        .extract(export.artifact, &files, cancellation)?;
    let done = pack(&files, &paths, &packed, &Packing::default(), cancellation)?;
    publish(&packed, file, export.overwrite)?;
    Ok(done.skipped)
}

fn look(file: &Path, overwrite: Overwrite) -> Result<(), ExportError> {
    match fs::symlink_metadata(file) {
        Ok(found) if found.is_symlink() => Err(through_link(file)),
        Ok(found) if overwrite == Overwrite::Nothing || !found.is_file() => Err(in_the_way(file)),
        _ => Ok(()),
    }
}

/// Puts the archive where it is wanted.
fn publish(packed: &Path, file: &Path, overwrite: Overwrite) -> Result<(), ExportError> {
    if overwrite == Overwrite::Files {
        match fail_point!("runwright::export::replace", fs::remove_file(file)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(ExportError::io("remove", file)(error));
            }
            _ => {}
        }
    }
    // A link of a file is there at once and never over another one; a copy is the second best.
    match fail_point!("runwright::export::publish", fs::hard_link(packed, file)) {
        Ok(()) => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(in_the_way(file)),
        Err(_) => {}
    }
    let copy = || -> io::Result<()> {
        let mut target = OpenOptions::new().write(true).create_new(true).open(file)?;
        let copied = io::copy(&mut File::open(packed)?, &mut target);
        if copied.is_err() {
            // The first error is the one to tell.
            let _ = fs::remove_file(file);
        }
        copied.map(drop)
    };
    match fail_point!("runwright::export::copy", copy()) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(in_the_way(file)),
        copied => copied.map_err(ExportError::io("write", file)),
    }
}
