use super::error::FilesError;
use super::name::path_of;
use super::pipe::{DEPTH, PieceWriter};
use executor_core::ability::ByteStream;
use process::{Folder, parent_and_name};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Cursor, Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use tar::{Builder, EntryType, Header};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::io::StreamReader;

/// Packs files and directories below a directory.
///
/// Missing paths, paths behind a link, and special files are left out. Links are packed as links.
pub(super) fn pack(
    directory: &Path,
    paths: &[String],
    archive: impl Write,
) -> Result<(), FilesError> {
    let mut requested = Vec::new();
    for path in paths {
        let parsed = path_of(path.as_bytes());
        requested.push(parsed.map_err(|why| FilesError::Path {
            path: path.clone(),
            why,
        })?);
    }
    let mut packer = Packer {
        folder: Folder::open(directory).map_err(FilesError::io("open", directory))?,
        builder: Builder::new(archive),
    };
    for path in requested {
        packer.add_tree(path)?;
    }
    let mut archive = packer.builder.into_inner().map_err(FilesError::Archive)?;
    archive.flush().map_err(FilesError::Archive)
}

struct Packer<W: Write> {
    folder: Folder,
    builder: Builder<W>,
}

impl<W: Write> Packer<W> {
    fn add_tree(&mut self, path: PathBuf) -> Result<(), FilesError> {
        // The paths that are still to be packed, the next one last.
        let mut open = vec![path];
        while let Some(path) = open.pop() {
            if !path.as_os_str().is_empty() && !self.add(&path)? {
                continue;
            }
            let names = self.names(&path).map_err(FilesError::io("read", &path))?;
            open.extend(names.into_iter().rev().map(|name| path.join(name)));
        }
        Ok(())
    }

    /// Packs one path; returns whether it is a directory.
    fn add(&mut self, path: &Path) -> Result<bool, FilesError> {
        match self.add_existing(path) {
            Err(FilesError::Io { source, .. }) if is_missing(&source) => Ok(false),
            added => added,
        }
    }

    fn add_existing(&mut self, path: &Path) -> Result<bool, FilesError> {
        let failed = |error: Errno| FilesError::io("read", path)(error.into());
        let (parent, name) = parent_and_name(path).map_err(FilesError::io("read", path))?;
        let folder = self.folder.below(parent).map_err(failed)?;
        let stat = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).map_err(failed)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => {
                let header = header(&stat, EntryType::Directory);
                self.append(&stat, header, &path.join(""), io::empty())?;
                return Ok(true);
            }
            FileType::Symlink => {
                let target = rustix::fs::readlinkat(folder, name, Vec::new()).map_err(failed)?;
                self.append_times(&stat)?;
                let mut header = header(&stat, EntryType::Symlink);
                let target = Path::new(OsStr::from_bytes(target.as_bytes()));
                self.builder
                    .append_link(&mut header, path, target)
                    .map_err(FilesError::Archive)?;
            }
            FileType::RegularFile => {
                // It may have been replaced by a pipe, which must not block, or a link, which must not be followed.
                let flags = OFlags::RDONLY
                    | OFlags::NOFOLLOW
                    | OFlags::NONBLOCK
                    | OFlags::NOCTTY
                    | OFlags::CLOEXEC;
                let file =
                    rustix::fs::openat(folder, name, flags, Mode::empty()).map_err(failed)?;
                let stat = rustix::fs::fstat(&file).map_err(failed)?;
                if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
                    return Ok(false);
                }
                self.append_file(path, &stat, File::from(file))?;
            }
            _ => {}
        }
        Ok(false)
    }

    fn append_file(&mut self, path: &Path, stat: &Stat, file: File) -> Result<(), FilesError> {
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        let mut header = header(stat, EntryType::Regular);
        header.set_size(size);
        let mut exactly = Exactly {
            file,
            left: size,
            problem: None,
        };
        let appended = self.append(stat, header, path, &mut exactly);
        match exactly.problem {
            Some(Problem::Short) => Err(FilesError::Changed(path.to_owned())),
            Some(Problem::Unread(error)) => Err(FilesError::io("read", path)(error)),
            None => appended,
        }
    }

    fn append(
        &mut self,
        stat: &Stat,
        mut header: Header,
        path: &Path,
        content: impl Read,
    ) -> Result<(), FilesError> {
        self.append_times(stat)?;
        self.builder
            .append_data(&mut header, path, content)
            .map_err(FilesError::Archive)
    }

    /// Writes the fractions of a second, which do not fit into the header.
    fn append_times(&mut self, stat: &Stat) -> Result<(), FilesError> {
        if stat.st_mtime_nsec == 0 || stat.st_mtime < 0 {
            return Ok(());
        }
        let time = format!("{}.{:09}", stat.st_mtime, stat.st_mtime_nsec);
        self.builder
            .append_pax_extensions([("mtime", time.as_bytes())])
            .map_err(FilesError::Archive)
    }

    /// Returns the sorted names in a directory.
    fn names(&mut self, path: &Path) -> io::Result<Vec<OsString>> {
        let folder = match self.folder.below(path) {
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(Vec::new()),
            folder => folder?,
        };
        let mut names = Vec::new();
        for entry in Dir::read_from(folder)? {
            let name = entry?.file_name().to_bytes().to_vec();
            if name != b"." && name != b".." {
                names.push(OsString::from_vec(name));
            }
        }
        names.sort_unstable();
        Ok(names)
    }
}

