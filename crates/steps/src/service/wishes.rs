//! What the steps of a request need from outside of the environment, and who brings it.

use parking_lot::{Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use executor_core::HumanDuration;
use fail_point::fail_point;
use futures_util::stream::unfold;
use process::{make_private_dir, remove_tree};
use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, timeout_at};
use tonic::Status;

use super::Answers;
use super::course::Failure;
use super::request::Request;
use super::steps::stopped;
use crate::wire::v1::grant_request::Outcome;
use crate::wire::v1::result::ErrorKind;
use crate::wire::v1::wish::What;
use crate::wire::v1::{FollowWishesResponse, Wish};

/// What a wish was answered with.
#[derive(Debug)]
pub(crate) enum Granted {
    /// Files, in a directory without links on the way to it.
    Fetched {
        directory: PathBuf,
        identity: String,
    },
    /// An image was sent.
    Published { digest: String, tags: Vec<String> },
}

/// The wishes of one request.
#[derive(Debug)]
pub(crate) struct Wishes {
    /// How long a wish waits for somebody who follows.
    within: Duration,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// The number of the next.
    next: u64,
    open: BTreeMap<u64, Open>,
    followers: usize,
    /// When the last follower left.
    left: Instant,
}

#[derive(Debug)]
struct Open {
    wish: Wish,
    answer: oneshot::Sender<Result<Granted, String>>,
}

impl Wishes {
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

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl Request {
    /// Asks whoever follows for something, and waits for it.
    pub(crate) async fn wish(
        &self,
        what: What,
        docker_auth_config: String,
    ) -> Result<Granted, Failure> {
        let (mut wish, mut answer) = self.open_wish(what, docker_auth_config)?;
        let answer = tokio::select! {
            answer = &mut answer => answer.ok(),
            words = self.nobody_follows() => Some(Err(words)),
            _ = self.cancellation.canceled() => None,
        };
        match answer {
            None => Err(stopped(&self.cancellation)),
            Some(Err(words)) => Err(Failure::new(ErrorKind::StepFailure, words)),
            Some(Ok(granted)) => {
                wish.keeps = matches!(granted, Granted::Fetched { .. });
                Ok(granted)
            }
        }
    }

    fn open_wish(
        &self,
        what: What,
        docker_auth_config: String,
    ) -> Result<(OpenWish<'_>, oneshot::Receiver<Result<Granted, String>>), Failure> {
        let (sender, answer) = oneshot::channel();
        let mut state = self.wishes.state();
        let number = state.next;
        let directory = self.directory.brought(number);
        fail_point!("steps::wish::create", make_private_dir(&directory)).map_err(|error| {
            let words = format!("cannot make the directory of what is fetched: {error}");
            Failure::new(ErrorKind::Internal, words)
        })?;
        let wish = Wish {
            number,
            what: Some(what),
            directory: directory.display().to_string(),
            docker_auth_config,
        };
        state.next += 1;
        let open = Open {
            wish,
            answer: sender,
        };
        state.open.insert(number, open);
        drop(state);
        self.tell();
        let open = OpenWish {
            request: self,
            number,
            directory,
            keeps: false,
        };
        Ok((open, answer))
    }

    /// Returns, with the reason, when there was nobody to bring anything for too long.
    async fn nobody_follows(&self) -> String {
        let opened = Instant::now();
        let mut news = self.news();
        loop {
            news.mark_unchanged();
            let since = {
                let state = self.wishes.state();
                (state.followers == 0).then(|| state.left.max(opened))
            };
            // The sender lives as long as the request does, which is held here.
            let Some(since) = since else {
                let _ = news.changed().await;
                continue;
            };
            let until = since + self.wishes.within;
            if timeout_at(until, news.changed()).await.is_err() {
                return format!(
                    "nobody who follows this job can bring functions from git or registries, or publish them: none has \
                     come forward for {}",
                    HumanDuration(self.wishes.within)
                );
            }
        }
    }

    /// Takes the answer to a wish. Only the first one counts.
    pub(crate) fn grant(&self, number: u64, outcome: Option<Outcome>) -> Result<(), Status> {
        let mut state = self.wishes.state();
        if number >= state.next {
            return Err(Status::not_found("the request has no wish of this number"));
        }
        let Some(open) = state.open.get(&number) else {
            return Ok(());
        };
        let answer = answer(&open.wish, outcome)?;
        if let Some(open) = state.open.remove(&number) {
            // Whoever has wished may have gone meanwhile.
            let _ = open.answer.send(answer);
        }
        Ok(())
    }
}

/// Returns what an outcome means for a wish.
fn answer(wish: &Wish, outcome: Option<Outcome>) -> Result<Result<Granted, String>, Status> {
    match (outcome, &wish.what) {
        (Some(Outcome::Refused(words)), _) => Ok(Err(words)),
        (Some(Outcome::Published(published)), Some(What::Publish(_))) => {
            Ok(Ok(Granted::Published {
                digest: published.digest,
                tags: published.tags,
            }))
        }
        (Some(Outcome::Fetched(fetched)), Some(What::Git(_) | What::Oci(_))) => {
            let directory = brought(&wish.directory, &fetched.directory)?;
            Ok(Ok(Granted::Fetched {
                directory,
                identity: fetched.identity,
            }))
        }
        _ => Err(Status::invalid_argument(
            "the answer is not one to what was wished for",
        )),
    }
}

/// Returns the directory of this name in that of a wish, without links on the way to it.
fn brought(directory: &str, name: &str) -> Result<PathBuf, Status> {
    let wrong = || Status::invalid_argument("the files are not in a directory in that of the wish");
    if name.is_empty() || name.contains(['/', '\0']) || [".", ".."].contains(&name) {
        return Err(wrong());
    }
    let path = Path::new(directory).join(name);
    let is_directory = std::fs::symlink_metadata(&path).is_ok_and(|it| it.is_dir());
    let path = is_directory.then(|| path.canonicalize().ok()).flatten();
    path.ok_or_else(wrong)
}

/// A wish that somebody waits for. What is not kept of it goes when this is dropped.
#[derive(Debug)]
struct OpenWish<'r> {
    request: &'r Request,
    number: u64,
    directory: PathBuf,
    /// Whether its files stay until the request goes.
    keeps: bool,
}

