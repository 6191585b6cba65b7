//! The side of the run.

use super::message::{ControlReply, ControlRequest, LONGEST_REQUEST, line};
use super::place::Place;
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

/// How long a client may take for its request, and for reading the answer.
const DEADLINE: Duration = Duration::from_secs(5);

/// How many clients are heard at once.
const CLIENTS: usize = 32;

/// How long to wait after the system refused a connection: it has no file to spare.
const PAUSE: Duration = Duration::from_millis(100);

/// Handles the requests to a run.
#[async_trait]
pub(crate) trait Obedience: Debug + Send + Sync + 'static {
    /// Does what is requested, or begins to, and replies.
    async fn obey(&self, request: ControlRequest) -> ControlReply;
}

/// The socket on which a run is told what to do; removed when dropped.
#[derive(Debug)]
pub(crate) struct ControlServer {
    listener: UnixListener,
    place: Place,
    is_retired: AtomicBool,
}

impl ControlServer {
    /// Makes the socket in the directory of a run, which only its user can enter. One that a killed
    /// process has left is removed; the caller has the lock of the run.
    pub(crate) fn bind(directory: &Path) -> io::Result<Self> {
        let place = Place::of(directory)?;
        let path = place.path();
        match fail_point!("runwright::control::remove_stale", fs::remove_file(path)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = fail_point!("runwright::control::bind", UnixListener::bind(path))?;
        let server = Self {
            listener,
            place,
            is_retired: AtomicBool::new(false),
        };
        fs::set_permissions(server.place.path(), Permissions::from_mode(0o600))?;
        Ok(server)
    }

    /// Removes the socket: who comes now is told by nobody.
    pub(crate) fn retire(&self) {
        if !self.is_retired.swap(true, Ordering::Relaxed) {
            let path = self.place.path();
            // One that stays is removed with the directory, and nobody answers there.
            let _ = fail_point!("runwright::control::remove", fs::remove_file(path));
        }
    }

    /// Listens for as long as it is polled.
    ///
    /// A client that says nothing, or does not listen to the answer, is left after some time and keeps
    /// nobody else waiting.
    pub(crate) async fn serve(&self, obedience: Arc<dyn Obedience>) -> Infallible {
        let mut clients = JoinSet::new();
        loop {
            tokio::select! {
                Some(_) = clients.join_next() => {}
                accepted = self.listener.accept(), if clients.len() < CLIENTS => match accepted {
                    Ok((stream, _)) => {
                        let obedience = Arc::clone(&obedience);
                        clients.spawn(async move {
                            // A client that went away, or is no client of ours, is no trouble.
                            let _ = timeout(DEADLINE, attend(stream, &*obedience)).await;
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

async fn attend(mut stream: UnixStream, obedience: &dyn Obedience) -> io::Result<()> {
    let (read, mut write) = stream.split();
    let mut request = Vec::new();
    let mut read = BufReader::new(read).take(LONGEST_REQUEST);
    read.read_until(b'\n', &mut request).await?;
    let reply = if request.ends_with(b"\n") {
        match serde_json::from_slice(&request) {
            Ok(request) => obedience.obey(request).await,
            Err(error) => refused(&format!("this is no request that is known here: {error}")),
        }
    } else {
        refused("the request has no end, or is too long")
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

    /// Notes what it is told, and refuses to end at once.
    #[derive(Debug, Default)]
    struct Notes(Mutex<Vec<ControlRequest>>);

    #[async_trait]
    impl Obedience for Notes {
        async fn obey(&self, request: ControlRequest) -> ControlReply {
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
        // Longer than a path of a socket may be.
        let path = directory.path().join("a".repeat(90)).join("b".repeat(90));
        fs::create_dir_all(&path).unwrap();
        (directory, path)
    }

    #[tokio::test]
    async fn a_run_is_told_and_answers() {
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
        let talk = async {
            // Somebody hangs, somebody says nothing that is known, somebody goes away.
            let place = Place::of(&path).unwrap();
            let _hangs: Vec<_> = (0..3)
                .map(|_| Client::connect(place.path()).unwrap())
                .collect();
            let mut odd = UnixStream::connect(place.path()).await.unwrap();
            odd.write_all(b"{\"command\":\"dance\"}\n").await.unwrap();
            let mut answer = String::new();
            odd.read_to_string(&mut answer).await.unwrap();
            assert!(answer.contains("no request that is known"), "{answer}");
            Client::connect(place.path())
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
            () = talk => {}
            never = server.serve(Arc::clone(&notes) as _) => match never {},
        }
        assert_eq!(*notes.0.lock(), [play, ControlRequest::Abort]);
        drop(server);
        assert!(!path.join("control").exists());
        let gone = control.send(&ControlRequest::Status).await.unwrap_err();
        assert!(matches!(gone, RunControlError::NotRunning), "{gone}");
    }

    #[tokio::test]
    async fn a_socket_that_a_killed_run_left_is_no_hindrance() {
        let (_keep, path) = run_dir();
        let place = Place::of(&path).unwrap();
        drop(std::os::unix::net::UnixListener::bind(place.path()).unwrap());
        let gone = RunControl::at(&path).send(&ControlRequest::Cancel).await;
        assert!(matches!(gone, Err(RunControlError::NotRunning)), "{gone:?}");
        ControlServer::bind(&path).unwrap();
    }
}
