use super::contents::{Contents, Entry};
use super::error::ImageError;
use executor_core::Cancellation;
use fail_point::fail_point;
use process::{Folder, parent_and_name};
use rustix::fs::{FileType, Mode, OFlags};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use tar::{Builder, EntryType, Header};

/// Content that is addressed by its digest.
#[derive(Debug)]
pub(super) struct Blob {
    /// `sha256:` and 64 digits.
    pub(super) digest: String,
    pub(super) size: u64,
    pub(super) content: Content,
}

/// The bytes of a blob.
#[derive(Debug)]
pub(super) enum Content {
    Bytes(Vec<u8>),
    File(File),
}

impl Blob {
    pub(super) fn of(bytes: Vec<u8>) -> Self {
        Self {
            digest: format!("sha256:{:x}", Sha256::digest(&bytes)),
            size: bytes.len() as u64,
            content: Content::Bytes(bytes),
        }
    }

    /// Writes a layer to a new file at `path`.
    pub(super) fn layer(
        contents: &Contents,
        sources: &Path,
        path: &Path,
        cancellation: &Cancellation,
    ) -> Result<Self, ImageError> {
        let mut options = File::options();
        options.read(true).write(true).create_new(true);
        let file = fail_point!("steps::image::layer", options.open(path));
        let file = file.map_err(ImageError::io("create", path))?;
        let mut writer = LayerWriter {
            folder: Folder::open(sources).map_err(ImageError::io("open", sources))?,
            builder: Builder::new(Hashed::new(file)),
        };
        for (path, entry) in &contents.0 {
            if cancellation.is_canceled() {
                return Err(ImageError::Stopped);
            }
            writer.add(path, entry, cancellation)?;
        }
        let hashed = writer.builder.into_inner();
        let hashed = hashed.map_err(ImageError::io("write", path))?;
        Ok(Self {
            digest: format!("sha256:{:x}", hashed.hasher.finalize()),
            size: hashed.size,
            content: Content::File(hashed.file),
        })
    }
}

/// Writes a reproducible layer, without owners and times.
struct LayerWriter {
    folder: Folder,
    builder: Builder<Hashed>,
}

impl LayerWriter {
    fn add(
        &mut self,
        path: &Path,
        entry: &Entry,
        cancellation: &Cancellation,
    ) -> Result<(), ImageError> {
        match entry {
            Entry::Directory => {
                let mut header = header(EntryType::Directory, 0o755, 0);
                let added = self
                    .builder
                    .append_data(&mut header, path.join(""), io::empty());
                added.map_err(ImageError::io("write", path))
            }
            Entry::Link(target) => {
                let mut header = header(EntryType::Symlink, 0o777, 0);
                let added = self.builder.append_link(&mut header, path, target);
                added.map_err(ImageError::io("write", path))
            }
            Entry::File(source) => self.add_file(path, source, cancellation),
        }
    }

    fn add_file(
        &mut self,
        path: &Path,
        source: &Path,
        cancellation: &Cancellation,
    ) -> Result<(), ImageError> {
        let opened = self.open(source).map_err(ImageError::io("open", source))?;
        let Some((file, size, mode)) = opened else {
            return Err(ImageError::entry(source, "is not a file any more"));
        };
        let mut header = header(EntryType::Regular, mode, size);
        let mut content = Watched {
            file: file.take(size),
            read: 0,
            cancellation,
        };
        let added = self.builder.append_data(&mut header, path, &mut content);
        if cancellation.is_canceled() {
            return Err(ImageError::Stopped);
        }
        added.map_err(ImageError::io("read", source))?;
        if content.read != size {
            return Err(ImageError::entry(source, "changed while it was read"));
        }
        Ok(())
    }

    /// Opens a file without following a link; `None` if it is not a regular file.
    fn open(&mut self, source: &Path) -> io::Result<Option<(File, u64, u32)>> {
        let (parent, name) = parent_and_name(source)?;
        let folder = self.folder.below(parent)?;
        // It may have been replaced by a pipe, which must not block, or a link, which must not be followed.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = rustix::fs::openat(folder, name, flags, Mode::empty())?;
        let stat = rustix::fs::fstat(&file)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Ok(None);
        }
        let mode = if stat.st_mode & 0o111 == 0 {
            0o644
        } else {
            0o755
        };
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        Ok(Some((File::from(file), size, mode)))
    }
}

/// Returns the header of an entry, which belongs to root and has time 0.
pub(super) fn header(kind: EntryType, mode: u32, size: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header.set_size(size);
    header
}

/// A file that can be read until the build is stopped.
struct Watched<'a> {
    file: io::Take<File>,
    read: u64,
    cancellation: &'a Cancellation,
}

impl Read for Watched<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.cancellation.is_canceled() {
            return Err(io::Error::other("stopped"));
        }
        let read = self.file.read(buffer)?;
        self.read += read as u64;
        Ok(read)
    }
}

/// A file whose digest is computed while it is written.
#[derive(Debug)]
struct Hashed {
    file: File,
    hasher: Sha256,
    size: u64,
}

impl Hashed {
    fn new(file: File) -> Self {
        Self {
            file,
            hasher: Sha256::new(),
            size: 0,
        }
    }
}

impl Write for Hashed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        self.size += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
