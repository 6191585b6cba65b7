use executor_core::Cancellation;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use tar::{Builder, EntryType, Header};

/// The file that names the borrowed objects of a repository.
const ALTERNATES: &str = ".git/objects/info/alternates";

/// Writes all files below `project` as a tar archive; blocks.
///
/// A repository gets the objects that it borrows, because their source does not exist where the archive is unpacked.
/// The files have no owner, but keep their modes and times.
pub(super) fn pack(project: &Path, output: File, cancellation: &Cancellation) -> io::Result<()> {
    let mut packer = Packer {
        archive: Builder::new(BufWriter::with_capacity(1 << 16, output)),
        cancellation,
    };
    packer.directory(project, Path::new(""))?;
    packer.archive.into_inner()?.flush()
}

struct Packer<'c> {
    archive: Builder<BufWriter<File>>,
    cancellation: &'c Cancellation,
}

impl Packer<'_> {
    /// Packs the entries of `directory` on this host under `name`.
    fn directory(&mut self, directory: &Path, name: &Path) -> io::Result<()> {
        let mut entries: Vec<PathBuf> = Vec::new();
        for entry in fs::read_dir(directory)? {
            entries.push(entry?.path());
        }
        entries.sort_unstable();
        for path in entries {
            let name = name.join(path.file_name().unwrap_or_default());
            self.entry(&path, &name)?;
        }
        Ok(())
    }

    fn entry(&mut self, path: &Path, name: &Path) -> io::Result<()> {
        if self.cancellation.is_canceled() {
            return Err(io::Error::other("stopped"));
        }
        let metadata = fs::symlink_metadata(path)?;
        if name.ends_with(ALTERNATES) {
            let root = path.parent().and_then(Path::parent).unwrap_or(path);
            let repository = name.parent().and_then(Path::parent).unwrap_or(name);
            return self.borrowed(root, &fs::read_to_string(path)?, repository);
        }
        let mut header = Header::new_gnu();
        header.set_mode(metadata.mode() & 0o777);
        header.set_mtime(u64::try_from(metadata.mtime()).unwrap_or_default());
        header.set_size(0);
        let kind = metadata.file_type();
        if kind.is_dir() {
            header.set_entry_type(EntryType::Directory);
            self.archive.append_data(&mut header, name, io::empty())?;
            return self.directory(path, name);
        }
        if kind.is_symlink() {
            header.set_entry_type(EntryType::Symlink);
            return self
                .archive
                .append_link(&mut header, name, fs::read_link(path)?);
        }
        if kind.is_file() {
            header.set_size(metadata.len());
            return self
                .archive
                .append_data(&mut header, name, File::open(path)?);
        }
        Ok(())
    }

    /// Packs borrowed objects as if they were in the repository at `name`.
    fn borrowed(&mut self, objects: &Path, alternates: &str, name: &Path) -> io::Result<()> {
        for line in alternates.lines().filter(|line| !line.starts_with('#')) {
            let from = objects.join(line);
            for entry in fs::read_dir(&from)? {
                let path = entry?.path();
                let inner = path.file_name().unwrap_or_default();
                if inner != "info" && path.is_dir() {
                    self.directory(&path, &name.join(inner))?;
                }
            }
            let further = fs::read_to_string(from.join("info/alternates"));
            if let Ok(further) = further {
                self.borrowed(&from, &further, name)?;
            }
        }
        Ok(())
    }
}
