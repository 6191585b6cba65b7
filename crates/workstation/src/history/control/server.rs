//! The server of a run's control socket.

use super::message::{ControlReply, ControlRequest, MAX_REQUEST, line};
use super::socket_path::SocketPath;
use async_trait::async_trait;
use fail_point::fail_point;
use std::convert::Infallible;
use std::fmt::Debug;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// How long a client may take to send its request and to read the reply.
const DEADLINE: Duration = Duration::from_secs(5);

/// How many clients are served at once.
const MAX_CLIENTS: usize = 32;

/// How long to wait after a failed accept: the process has no file descriptors left.
const PAUSE: Duration = Duration::from_millis(100);

/// Handles the requests to a run.
#[async_trait]
pub(crate) trait ControlHandler: Debug + Send + Sync + 'static {
    /// Handles a request, or starts to, and returns the reply.
    async fn handle(&self, request: ControlRequest) -> ControlReply;
}

/// The control socket of a run; removed when dropped.
#[derive(Debug)]
pub(crate) struct ControlServer {
    listener: UnixListener,
    socket: SocketPath,
    is_retired: AtomicBool,
}

impl ControlServer {
    /// Creates the socket in the directory of a run, which only the user can enter. The socket of a killed process
    /// is removed; the caller holds the lock of the run.
    pub(crate) fn bind(directory: &Path) -> io::Result<Self> {
        let socket = SocketPath::of(directory)?;
        let path = socket.path();
        match fail_point!("workstation::control::remove_stale", fs::remove_file(path)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = fail_point!("workstation::control::bind", UnixListener::bind(path))?;
        let server = Self {
            listener,
            socket,
            is_retired: AtomicBool::new(false),
        };
        fs::set_permissions(server.socket.path(), Permissions::from_mode(0o600))?;
        Ok(server)
    }

    /// Removes the socket: new clients find none.
    pub(crate) fn retire(&self) {
        if !self.is_retired.swap(true, Ordering::Relaxed) {
            let path = self.socket.path();
            // If it stays, it is removed with the directory and refuses connections.
            let _ = fail_point!("workstation::control::remove", fs::remove_file(path));
        }
    }

    /// Serves clients while it is polled.
    ///
    /// A client that hangs is dropped after a timeout and does not delay others.
    pub(crate) async fn serve(&self, handler: Arc<dyn ControlHandler>) -> Infallible {
        let mut clients = JoinSet::new();
        loop {
            tokio::select! {
                Some(_) = clients.join_next() => {}
                accepted = self.listener.accept(), if clients.len() < MAX_CLIENTS => match accepted {
                    Ok((stream, _)) => {
                        let handler = Arc::clone(&handler);
                        clients.spawn(async move {
                            // Errors of a client concern that client alone.
                            let _ = timeout(DEADLINE, serve_client(stream, &*handler)).await;
                        });
                    }
                    Err(_) => sleep(PAUSE).await,
                },
            }
        }
    }
}

impl Drop for ControlServer {
    fn drop(&mut self) {
        self.retire();
    }
}

async fn serve_client(mut stream: UnixStream, handler: &dyn ControlHandler) -> io::Result<()> {
    let (read, mut write) = stream.split();
    let mut request = Vec::new();
    let mut read = BufReader::new(read).take(MAX_REQUEST);
    read.read_until(b'\n', &mut request).await?;
    let reply = if request.ends_with(b"\n") {
        match serde_json::from_slice(&request) {
            Ok(request) => handler.handle(request).await,
            Err(error) => refused(&format!("unknown request: {error}")),
        }
    } else {
        refused("the request is incomplete or too long")
    };
    write.write_all(&line(&reply)?).await?;
    write.shutdown().await
}

fn refused(message: &str) -> ControlReply {
    ControlReply::Refused {
        message: message.to_owned(),
        suggestion: None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::client::{RunControl, RunControlError};
    use super::*;
    use parking_lot::Mutex;
    use std::io::Write as _;
    use std::os::unix::net::UnixStream as Client;
    use std::path::PathBuf;

    /// Records requests, and refuses to abort.
    #[derive(Debug, Default)]
    struct Notes(Mutex<Vec<ControlRequest>>);

    #[async_trait]
    impl ControlHandler for Notes {
        async fn handle(&self, request: ControlRequest) -> ControlReply {
            let is_abort = request == ControlRequest::Abort;
            self.0.lock().push(request);
            if is_abort {
                refused("no")
            } else {
                ControlReply::Done
            }
        }
    }

    fn run_dir() -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        // Longer than the path of a socket may be.
        let path = directory.path().join("a".repeat(90)).join("b".repeat(90));
        fs::create_dir_all(&path).unwrap();
        (directory, path)
    }

    #[tokio::test]
    async fn requests_are_handled_and_answered() {
        let (_keep, path) = run_dir();
        let server = ControlServer::bind(&path).unwrap();
        let mode = fs::metadata(path.join("control")).unwrap().permissions();
        assert_eq!(mode.mode() & 0o777, 0o600);
        let notes = Arc::new(Notes::default());
        let play = ControlRequest::Play {
            job: "deploy".to_owned(),
            variables: vec![super::super::PlayVariable {
                key: "TO".to_owned(),
                value: "s3cret".to_owned(),
            }],
        };
        assert!(!format!("{play:?}").contains("s3cret"));
        let control = RunControl::at(&path);
        let client = async {
            // One client hangs, one sends an unknown request, one disconnects.
            let socket = SocketPath::of(&path).unwrap();
            let _hangs: Vec<_> = (0..3)
                .map(|_| Client::connect(socket.path()).unwrap())
                .collect();
            let mut odd = UnixStream::connect(socket.path()).await.unwrap();
            odd.write_all(b"{\"command\":\"dance\"}\n").await.unwrap();
            let mut answer = String::new();
            odd.read_to_string(&mut answer).await.unwrap();
            assert!(answer.contains("unknown request"), "{answer}");
            Client::connect(socket.path())
                .unwrap()
                .write_all(b"{")
                .unwrap();
            assert_eq!(control.send(&play).await.unwrap(), ControlReply::Done);
            let refused = control.send(&ControlRequest::Abort).await.unwrap_err();
            assert!(
                matches!(refused, RunControlError::Refused { .. }),
                "{refused}"
            );
        };
        tokio::select! {
            () = client => {}
            never = server.serve(Arc::clone(&notes) as _) => match never {},
        }
        assert_eq!(*notes.0.lock(), [play, ControlRequest::Abort]);
        drop(server);
        assert!(!path.join("control").exists());
        let gone = control.send(&ControlRequest::Status).await.unwrap_err();
        assert!(matches!(gone, RunControlError::NotRunning), "{gone}");
    }

    #[tokio::test]
    async fn socket_of_a_killed_run_is_replaced() {
        let (_keep, path) = run_dir();
        let socket = SocketPath::of(&path).unwrap();
        drop(std::os::unix::net::UnixListener::bind(socket.path()).unwrap());
        let gone = RunControl::at(&path).send(&ControlRequest::Cancel).await;
        assert!(matches!(gone, Err(RunControlError::NotRunning)), "{gone:?}");
        ControlServer::bind(&path).unwrap();
    }
}
