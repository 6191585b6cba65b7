use super::error::FilesError;
use super::pipe::PIECE;
use executor_core::ability::ByteStream;
use futures_util::StreamExt;
use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read, Write};
use tar::{Archive, EntryType};
use tokio_util::io::{ReaderStream, StreamReader, SyncIoBridge};
use tokio_util::sync::CancellationToken;

/// The limit for headers and long names before the content.
const LONGEST_HEADER: u64 = 64 * 1024;

/// Writes the only file of an untrusted archive to `target`. Its name and kind must match, and it may have at most
/// `longest` bytes.
pub(crate) async fn single(
    archive: ByteStream,
    name: String,
    mut target: File,
    longest: u64,
) -> io::Result<File> {
    // The thread ends when this future is dropped: the archive may be endless.
    let given_up = CancellationToken::new();
    let stop = given_up.clone().cancelled_owned();
    let _guard = given_up.drop_guard();
    let pieces = ReaderStream::with_capacity(archive, PIECE).take_until(stop);
    let archive = SyncIoBridge::new(StreamReader::new(Box::pin(pieces)));
    let reading = tokio::task::spawn_blocking(move || {
        let left = Cell::new(LONGEST_HEADER);
        let mut archive = Archive::new(Headed {
            archive,
            left: &left,
        });
        let mut entries = archive.entries()?;
        let Some(entry) = entries.next() else {
            return Err(io::Error::new(io::ErrorKind::NotFound, "it is not there"));
        };
        let entry = entry?;
        let is_it = entry.header().entry_type() == EntryType::Regular
            && *entry.path_bytes() == *name.as_bytes();
        if !is_it {
            return Err(refused("the archive has another entry than the file"));
        }
        let size = entry.header().size()?;
        if size > longest {
            return Err(refused(&format!("it is longer than {longest} bytes")));
        }
        left.set(u64::MAX);
        if io::copy(&mut entry.take(longest), &mut HostFile(&mut target))? != size {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(target)
    });
    reading.await.map_err(io::Error::other)?
}

/// Limits how much is read before the content of the file: long names are kept in memory, and can be endless.
struct Headed<'a, R> {
    archive: R,
    left: &'a Cell<u64>,
}

impl<R: Read> Read for Headed<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.archive.read(buffer)?;
        let left = self.left.get().checked_sub(read as u64);
        self.left
            .set(left.ok_or_else(|| refused("its name is too long"))?);
        Ok(read)
    }
}

/// A file of this host, whose errors are marked as such.
struct HostFile<'a>(&'a mut File);

impl Write for HostFile<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map_err(on_host)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().map_err(on_host)
    }
}

fn on_host(error: io::Error) -> io::Error {
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
    use std::pin::Pin;
    use std::task::{Context, Poll};
    use tar::{Builder, Header};
    use tokio::io::{AsyncRead, AsyncReadExt, ReadBuf};

    fn archive(kind: EntryType, name: &str, content: &[u8]) -> Vec<u8> {
        let mut builder = Builder::new(Vec::new());
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_size(content.len() as u64);
        builder.append_data(&mut header, name, content).unwrap();
        builder.into_inner().unwrap()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn single_file_archive_has_exactly_one_file() {
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
        refused(archive(file, "b", b"1"), "another entry").await;
        refused(archive(EntryType::Symlink, "a", b""), "another entry").await;
        refused(archive(EntryType::Directory, "a", b""), "another entry").await;
        refused(archive(file, "a", b"12345")[..514].to_vec(), "end of file").await;
        refused(Vec::new(), "it is not there").await;
    }

    /// Returns an archive with an endless name.
    fn endless(kind: EntryType) -> ByteStream {
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_size(8 << 30);
        header.set_cksum();
        let begin = Cursor::new(header.as_bytes().to_vec());
        Box::new(AsyncReadExt::chain(begin, tokio::io::repeat(b'a')))
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn too_long_names_are_not_stored() {
        for kind in [
            EntryType::GNULongName,
            EntryType::GNULongLink,
            EntryType::XHeader,
        ] {
            let target = tempfile::tempfile().unwrap();
            let taken = single(endless(kind), "a".to_owned(), target, 1 << 40).await;
            let words = taken.unwrap_err().to_string();
            assert!(words.contains("name is too long"), "{kind:?}: {words}");
        }
    }

    /// Reports when it is dropped.
    struct DropReporter<R> {
        archive: R,
        _dropped: tokio::sync::oneshot::Sender<()>,
    }

    impl<R: AsyncRead + Unpin> AsyncRead for DropReporter<R> {
        fn poll_read(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
            buffer: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            Pin::new(&mut self.archive).poll_read(context, buffer)
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn endless_file_ends_with_its_reader() {
        let mut header = Header::new_gnu();
        header.set_path("a").unwrap();
        header.set_size(1 << 40);
        header.set_cksum();
        let (sender, dropped) = tokio::sync::oneshot::channel();
        // Nothing follows the header, and the stream stays open.
        let (_open, rest) = tokio::io::duplex(1);
        let begin = Cursor::new(header.as_bytes().to_vec());
        let archive: ByteStream = Box::new(DropReporter {
            archive: AsyncReadExt::chain(begin, rest),
            _dropped: sender,
        });
        let target = tempfile::tempfile().unwrap();
        let mut taking = Box::pin(single(archive, "a".to_owned(), target, 1 << 40));
        tokio::select! {
            biased;
            taken = &mut taking => panic!("it is endless: {taken:?}"),
            () = std::future::ready(()) => {}
        }
        drop(taking);
        dropped.await.unwrap_err();
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn full_disk_of_this_host_is_reported() {
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
