//! A library of directories on this host, without git and registries.

use async_trait::async_trait;
use executor_core::ability::{Connection, StepsConnector};
use executor_core::{BuildError, Cancellation};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use steps::wire::v1;
use steps::{
    Fetched, JobCredentials, Library, LibraryError, Published, RunId, RunResult, RunSpec, Source,
    StepsClient, StepsError,
};
use tokio::net::UnixStream;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::support::Served;
use crate::client::support::quick;

/// A recorded call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) what: String,
    pub(crate) docker_auth_configs: Vec<String>,
}

/// Directories by source; other sources are unknown.
#[derive(Debug, Default)]
pub(crate) struct FakeLibrary {
    pub(crate) trees: BTreeMap<String, PathBuf>,
    /// The recorded calls.
    pub(crate) asked: Mutex<Vec<Asked>>,
    /// The published archives by repository.
    pub(crate) sent: Mutex<BTreeMap<String, Vec<u8>>>,
    /// Unblocks calls; `None` blocks nothing.
    pub(crate) gate: Option<CancellationToken>,
    /// The number of calls that wait, or were dropped.
    pub(crate) held: watch::Sender<usize>,
}

impl FakeLibrary {
    /// Returns a library with these directories by source.
    pub(crate) fn with(trees: &[(&str, &Path)]) -> Self {
        let trees = trees.iter();
        let trees = trees.map(|(name, path)| ((*name).to_owned(), path.to_path_buf()));
        Self {
            trees: trees.collect(),
            ..Self::default()
        }
    }

    pub(crate) fn whats(&self) -> Vec<String> {
        let asked = self.asked.lock();
        asked.iter().map(|asked| asked.what.clone()).collect()
    }

    async fn note(&self, what: String, credentials: &JobCredentials) {
        self.asked.lock().push(Asked {
            what,
            docker_auth_configs: credentials.docker_auth_configs.clone(),
        });
        if let Some(gate) = &self.gate {
            self.held.send_modify(|held| *held += 1);
            let _counted = Counted(&self.held);
            gate.cancelled().await;
        }
    }
}

/// Counts down when a waiting call continues or is dropped.
struct Counted<'a>(&'a watch::Sender<usize>);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|held| *held -= 1);
    }
}

#[async_trait]
impl Library for FakeLibrary {
    async fn fetch(
        &self,
        source: &Source,
        credentials: &JobCredentials,
    ) -> Result<Fetched, LibraryError> {
        let name = source.to_string();
        self.note(name.clone(), credentials).await;
        let Some(directory) = self.trees.get(&name) else {
            return Err(LibraryError::new("this fake library does not know it"));
        };
        Ok(Fetched {
            directory: directory.clone(),
            identity: "sha256:fake".to_owned(),
            lease: None,
        })
    }

    async fn publish(
        &self,
        archive: &Path,
        repository: &str,
        credentials: &JobCredentials,
    ) -> Result<Published, LibraryError> {
        self.note(format!("to {repository}"), credentials).await;
        let bytes = fs::read(archive).map_err(|error| LibraryError::new(error.to_string()))?;
        self.sent.lock().insert(repository.to_owned(), bytes);
        Ok(Published {
            digest: "sha256:fake".to_owned(),
            tags: vec!["1.2.3".to_owned(), "1".to_owned()],
        })
    }
}

/// A connector to the socket of a service.
#[derive(Debug)]
struct Socket(PathBuf);

#[async_trait]
impl StepsConnector for Socket {
    async fn connect(&self, _: &Cancellation) -> Result<Box<dyn Connection>, BuildError> {
        let stream = UnixStream::connect(&self.0).await;
        let stream = stream.map_err(|error| BuildError::system("test", "connect", error))?;
        Ok(Box::new(stream))
    }
}

/// The outcome of a request with a library.
pub(crate) struct Ended {
    pub(crate) log: String,
    pub(crate) result: Result<RunResult, StepsError>,
    pub(crate) steps: Vec<v1::StepResult>,
}

impl Ended {
    pub(crate) fn succeeds(&self) -> bool {
        self.result
            .as_ref()
            .is_ok_and(|result| result.status.is_success())
    }
}

/// Returns the spec to resume a request that was started elsewhere.
pub(crate) fn begun(id: &str) -> RunSpec {
    RunSpec::language(RunId::new(id), "")
}

/// Returns a client with the library.
pub(crate) fn client(served: &Served, library: &Arc<FakeLibrary>) -> StepsClient {
    client_by(Arc::new(Socket(served.path("socket"))), library)
}

/// Returns a client with the library and its own connector.
pub(crate) fn client_by(way: Arc<dyn StepsConnector>, library: &Arc<FakeLibrary>) -> StepsClient {
    let library: Arc<dyn Library> = Arc::clone(library) as _;
    let credentials = JobCredentials {
        docker_auth_configs: vec!["of the job".to_owned()],
    };
    StepsClient::new(way, quick()).with_library(library, credentials)
}

/// Runs a request to its end with a client with the library.
pub(crate) async fn run(
    served: &Served,
    library: &Arc<FakeLibrary>,
    request: v1::RunRequest,
    cancellation: &Cancellation,
) -> Ended {
    let mut plain = served.other_client().await;
    let id = request.id.clone();
    plain.run(request).await.unwrap();
    let follow = v1::FollowStepsRequest { id: id.clone() };
    let mut told = plain.follow_steps(follow).await.unwrap().into_inner();
    let mut log = Vec::new();
    let mut output = |_, bytes: &[u8]| log.extend_from_slice(bytes);
    let (client, run) = (client(served, library), begun(&id));
    let following = client.resume(&run, 0, &mut output, cancellation);
    let telling = async {
        let mut steps = Vec::new();
        while let Ok(Some(answer)) = told.message().await {
            steps.extend(answer.result);
        }
        steps
    };
    let (result, steps) = tokio::join!(following, telling);
    Ended {
        log: String::from_utf8(log).unwrap(),
        result,
        steps,
    }
}
