use super::error::FilesError;
use executor_core::ability::ByteStream;
use std::fs::File;
use std::io::{self, Read, Write};
use tar::{Archive, EntryType};
use tokio_util::io::SyncIoBridge;

/// Writes the one file that an archive from the environment holds to `target`, which must be it by name and kind, and no
/// longer than `longest`.
pub(crate) async fn single(
    archive: ByteStream,
    name: String,
    mut target: File,
    longest: u64,
) -> io::Result<File> {
    let archive = SyncIoBridge::new(archive);
    let reading = tokio::task::spawn_blocking(move || {
        let mut archive = Archive::new(archive);
        let mut entries = archive.entries()?;
        let Some(entry) = entries.next() else {
            return Err(io::Error::new(io::ErrorKind::NotFound, "it is not there"));
        };
        let entry = entry?;
        let is_it = entry.header().entry_type() == EntryType::Regular
            && *entry.path_bytes() == *name.as_bytes();
        if !is_it {
            return Err(refused("something else came instead of the file"));
        }
        let size = entry.header().size()?;
        if size > longest {
            return Err(refused(&format!("it is longer than {longest} bytes")));
        }
        if io::copy(&mut entry.take(longest), &mut Here(&mut target))? != size {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(target)
    });
    reading.await.map_err(io::Error::other)?
}

/// A file of this host, whose errors say so: there are also those of the environment.
struct Here<'a>(&'a mut File);

impl Write for Here<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map_err(here)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().map_err(here)
    }
}

fn here(error: io::Error) -> io::Error {
    let directory = std::env::temp_dir();
    let action = "write to a file of this host in";
    io::Error::new(error.kind(), FilesError::io(action, &directory)(error))
}

fn refused(words: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;
    use tar::{Builder, Header};

    fn archive(kind: EntryType, name: &str, content: &[u8]) -> Vec<u8> {
        let mut builder = Builder::new(Vec::new());
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_size(content.len() as u64);
        builder.append_data(&mut header, name, content).unwrap();
        builder.into_inner().unwrap()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn one_file_is_taken_and_nothing_else() {
        let take = async |archive: Vec<u8>| {
            let target = tempfile::tempfile().unwrap();
            let archive: ByteStream = Box::new(Cursor::new(archive));
            let taken = single(archive, "a".to_owned(), target, 5).await;
            taken.map_err(|error| error.to_string())
        };
        let file = EntryType::Regular;
        let taken = take(archive(file, "a", b"12345")).await.unwrap();
        assert_eq!(taken.metadata().unwrap().len(), 5);
        let refused = async |archive, expect: &str| {
            let words = take(archive).await.unwrap_err();
            assert!(words.contains(expect), "{words}");
        };
        refused(archive(file, "a", b"123456"), "longer than 5 bytes").await;
        refused(archive(file, "b", b"1"), "something else").await;
        refused(archive(EntryType::Symlink, "a", b""), "something else").await;
        refused(archive(EntryType::Directory, "a", b""), "something else").await;
        refused(archive(file, "a", b"12345")[..514].to_vec(), "end of file").await;
        refused(Vec::new(), "it is not there").await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_full_disk_of_this_host_is_told() {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let bytes = archive(EntryType::Regular, "a", b"12345");
        let taken = single(Box::new(Cursor::new(bytes)), "a".to_owned(), full, 5).await;
        let error = taken.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        let words = executor_core::chain(&error);
        assert!(words.contains("write to a file of this host"), "{words}");
        assert!(words.contains("No space left"), "{words}");
    }
}
