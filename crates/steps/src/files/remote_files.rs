use super::pipe::PIECE;
use crate::client::StepsError;
use crate::client::call::{Attempts, Failure, refusal};
use crate::client::link::Link;
use crate::wire::v1;
use async_trait::async_trait;
use executor_core::ability::{ByteStream, FileTransfer};
use executor_core::{BuildError, Cancellation};
use fail_point::fail_point;
use futures_util::stream::unfold;
use parking_lot::Mutex;
use std::io::{self, Cursor};
use std::sync::Arc;
use tokio::io::AsyncReadExt;
use tokio_stream::StreamExt;
use tokio_util::io::StreamReader;

/// Transfers files through the service.
#[derive(Debug)]
pub(crate) struct RemoteFiles {
    link: Arc<Link>,
}

impl RemoteFiles {
    pub(crate) fn new(link: Arc<Link>) -> Self {
        Self { link }
    }

    pub(crate) async fn own(&self, request: v1::OwnRequest) -> Result<(), StepsError> {
        let mut attempts = Attempts::new(&self.link);
        let never = Cancellation::new();
        loop {
            // No timeout of its own: a tree may be large, and a broken connection is noticed anyway.
            match self.link.service().own(request.clone()).await {
                Ok(_) => return Ok(()),
                Err(status) => match Failure::from(status) {
                    Failure::Refused(status) => return Err(refusal(&status, "")),
                    Failure::Gone(cause) => attempts.wait(cause, &never).await?,
                },
            }
        }
    }

    /// Waits until the service answers: bytes from a stream can be sent only once.
    async fn ready(&self, cancellation: &Cancellation) -> Result<(), StepsError> {
        Attempts::new(&self.link)
            .call("", cancellation, |mut service| async move {
                service.hello(v1::HelloRequest {}).await
            })
            .await?;
        Ok(())
    }

    async fn send(&self, directory: &str, archive: ByteStream) -> Result<(), BuildError> {
        let unread = Arc::new(Mutex::new(None));
        let first = v1::PutFilesRequest {
            directory: directory.to_owned(),
            ..v1::PutFilesRequest::default()
        };
        let pieces = tokio_stream::once(first).chain(pieces(archive, Arc::clone(&unread)));
        let put = self.link.service().put_files(pieces).await;
        let put = fail_point!("steps::files::put", put);
        let unread = unread.lock().take();
        if let Some(error) = unread {
            return Err(BuildError::system("steps", "read the archive", error));
        }
        put.map_err(|status| failed("send files", status))?;
        Ok(())
    }
}

/// Returns the archive as messages. If it cannot be read, the stream ends without a last message, so that the service does
/// not take it as complete.
fn pieces(
    archive: ByteStream,
    unread: Arc<Mutex<Option<io::Error>>>,
) -> impl tokio_stream::Stream<Item = v1::PutFilesRequest> + Send {
    unfold(Some((archive, unread)), |state| async {
        let (mut archive, unread) = state?;
        let mut data = Vec::with_capacity(PIECE);
        // Fills the whole piece, since a pipe returns less at a time.
        while data.len() < PIECE {
            let mut rest = (&mut archive).take((PIECE - data.len()) as u64);
            match rest.read_buf(&mut data).await {
                Ok(0) => {
                    let last = v1::PutFilesRequest {
                        data,
                        last: true,
                        ..v1::PutFilesRequest::default()
                    };
                    return Some((last, None));
                }
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    *unread.lock() = Some(error);
                    return None;
                }
            }
        }
        let piece = v1::PutFilesRequest {
            data,
            ..v1::PutFilesRequest::default()
        };
        Some((piece, Some((archive, unread))))
    })
}

fn failed(what: &'static str, status: tonic::Status) -> BuildError {
    match Failure::from(status) {
        Failure::Gone(cause) => BuildError::system("steps", what, cause),
        Failure::Refused(status) => refusal(&status, "").into(),
    }
}

/// Returns the error of a reader. Its kind tells whether the connection broke: the code that unpacks an archive keeps
/// only the kind.
pub(crate) fn unread(error: BuildError) -> io::Error {
    let kind = if error.is_temporary() {
        io::ErrorKind::ConnectionAborted
    } else {
        io::ErrorKind::Other
    };
    io::Error::new(kind, error)
}

#[async_trait]
impl FileTransfer for RemoteFiles {
    async fn put(
        &self,
        directory: &str,
        archive: ByteStream,
        cancellation: &Cancellation,
    ) -> Result<(), BuildError> {
        self.ready(cancellation).await?;
        tokio::select! {
            put = self.send(directory, archive) => put,
            cause = cancellation.canceled() => Err(cause.into()),
        }
    }

    async fn get(
        &self,
        directory: &str,
        paths: &[String],
        cancellation: &Cancellation,
    ) -> Result<ByteStream, BuildError> {
        self.ready(cancellation).await?;
        let request = v1::GetFilesRequest {
            directory: directory.to_owned(),
            paths: paths.to_vec(),
        };
        let mut service = self.link.service();
        let answer = tokio::select! {
            answer = service.get_files(request) => answer,
            cause = cancellation.canceled() => return Err(cause.into()),
        };
        let answer = fail_point!("steps::files::get", answer);
        let pieces = answer
            .map_err(|status| failed("fetch files", status))?
            .into_inner()
            .map(|piece| match piece {
                Ok(piece) => Ok(Cursor::new(piece.data)),
                Err(status) => Err(unread(failed("fetch files", status))),
            });
        Ok(Box::new(StreamReader::new(pieces)))
    }
}
