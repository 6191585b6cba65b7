//! Archives between the runner's stores and helper commands.

use crate::artifacts::{Collected, collect};
use crate::directories::JobDirectory;
use crate::panics::off_thread;
use archive::{Level, Limits, LinkTargets, Packing};
use executor_core::Cancellation;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The file that names the borrowed objects of a repository.
const ALTERNATES: &str = "objects/info/alternates";

/// Packs all of a directory into a new zip archive, and removes the directory.
///
/// Hardly anything is compressed, because the archive stays on this host or crosses one connection. A repository gets
/// the objects that it borrows: their source does not exist where the archive is unpacked.
pub(super) async fn pack_all(
    directory: &Path,
    file: &Path,
    cancellation: &Cancellation,
) -> io::Result<()> {
    let (directory, file, stop) = (directory.to_owned(), file.to_owned(), cancellation.clone());
    let work = move || {
        let mut paths = Vec::new();
        list(&directory, Path::new(""), &mut paths)?;
        let lenders: Vec<PathBuf> = paths
            .iter()
            .filter(|it| it.ends_with(ALTERNATES))
            .cloned()
            .collect();
        if !lenders.is_empty() {
            for alternates in lenders {
                let objects = alternates
                    .parent()
                    .and_then(Path::parent)
                    .unwrap_or(&alternates);
                let objects = directory.join(objects);
                borrow(&objects, &objects)?;
                fs::remove_file(directory.join(&alternates))?;
            }
            paths.clear();
            list(&directory, Path::new(""), &mut paths)?;
        }
        let packing = Packing {
            level: Level::Fastest,
            ..Packing::default()
        };
        let packed = archive::pack(&directory, &paths, &file, &packing, &stop);
        packed.map_err(io::Error::other)?;
        process::remove_tree(&directory)
    };
    off_thread(work).await.flatten()
}

/// Unpacks an archive that a helper command sent into a new directory, removes it, and returns all files.
pub(super) async fn unpack_all(
    file: &Path,
    into: &JobDirectory,
    cancellation: &Cancellation,
) -> io::Result<Collected> {
    let (file, into, stop) = (file.to_owned(), into.clone(), cancellation.clone());
    let work = move || {
        let limits = Limits {
            links: LinkTargets::Anywhere,
            ..Limits::default()
        };
        archive::unpack(&file, &into.host, &limits, &stop).map_err(io::Error::other)?;
        fs::remove_file(&file)?;
        collect(&into, &[".".to_owned()], &[], &[]).map_err(io::Error::other)
    };
    off_thread(work).await.flatten()
}

/// Lists all entries below `root/inner`.
fn list(root: &Path, inner: &Path, paths: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(root.join(inner))? {
        let entry = entry?;
        let path = inner.join(entry.file_name());
        let is_dir = entry.file_type()?.is_dir();
        paths.push(path.clone());
        if is_dir {
            list(root, &path, paths)?;
        }
    }
    Ok(())
}

/// Copies the objects that `objects` borrows into the directory `own`.
fn borrow(objects: &Path, own: &Path) -> io::Result<()> {
    let alternates = match fs::read_to_string(objects.join("info/alternates")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        read => read?,
    };
    for line in alternates.lines().filter(|line| !line.starts_with('#')) {
        let from = objects.join(line);
        let mut paths = Vec::new();
        list(&from, Path::new(""), &mut paths)?;
        for path in paths.iter().filter(|it| !it.starts_with("info")) {
            let (source, target) = (from.join(path), own.join(path));
            if source.is_dir() {
                fs::create_dir_all(target)?;
            } else if !target.exists() {
                fs::copy(source, target)?;
            }
        }
        borrow(&from, own)?;
    }
    Ok(())
}
