use super::directory::{exists, through_link};
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
    check(file, export.overwrite)?;
    let scratch = Scratch::new(scratch)?;
    let packed = scratch.path().join("archive.zip");
    let packing = Packing::default();
    let Export {
        artifacts,
        artifact,
        overwrite,
        ..
    } = *export;
    let done = artifacts.export(artifact, &packed, &packing, cancellation)?;
    set_default_permissions(&packed, scratch.path()).map_err(ExportError::io("write", &packed))?;
    publish(&packed, file, overwrite)?;
    Ok(done.skipped)
}

/// Gives a file the permissions of any new file. They depend on the umask, which only creating a file shows.
fn set_default_permissions(file: &Path, scratch: &Path) -> io::Result<()> {
    let usual = fail_point!(
        "workstation::export::make_usual",
        File::create_new(scratch.join("usual"))
    )?;
    let permissions = usual.metadata()?.permissions();
    fail_point!(
        "workstation::export::set_mode",
        fs::set_permissions(file, permissions)
    )
}

fn check(file: &Path, overwrite: Overwrite) -> Result<(), ExportError> {
    match fs::symlink_metadata(file) {
        Ok(found) if found.is_symlink() => Err(through_link(file)),
        Ok(found) if overwrite == Overwrite::Nothing || !found.is_file() => Err(exists(file)),
        _ => Ok(()),
    }
}

/// Moves the archive to its path.
fn publish(packed: &Path, file: &Path, overwrite: Overwrite) -> Result<(), ExportError> {
    if overwrite == Overwrite::Files {
        match fail_point!("workstation::export::replace", fs::remove_file(file)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(ExportError::io("remove", file)(error));
            }
            _ => {}
        }
    }
    // A hard link appears at once and never overwrites a file. A copy is second best.
    match fail_point!("workstation::export::publish", fs::hard_link(packed, file)) {
        Ok(()) => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(exists(file)),
        Err(_) => {}
    }
    match fail_point!("workstation::export::copy", copy(packed, file)) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(exists(file)),
        copied => copied.map_err(ExportError::io("write", file)),
    }
}

/// Copies to another file system. The file gets its name when it is complete, so that a killed process leaves
/// nothing.
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
        // For example, `/proc` is not mounted.
        Err(_) => copy_named(packed, file),
    }
}

/// Copies to a file system without unnamed files.
fn copy_named(packed: &Path, file: &Path) -> io::Result<()> {
    let mut packed = File::open(packed)?;
    let mut target = OpenOptions::new().write(true).create_new(true).open(file)?;
    let copied = io::copy(&mut packed, &mut target);
    if copied.is_err() {
        // The first error is the one to report.
        let _ = fs::remove_file(file);
    }
    copied.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_complete_and_overwrite_nothing() {
        for copy in [copy, copy_named] {
            let root = tempfile::tempdir().unwrap();
            let (packed, file) = (root.path().join("packed"), root.path().join("file"));
            fs::write(&packed, "all of it").unwrap();
            copy(&packed, &file).unwrap();
            assert_eq!(fs::read_to_string(&file).unwrap(), "all of it");
            fs::write(&file, "another").unwrap();
            let refused = copy(&packed, &file).unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
            assert_eq!(fs::read_to_string(&file).unwrap(), "another");
            copy(&root.path().join("none"), &root.path().join("new")).unwrap_err();
            assert!(!root.path().join("new").exists());
        }
    }
}
