use super::error::FilesError;
use super::pipe::{DEPTH, Piece, PieceReader, PieceWriter};
use super::{chown, pack, unpack};
use crate::wire::v1;
use executor_core::{CancelCause, Cancellation};
use rustix::fs::{Gid, Uid};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::{JoinError, JoinHandle, JoinSet};
use tokio::time::timeout;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Status, Streaming};

/// The response of [`get`].
pub(crate) type Pieces = crate::service::ResponseStream<v1::GetFilesResponse>;

/// Unpacks the archive of a `PutFiles` call. `requests` is the parent of the requests' directories.
pub(crate) async fn put(
    mut pieces: Streaming<v1::PutFilesRequest>,
    longest_stall: Duration,
    requests: &Path,
) -> Result<(), Status> {
    let Some(first) = pieces.message().await? else {
        return Err(Status::invalid_argument("expected a directory"));
    };
    let directory = absolute(&first.directory)?;
    let is_gone = directory.parent().is_some_and(|parent| !parent.is_dir());
    if directory.starts_with(requests) && is_gone {
        // The directory would never be removed.
        return Err(Status::failed_precondition(
            "the request of the directory is gone",
        ));
    }
    let (sender, receiver) = mpsc::channel(DEPTH);
    // If the caller is gone, this future and the sender are dropped, and the thread ends.
    let unpacked =
        tokio::task::spawn_blocking(move || unpack::unpack(&directory, PieceReader::new(receiver)));
    let passed = pass_on(first, &mut pieces, sender, longest_stall).await;
    let unpacked = unpacked.await.map_err(|error| broken(&error))?;
    if let Err(Passing::Stalled) = passed {
        return Err(stalled());
    }
    // If both failed, the thread's error is the cause of the other.
    unpacked?;
    passed.map_err(|failed| match failed {
        Passing::Stalled => stalled(),
        Passing::Cut(status) => status,
    })
}

/// Why an archive is incomplete.
#[derive(Debug)]
enum Passing {
    Cut(Status),
    Stalled,
}

/// Passes on an archive until its end, or until its reader ends.
async fn pass_on(
    first: v1::PutFilesRequest,
    pieces: &mut Streaming<v1::PutFilesRequest>,
    sender: mpsc::Sender<Piece>,
    longest_stall: Duration,
) -> Result<(), Passing> {
    let mut next = Some(first);
    while let Some(piece) = next {
        let is_taken = piece.data.is_empty() || sender.send(Piece::Bytes(piece.data)).await.is_ok();
        if !is_taken || (piece.last && sender.send(Piece::Last).await.is_err()) {
            return Ok(());
        }
        let message = timeout(longest_stall, pieces.message()).await;
        let message = message.map_err(|_| Passing::Stalled)?;
        next = message.map_err(Passing::Cut)?;
    }
    Ok(())
}

/// Returns the error of a stalled transfer, which would otherwise hold a thread and memory.
fn stalled() -> Status {
    Status::deadline_exceeded("the transfer of files made no progress for too long")
}

/// Packs the archive of a `GetFiles` call.
pub(crate) fn get(request: v1::GetFilesRequest, longest_stall: Duration) -> Result<Pieces, Status> {
    let directory = absolute(&request.directory)?;
    let (sender, packed) = mpsc::channel(DEPTH);
    let (to_caller, receiver) = mpsc::channel(1);
    let mut packing = JoinSet::new();
    // If the caller is gone, the stream and the receiver are dropped, and the thread ends.
    packing.spawn_blocking(move || {
        let wrap = |data| Ok(v1::GetFilesResponse { data });
        let writer = PieceWriter::new(sender.clone(), wrap);
        if let Err(error) = pack::pack(&directory, &request.paths, writer) {
            // This fails if the caller is gone.
            let _ = sender.blocking_send(Err(error.into()));
        }
    });
    packing.spawn(forward(packed, to_caller, longest_stall));
    // The stream owns both tasks.
    let pieces = ReceiverStream::new(receiver).map(move |piece| {
        let _ = &packing;
        piece
    });
    Ok(Box::pin(pieces))
}

/// Forwards pieces as fast as the caller reads them. If it stalls, the packer ends at once, and the caller gets the error
/// with its next read.
async fn forward<T>(
    mut packed: mpsc::Receiver<Result<T, Status>>,
    to_caller: mpsc::Sender<Result<T, Status>>,
    longest_stall: Duration,
) {
    while let Some(piece) = packed.recv().await {
        match timeout(longest_stall, to_caller.reserve()).await {
            Ok(Ok(room)) => room.send(piece),
            Ok(Err(_)) => return,
            Err(_) => {
                drop((packed, piece));
                // Fails when the caller is gone.
                let _ = to_caller.send(Err(stalled())).await;
                return;
            }
        }
    }
}

/// Changes the owner of a tree of files.
pub(crate) async fn own(request: v1::OwnRequest) -> Result<(), Status> {
    let path = absolute(&request.path)?;
    let owner = (Uid::from_raw(request.uid), Gid::from_raw(request.gid));
    let stop = StopOnDrop(Cancellation::new());
    let cancellation = stop.0.clone();
    let given: JoinHandle<Result<(), FilesError>> =
        tokio::task::spawn_blocking(move || chown::chown(&path, owner, &cancellation));
    Ok(given.await.map_err(|error| broken(&error))??)
}

/// Stops the blocking work when its waiter is dropped.
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
    Status::internal(format!("the transfer of files panicked: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn stalled_caller_ends_the_packer() {
        let longest = Duration::from_secs(10);
        let (sending, packed) = mpsc::channel(DEPTH);
        let (to_caller, mut caller) = mpsc::channel(1);
        let forwarding = forward(packed, to_caller, longest);
        let using = async {
            for number in 0..3 {
                sending.send(Ok(number)).await.unwrap();
            }
            // Slow, but not too slow.
            tokio::time::sleep(longest * 9 / 10).await;
            assert_eq!(caller.recv().await.unwrap().unwrap(), 0);
            sending.closed().await;
            let late = caller.recv().await.unwrap();
            assert_eq!(late.unwrap(), 1);
            let end = caller.recv().await.unwrap();
            assert_eq!(end.unwrap_err().code(), tonic::Code::DeadlineExceeded);
            assert!(caller.recv().await.is_none());
        };
        tokio::join!(forwarding, using);
    }
}