impl Drop for OpenWish<'_> {
    fn drop(&mut self) {
        self.request.wishes.state().open.remove(&self.number);
        if !self.keeps {
            // With the directory of the request it goes in any case.
            let _ = remove_tree(&self.directory);
        }
    }
}

/// Somebody who can bring what is wished for.
struct Follower {
    request: Arc<Request>,
    news: watch::Receiver<u64>,
    /// The number from which on it has been told nothing.
    next: u64,
}

impl Follower {
    fn new(request: Arc<Request>) -> Self {
        request.note_asked();
        request.wishes.state().followers += 1;
        request.tell();
        let news = request.news();
        Self {
            request,
            news,
            next: 0,
        }
    }

    /// Returns the next wish that is open; `None` when the request has ended.
    async fn wish(&mut self) -> Option<Wish> {
        loop {
            self.news.mark_unchanged();
            let open = {
                let state = self.request.wishes.state();
                let open = state.open.range(self.next..).next();
                open.map(|(number, open)| (*number, open.wish.clone()))
            };
            if let Some((number, wish)) = open {
                self.next = number + 1;
                return Some(wish);
            }
            if self.request.has_ended() {
                return None;
            }
            // The sender lives as long as the request does, which is held here.
            let _ = self.news.changed().await;
        }
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        {
            let mut state = self.request.wishes.state();
            state.followers -= 1;
            state.left = Instant::now();
        }
        self.request.tell();
    }
}

/// Tells all wishes of a request that are open, and those that come.
pub(crate) fn follow(request: Arc<Request>) -> Answers<FollowWishesResponse> {
    let follower = Follower::new(request);
    Box::pin(unfold(follower, |mut follower| async move {
        let wish = follower.wish().await?;
        let answer = FollowWishesResponse { wish: Some(wish) };
        Some((Ok(answer), follower))
    }))
}
