//! Opens host requests, waits for their answers, and streams them to the clients that fulfil them.

use super::ResponseStream;
use super::host_requests::{HostAnswer, Open};
use super::request::Request;
use super::state::Failure;
use crate::wire::v1::result::ErrorKind;
use crate::wire::v1::wish::What;
use crate::wire::v1::{FollowWishesResponse, Wish};
use executor_core::HumanDuration;
use fail_point::fail_point;
use futures_util::stream::unfold;
use process::{make_private_dir, remove_tree};
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, timeout_at};

impl Request {
    /// Requests something from the host, and waits for the answer.
    pub(crate) async fn ask_host(
        &self,
        what: What,
        docker_auth_config: String,
    ) -> Result<HostAnswer, Failure> {
        let (mut host_request, mut answer) = self.open_host_request(what, docker_auth_config)?;
        let answer = tokio::select! {
            answer = &mut answer => answer.ok(),
            words = self.no_follower() => Some(Err(words)),
            _ = self.cancellation.canceled() => None,
        };
        match answer {
            None => Err(Failure::stopped(&self.cancellation)),
            Some(Err(words)) => Err(Failure::new(ErrorKind::StepFailure, words)),
            Some(Ok(granted)) => {
                host_request.keeps = matches!(granted, HostAnswer::Fetched { .. });
                Ok(granted)
            }
        }
    }

    fn open_host_request(
        &self,
        what: What,
        docker_auth_config: String,
    ) -> Result<
        (
            OpenHostRequest<'_>,
            oneshot::Receiver<Result<HostAnswer, String>>,
        ),
        Failure,
    > {
        let (sender, answer) = oneshot::channel();
        let mut state = self.host_requests.state();
        let number = state.next;
        let directory = self.directory.fetched(number);
        fail_point!("steps::ask_host::create", make_private_dir(&directory)).map_err(|error| {
            let words = format!("cannot create the directory for fetched files: {error}");
            Failure::new(ErrorKind::Internal, words)
        })?;
        let host_request = Wish {
            number,
            what: Some(what),
            directory: directory.display().to_string(),
            docker_auth_config,
        };
        state.next += 1;
        let open = Open {
            host_request,
            answer: sender,
        };
        state.open.insert(number, open);
        drop(state);
        self.notify();
        let open = OpenHostRequest {
            request: self,
            number,
            directory,
            keeps: false,
        };
        Ok((open, answer))
    }

    /// Waits until there was no follower for too long, and returns the error.
    async fn no_follower(&self) -> String {
        let opened = Instant::now();
        let mut changes = self.changes();
        loop {
            changes.mark_unchanged();
            let since = {
                let state = self.host_requests.state();
                (state.followers == 0).then(|| state.left.max(opened))
            };
            // The sender lives as long as the request, which is held here.
            let Some(since) = since else {
                let _ = changes.changed().await;
                continue;
            };
            let until = since + self.host_requests.within;
            if timeout_at(until, changes.changed()).await.is_err() {
                return format!(
                    "no client of this job can fetch functions from git or registries, or publish them: none connected \
                     for {}",
                    HumanDuration(self.host_requests.within)
                );
            }
        }
    }
}

/// An open host request. Dropping it removes its files, unless they are kept.
#[derive(Debug)]
struct OpenHostRequest<'r> {
    request: &'r Request,
    number: u64,
    directory: PathBuf,
    /// Whether the files are kept until the request is removed.
    keeps: bool,
}

impl Drop for OpenHostRequest<'_> {
    fn drop(&mut self) {
        self.request.host_requests.state().open.remove(&self.number);
        if !self.keeps {
            // If this fails, the directory is removed with the request.
            let _ = remove_tree(&self.directory);
        }
    }
}

/// A client that follows the host requests.
struct Follower {
    request: Arc<Request>,
    changes: watch::Receiver<u64>,
    /// The next number to send.
    next: u64,
}

impl Follower {
    fn new(request: Arc<Request>) -> Self {
        request.note_used();
        request.host_requests.state().followers += 1;
        request.notify();
        let changes = request.changes();
        Self {
            request,
            changes,
            next: 0,
        }
    }

    /// Returns the next open host request; `None` when the request has ended.
    async fn next_host_request(&mut self) -> Option<Wish> {
        loop {
            self.changes.mark_unchanged();
            let open = {
                let state = self.request.host_requests.state();
                let open = state.open.range(self.next..).next();
                open.map(|(number, open)| (*number, open.host_request.clone()))
            };
            if let Some((number, host_request)) = open {
                self.next = number + 1;
                return Some(host_request);
            }
            if self.request.has_ended() {
                return None;
            }
            // The sender lives as long as the request, which is held here.
            let _ = self.changes.changed().await;
        }
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        {
            let mut state = self.request.host_requests.state();
            state.followers -= 1;
            state.left = Instant::now();
        }
        self.request.notify();
    }
}

/// Streams the open host requests of a request, and later ones.
pub(crate) fn follow(request: Arc<Request>) -> ResponseStream<FollowWishesResponse> {
    let follower = Follower::new(request);
    Box::pin(unfold(follower, |mut follower| async move {
        let host_request = follower.next_host_request().await?;
        let answer = FollowWishesResponse {
            wish: Some(host_request),
        };
        Some((Ok(answer), follower))
    }))
}
