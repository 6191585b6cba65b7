use super::directory::{in_the_way, through_link};
use super::error::ExportError;
use super::scratch::Scratch;
use super::{Export, Overwrite};
use archive::{Packing, Skipped};
use executor_core::Cancellation;
use fail_point::fail_point;
use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::io::Errno;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

pub(super) fn write(
    export: &Export<'_>,
    file: &Path,
    scratch: &Path,
    cancellation: &Cancellation,
) -> Result<Vec<Skipped>, ExportError> {
    look(file, export.overwrite)?;
    let scratch = Scratch::new(scratch)?;
    let packed = scratch.path().join("archive.zip");
    let packing = Packing::default();
    let Export {
        artifacts,
        artifact,
        overwrite,
    } = *export;
    let done = artifacts.export(artifact, &packed, &packing, cancellation)?;
    give_usual_rights(&packed, scratch.path()).map_err(ExportError::io("write", &packed))?;
    publish(&packed, file, overwrite)?;
    Ok(done.skipped)
}

/// Gives a file the rights that any file has which its user asks for: only the system knows them.
fn give_usual_rights(file: &Path, scratch: &Path) -> io::Result<()> {
    let usual = fail_point!(
        "runwright::export::make_usual",
        File::create_new(scratch.join("usual"))
    )?;
    let rights = usual.metadata()?.permissions();
    fail_point!(
        "runwright::export::give_rights",
        fs::set_permissions(file, rights)
    )
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
    match fail_point!("runwright::export::copy", copy(packed, file)) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(in_the_way(file)),
        copied => copied.map_err(ExportError::io("write", file)),
    }
}

/// Copies to another file system: without a name until all of it is there, so that whoever is killed
/// leaves no half of it.
fn copy(packed: &Path, file: &Path) -> io::Result<()> {
    let parent = file.parent().filter(|it| !it.as_os_str().is_empty());
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    let mode = Mode::from_raw_mode(0o666);
    let Ok(target) = rustix::fs::open(parent.unwrap_or(Path::new(".")), flags, mode) else {
        return copy_named(packed, file);
    };
    let mut target = File::from(target);
    io::copy(&mut File::open(packed)?, &mut target)?;
    let nameless = format!("/proc/self/fd/{}", target.as_raw_fd());
    match rustix::fs::linkat(CWD, nameless, CWD, file, AtFlags::SYMLINK_FOLLOW) {
        Ok(()) => Ok(()),
        Err(Errno::EXIST) => Err(Errno::EXIST.into()),
        // No file system of processes is mounted, or something else is in the way of names.
        Err(_) => copy_named(packed, file),
    }
}

/// Copies to a file system that knows no files without names.
fn copy_named(packed: &Path, file: &Path) -> io::Result<()> {
    let mut packed = File::open(packed)?;
    let mut target = OpenOptions::new().write(true).create_new(true).open(file)?;
    let copied = io::copy(&mut packed, &mut target);
    if copied.is_err() {
        // The first error is the one to tell.
        let _ = fs::remove_file(file);
    }
    copied.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_there_as_a_whole_and_over_nothing() {
        for way in [copy, copy_named] {
            let root = tempfile::tempdir().unwrap();
            let (packed, file) = (root.path().join("packed"), root.path().join("file"));
            fs::write(&packed, "all of it").unwrap();
            way(&packed, &file).unwrap();
            assert_eq!(fs::read_to_string(&file).unwrap(), "all of it");
            fs::write(&file, "another").unwrap();
            let refused = way(&packed, &file).unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
            assert_eq!(fs::read_to_string(&file).unwrap(), "another");
            way(&root.path().join("none"), &root.path().join("new")).unwrap_err();
            assert!(!root.path().join("new").exists());
        }
    }
}
