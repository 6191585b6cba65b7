use super::pack;
use super::pipe::{DEPTH, PieceWriter};
use executor_core::ability::ByteStream;
use std::io::{self, Cursor};
use std::path::PathBuf;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::io::StreamReader;

/// Returns all that is in a directory of this host as an archive, which is packed while it is read.
pub(crate) fn packed(directory: PathBuf) -> ByteStream {
    let (sender, packed) = mpsc::channel(DEPTH);
    let mut packing = JoinSet::new();
    // When nobody reads any more the receiver is dropped with the stream, and the thread ends.
    packing.spawn_blocking(move || {
        let wrap = |data| Ok(Cursor::new(data));
        let writer = PieceWriter::new(sender.clone(), wrap);
        if let Err(error) = pack::pack(&directory, &[".".to_owned()], writer) {
            // Whoever does not listen any more needs no error.
            let _ = sender.blocking_send(Err(io::Error::other(error)));
        }
    });
    // The thread has an owner as long as there is the stream.
    let pieces = ReceiverStream::new(packed).map(move |piece| {
        let _ = &packing;
        piece
    });
    Box::new(StreamReader::new(pieces))
}
