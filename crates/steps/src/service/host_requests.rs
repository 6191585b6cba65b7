//! What the steps of a request need from the host: functions to fetch, and images to publish.
//!
//! The environment may have no git, no network and no credentials. So the service opens a host request (`Wish` in
//! the protocol), a client that follows the request fulfils it, and answers with `Grant`.

use crate::wire::v1::Wish;
use crate::wire::v1::grant_request::Outcome;
use crate::wire::v1::wish::What;
use parking_lot::{Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::Instant;
use tonic::Status;

/// The answer to a host request.
#[derive(Debug)]
pub(crate) enum HostAnswer {
    /// Files, in a directory whose path has no links.
    Fetched {
        directory: PathBuf,
        identity: String,
    },
    /// An image was published.
    Published { digest: String, tags: Vec<String> },
}

/// The host requests of one request.
#[derive(Debug)]
pub(crate) struct HostRequests {
    /// How long a host request waits for a follower.
    pub(super) within: Duration,
    state: Mutex<State>,
}

#[derive(Debug)]
pub(super) struct State {
    /// The next number.
    pub(super) next: u64,
    pub(super) open: BTreeMap<u64, Open>,
    pub(super) followers: usize,
    /// When the last follower left.
    pub(super) left: Instant,
}

#[derive(Debug)]
pub(super) struct Open {
    pub(super) host_request: Wish,
    pub(super) answer: oneshot::Sender<Result<HostAnswer, String>>,
}

impl HostRequests {
    pub(crate) fn new(within: Duration) -> Self {
        let state = State {
            next: 0,
            open: BTreeMap::new(),
            followers: 0,
            left: Instant::now(),
        };
        Self {
            within,
            state: Mutex::new(state),
        }
    }

    /// Accepts the answer to a host request. Only the first one counts.
    pub(crate) fn answer(&self, number: u64, outcome: Option<Outcome>) -> Result<(), Status> {
        let mut state = self.state();
        if number >= state.next {
            return Err(Status::not_found("unknown number of a host request"));
        }
        let Some(open) = state.open.get(&number) else {
            return Ok(());
        };
        let answer = check_answer(&open.host_request, outcome)?;
        if let Some(open) = state.open.remove(&number) {
            // The step may have been stopped meanwhile.
            let _ = open.answer.send(answer);
        }
        Ok(())
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

/// Returns the answer in an outcome, if it is one to this request.
fn check_answer(
    host_request: &Wish,
    outcome: Option<Outcome>,
) -> Result<Result<HostAnswer, String>, Status> {
    match (outcome, &host_request.what) {
        (Some(Outcome::Refused(words)), _) => Ok(Err(words)),
        (Some(Outcome::Published(published)), Some(What::Publish(_))) => {
            Ok(Ok(HostAnswer::Published {
                digest: published.digest,
                tags: published.tags,
            }))
        }
        (Some(Outcome::Fetched(fetched)), Some(What::Git(_) | What::Oci(_))) => {
            let directory = fetched_directory(&host_request.directory, &fetched.directory)?;
            Ok(Ok(HostAnswer::Fetched {
                directory,
                identity: fetched.identity,
            }))
        }
        _ => Err(Status::invalid_argument(
            "the answer does not match the host request",
        )),
    }
}

/// Returns the directory with this name below that of a host request, if its path has no links.
fn fetched_directory(directory: &str, name: &str) -> Result<PathBuf, Status> {
    let wrong = || {
        Status::invalid_argument("expected the name of a directory below that of the host request")
    };
    if name.is_empty() || name.contains(['/', '\0']) || [".", ".."].contains(&name) {
        return Err(wrong());
    }
    let path = Path::new(directory).join(name);
    let is_directory = std::fs::symlink_metadata(&path).is_ok_and(|it| it.is_dir());
    let path = is_directory.then(|| path.canonicalize().ok()).flatten();
    path.ok_or_else(wrong)
}