fn header(stat: &Stat, kind: EntryType) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(stat.st_mode & 0o777);
    header.set_uid(stat.st_uid.into());
    header.set_gid(stat.st_gid.into());
    header.set_mtime(u64::try_from(stat.st_mtime).unwrap_or(0));
    header.set_size(0);
    header
}

fn is_missing(error: &io::Error) -> bool {
    let errno = error.raw_os_error();
    let missing = [
        Errno::NOENT,
        Errno::NOTDIR,
        Errno::LOOP,
        Errno::NXIO,
        Errno::XDEV,
    ];
    missing
        .iter()
        .any(|known| Some(known.raw_os_error()) == errno)
}

/// Reads exactly the number of bytes of a file that its header announced.
#[derive(Debug)]
struct Exactly {
    file: File,
    left: u64,
    problem: Option<Problem>,
}

#[derive(Debug)]
enum Problem {
    Short,
    Unread(io::Error),
}

impl Read for Exactly {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            return Ok(0);
        }
        let most = usize::try_from(self.left)
            .unwrap_or(usize::MAX)
            .min(buffer.len());
        self.problem = Some(match self.file.read(&mut buffer[..most]) {
            Ok(0) => Problem::Short,
            Ok(read) => {
                self.left -= read as u64;
                return Ok(read);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Err(error),
            Err(error) => Problem::Unread(error),
        });
        Err(io::Error::other("the file cannot be read to its end"))
    }
}

/// Returns a directory of this host as an archive, which is packed while it is read.
pub(crate) fn packed(directory: PathBuf) -> ByteStream {
    let (sender, packed) = mpsc::channel(DEPTH);
    let mut packing = JoinSet::new();
    // If the stream is dropped, so is the receiver, and the thread ends.
    packing.spawn_blocking(move || {
        let wrap = |data| Ok(Cursor::new(data));
        let writer = PieceWriter::new(sender.clone(), wrap);
        if let Err(error) = pack(&directory, &[".".to_owned()], writer) {
            // This fails if the stream was dropped.
            let _ = sender.blocking_send(Err(io::Error::other(error)));
        }
    });
    // The stream owns the thread.
    let pieces = ReceiverStream::new(packed).map(move |piece| {
        let _ = &packing;
        piece
    });
    Box::new(StreamReader::new(pieces))
}
