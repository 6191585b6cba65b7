use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Reads at most `limit` bytes of an untrusted file, such as a job's.
///
/// Another process may have replaced the file since it was found. So only a regular file is read: no
/// link is followed, and a pipe does not block.
pub(crate) fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Opens an untrusted file in the same way.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(rustix::io::Errno::LOOP) => return Err(no_plain_file()),
        Err(error) => return Err(error.into()),
    };
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(no_plain_file());
    }
    Ok(file)
}

fn no_plain_file() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "it is not a plain file")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_are_read_up_to_the_limit() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = |name| directory.path().join(name);
        std::fs::write(path("file"), "content").expect("written");
        std::os::unix::fs::symlink(path("file"), path("link")).expect("linked");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            path("pipe"),
            rustix::fs::FileType::Fifo,
            Mode::RUSR,
            0,
        )
        .expect("made");
        assert_eq!(read(&path("file"), 100).expect("read"), b"content");
        assert_eq!(read(&path("file"), 3).expect("read"), b"con");
        for name in ["link", "pipe", "."] {
            let error = read(&path(name), 100).expect_err(name);
            assert_eq!(error.to_string(), "it is not a plain file", "{name}");
        }
        assert!(read(&path("none"), 100).is_err());
    }
}
