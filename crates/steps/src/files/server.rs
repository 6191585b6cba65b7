use super::error::FilesError;
use super::pipe::{DEPTH, Piece, PieceReader, PieceWriter};
use super::{owner, pack, unpack};
use crate::wire::v1;
use executor_core::{CancelCause, Cancellation};
use rustix::fs::{Gid, Uid};
use std::path::PathBuf;
use tokio::sync::mpsc;
use tokio::task::{JoinError, JoinHandle, JoinSet};
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Status, Streaming};

/// What [`get`] answers with.
pub(crate) type Pieces = crate::service::Answers<v1::GetFilesResponse>;

/// Unpacks the archive of a `PutFiles` call.
pub(crate) async fn put(mut pieces: Streaming<v1::PutFilesRequest>) -> Result<(), Status> {
    let Some(first) = pieces.message().await? else {
        return Err(Status::invalid_argument("no directory is given"));
    };
    let directory = absolute(&first.directory)?;
    let (sender, receiver) = mpsc::channel(DEPTH);
    // When the caller is gone the sender is dropped with this future, and the thread ends.
    let unpacked =
        tokio::task::spawn_blocking(move || unpack::unpack(&directory, PieceReader::new(receiver)));
    let passed = pass_on(first, &mut pieces, sender).await;
    // If both failed, it is because of the thread that nobody took the pieces.
    unpacked.await.map_err(|error| broken(&error))??;
    passed
}

/// Passes an archive on until its end, or until nobody takes it any more.
async fn pass_on(
    first: v1::PutFilesRequest,
    pieces: &mut Streaming<v1::PutFilesRequest>,
    sender: mpsc::Sender<Piece>,
) -> Result<(), Status> {
    let mut next = Some(first);
    while let Some(piece) = next {
        let is_taken = piece.data.is_empty() || sender.send(Piece::Bytes(piece.data)).await.is_ok();
        if !is_taken || (piece.last && sender.send(Piece::Last).await.is_err()) {
            return Ok(());
        }
        next = pieces.message().await?;
    }
    Ok(())
}

/// Packs the archive of a `GetFiles` call.
pub(crate) async fn get(request: v1::GetFilesRequest) -> Result<Pieces, Status> {
    let directory = absolute(&request.directory)?;
    let (sender, receiver) = mpsc::channel(DEPTH);
    let mut packing = JoinSet::new();
    // When the caller is gone the receiver is dropped with the stream, and the thread ends.
    packing.spawn_blocking(move || {
        let wrap = |data| Ok(v1::GetFilesResponse { data });
        let writer = PieceWriter::new(sender.clone(), wrap);
        if let Err(error) = pack::pack(&directory, &request.paths, writer) {
            // Whoever does not listen any more needs no error.
            let _ = sender.blocking_send(Err(error.into()));
        }
    });
    // The thread lives no longer than the stream.
    let pieces = ReceiverStream::new(receiver).map(move |piece| {
        let _ = &packing;
        piece
    });
    Ok(Box::pin(pieces))
}

/// Gives a tree of files to another owner.
pub(crate) async fn own(request: v1::OwnRequest) -> Result<(), Status> {
    let path = absolute(&request.path)?;
    let owner = (Uid::from_raw(request.uid), Gid::from_raw(request.gid));
    let stop = StopOnDrop(Cancellation::new());
    let cancellation = stop.0.clone();
    let given: JoinHandle<Result<(), FilesError>> =
        tokio::task::spawn_blocking(move || owner::give(&path, owner, &cancellation));
    Ok(given.await.map_err(|error| broken(&error))??)
}

/// Ends what a thread does when nobody waits for it any more.
struct StopOnDrop(Cancellation);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.abort(CancelCause::Source);
    }
}

fn absolute(path: &str) -> Result<PathBuf, Status> {
    if path.starts_with('/') && !path.contains('\0') {
        Ok(PathBuf::from(path))
    } else {
        let error = FilesError::Path {
            path: path.to_owned(),
            why: "is not absolute",
        };
        Err(error.into())
    }
}

fn broken(error: &JoinError) -> Status {
    Status::internal(format!("the work on files broke: {error}"))
}
