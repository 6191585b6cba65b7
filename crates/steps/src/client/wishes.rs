//! Meets what the steps of a request need from outside of their environment.

use super::call::{Attempts, Failure};
use super::link::Link;
use super::message::shortened;
use super::run_id::RunId;
use super::transfer;
use crate::library::{Asker, Library, Source};
use crate::wire::v1::grant_request::{Fetched, Outcome, Published};
use crate::wire::v1::wish::{Publish, What};
use crate::wire::v1::{FollowWishesRequest, GrantRequest, Wish};
use executor_core::panics::catch_panic;
use executor_core::{Cancellation, StageVariables};
use fail_point::fail_point;
use futures_util::stream::{FuturesUnordered, StreamExt};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::mpsc;

/// A service that wishes for more at once waits; one request has its steps one after the other.
const AT_ONCE: usize = 4;

/// A request that wishes for more is not one of steps.
const MOST: u64 = 1_000;

/// The longest text that a wish names something with.
const LONGEST_NAME: usize = 4096;

/// Whoever brings what is wished for, and for whom.
#[derive(Debug, Clone)]
pub(crate) struct Patron {
    pub(crate) library: Arc<dyn Library>,
    pub(crate) asker: Asker,
}

impl Patron {
    /// Returns it for a request with these variables.
    pub(crate) fn of(mut self, variables: &StageVariables) -> Self {
        if self.asker.docker_auth_configs.is_empty() {
            self.asker = Asker::of(variables);
        }
        self
    }
}

/// The wishes of one request.
#[derive(Debug)]
pub(crate) struct Wishes<'a> {
    link: &'a Arc<Link>,
    id: &'a RunId,
    patron: Patron,
}

impl<'a> Wishes<'a> {
    pub(crate) fn new(link: &'a Arc<Link>, id: &'a RunId, patron: Patron) -> Self {
        Self { link, id, patron }
    }

    /// Meets all wishes until there can be no more. What is not done when this is dropped is given up.
    pub(crate) async fn meet(&self) {
        let (sender, mut wishes) = mpsc::channel(1);
        let meeting = async {
            let mut work = FuturesUnordered::new();
            loop {
                tokio::select! {
                    Some(wish) = wishes.recv(), if work.len() < AT_ONCE => work.push(self.answer(wish)),
                    Some(()) = work.next(), if !work.is_empty() => {}
                    else => break,
                }
            }
        };
        tokio::join!(self.listen(sender), meeting);
    }

    /// Passes on each wish once, over as many connections as it takes.
    async fn listen(&self, wishes: mpsc::Sender<Wish>) {
        let mut attempts = Attempts::new(self.link);
        let mut next = 0;
        loop {
            let told = self.listen_once(&wishes, &mut next, &mut attempts).await;
            if next > MOST {
                // The one that was too many is refused, and nobody listens for more.
                return;
            }
            let cause = match told {
                Ok(()) => "the wishes ended too early".into(),
                Err(Failure::Gone(cause)) => cause,
                Err(Failure::Refused(status)) => {
                    // An agent of an earlier version has no wishes.
                    tracing::debug!(id = %self.id, %status, "The wishes of a request are not told.");
                    return;
                }
            };
            // Whoever follows the log says that the service is gone.
            if attempts.wait(cause, &Cancellation::new()).await.is_err() {
                return;
            }
        }
    }

    async fn listen_once(
        &self,
        wishes: &mpsc::Sender<Wish>,
        next: &mut u64,
        attempts: &mut Attempts<'_>,
    ) -> Result<(), Failure> {
        let request = FollowWishesRequest {
            id: self.id.as_str().to_owned(),
        };
        let mut service = self.link.service();
        let mut told = attempts.once(service.follow_wishes(request)).await?;
        attempts.patience.answered();
        loop {
            // Whoever always has something to say is not to keep others from their turn.
            tokio::task::consume_budget().await;
            let message = told.message().await;
            let Some(message) = fail_point!("steps::client::wishes", message)? else {
                return Ok(());
            };
            attempts.patience.progressed();
            // They come in order, and those that are open are told again to whoever comes again.
            let Some(wish) = message.wish.filter(|wish| wish.number >= *next) else {
                continue;
            };
            *next = wish.number.saturating_add(1);
            if wishes.send(wish).await.is_err() || *next > MOST {
                return Ok(());
            }
        }
    }

    /// Meets a wish, or says why not.
    async fn answer(&self, wish: Wish) {
        let number = wish.number;
        let outcome = match catch_panic(self.outcome(wish)).await {
            Ok(outcome) => outcome.unwrap_or_else(|words| Outcome::Refused(shortened(words))),
            Err(panic) => {
                tracing::error!(%panic, id = %self.id, "The library broke down.");
                Outcome::Refused("the library of functions broke down".to_owned())
            }
        };
        if let Err(error) = self.grant(number, outcome).await {
            tracing::debug!(id = %self.id, %error, "The answer to a wish was not taken.");
            let words = format!("what was brought was not taken: {error}");
            let refused = Outcome::Refused(shortened(words));
            // Whoever follows the log says that the service is gone.
            let _ = self.grant(number, refused).await;
        }
    }

    async fn outcome(&self, wish: Wish) -> Result<Outcome, String> {
        if wish.number >= MOST {
            return Err(format!("a request has {MOST} wishes, and no more"));
        }
        let asker = self.patron.asker.clone();
        let asker = asker.with_first(wish.docker_auth_config);
        match wish.what {
            Some(What::Git(git)) => {
                let (url, rev) = (named(git.url)?, named(git.rev)?);
                let source = Source::Git { url, rev };
                self.fetch(&source, &asker, &wish.directory).await
            }
            Some(What::Oci(oci)) => {
                let source = Source::Oci {
                    registry: named(oci.registry)?,
                    repository: named(oci.repository)?,
                    tag: named(oci.tag)?,
                    platform: named(oci.platform)?,
                };
                self.fetch(&source, &asker, &wish.directory).await
            }
            Some(What::Publish(publish)) => self.publish(publish, &asker).await,
            None => Err("whoever follows the job does not know what is wished for".to_owned()),
        }
    }

    async fn fetch(
        &self,
        source: &Source,
        asker: &Asker,
        directory: &str,
    ) -> Result<Outcome, String> {
        absolute(directory)?;
        let fetched = self.patron.library.fetch(source, asker).await;
        let fetched = fetched.map_err(|error| format!("{source}: {error}"))?;
        let sent = transfer::send(self.link, &fetched.directory, directory).await;
        let name =
            sent.map_err(|words| format!("{source}: its files could not be sent: {words}"))?;
        Ok(Outcome::Fetched(Fetched {
            directory: name,
            identity: fetched.identity,
        }))
    }

    async fn publish(&self, publish: Publish, asker: &Asker) -> Result<Outcome, String> {
        let archive = absolute(&publish.archive)?;
        let repository = named(publish.to_repository)?;
        let file = transfer::receive(self.link, &archive).await;
        let file = file.map_err(|words| {
            let archive = archive.display();
            format!("the archive {archive} could not be fetched: {words}")
        })?;
        // It has no name, so that nothing of it is left whatever happens to this process.
        let path = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
        let library = &self.patron.library;
        let published = library.publish(Path::new(&path), &repository, asker).await;
        drop(file);
        let published = published.map_err(|error| format!("{repository}: {error}"))?;
        Ok(Outcome::Published(Published {
            digest: published.digest,
            tags: published.tags,
        }))
    }

    async fn grant(&self, number: u64, outcome: Outcome) -> Result<(), super::StepsError> {
        let request = GrantRequest {
            id: self.id.as_str().to_owned(),
            number,
            outcome: Some(outcome),
        };
        let never = Cancellation::new();
        let mut attempts = Attempts::new(self.link);
        let granted = attempts.call(self.id.as_str(), &never, |mut service| {
            let request = request.clone();
            async move { service.grant(request).await }
        });
        granted.await.map(|_| ())
    }
}

/// Returns a name, if it can be one: what is in the environment is not trusted.
fn named(name: String) -> Result<String, String> {
    if name.is_empty() || name.len() > LONGEST_NAME || name.chars().any(char::is_control) {
        return Err("a name is empty, too long, or holds control characters".to_owned());
    }
    Ok(name)
}

fn absolute(path: &str) -> Result<PathBuf, String> {
    let leads_back = path.split('/').any(|part| part == "..");
    if !path.starts_with('/') || leads_back || path.contains('\0') || path.len() > LONGEST_NAME {
        return Err("a path of the environment is not absolute, or leads elsewhere".to_owned());
    }
    Ok(PathBuf::from(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::ClientOptions;
    use crate::library::{Fetched, LibraryError, Published};
    use crate::wire::v1::wish::{Git, Oci};
    use async_trait::async_trait;
    use executor_core::ability::{Connection, StepsConnector};
    use executor_core::{BuildError, CancelCause, FileVariable};

    /// Neither connects to anything, nor knows anything. Nothing that is refused before may ask it.
    #[derive(Debug)]
    struct Nobody;

    #[async_trait]
    impl StepsConnector for Nobody {
        async fn connect(&self, _: &Cancellation) -> Result<Box<dyn Connection>, BuildError> {
            Err(BuildError::Canceled(CancelCause::User))
        }
    }

    #[async_trait]
    impl Library for Nobody {
        async fn fetch(&self, source: &Source, _: &Asker) -> Result<Fetched, LibraryError> {
            panic!("asked for {source}");
        }

        async fn publish(&self, _: &Path, to: &str, _: &Asker) -> Result<Published, LibraryError> {
            panic!("asked for {to}");
        }
    }

    #[tokio::test]
    async fn what_a_service_may_not_ask_for_is_refused_without_asking_the_library() {
        let link = Arc::new(Link::new(Arc::new(Nobody), ClientOptions::default()));
        let id = RunId::new("1");
        let patron = Patron {
            library: Arc::new(Nobody),
            asker: Asker::default(),
        };
        let wishes = Wishes::new(&link, &id, patron);
        let git = |url: &str| {
            let url = url.to_owned();
            Some(What::Git(Git {
                url,
                rev: "v1".to_owned(),
            }))
        };
        let publish = |archive: &str, to: &str| {
            Some(What::Publish(Publish {
                archive: archive.to_owned(),
                to_repository: to.to_owned(),
            }))
        };
        let refused = async |number, what, directory: &str, expect: &str| {
            let wish = Wish {
                number,
                what,
                directory: directory.to_owned(),
                ..Wish::default()
            };
            let words = wishes.outcome(wish).await.unwrap_err();
            assert!(words.contains(expect), "{words}");
        };
        let good = || git("https://example.com/a");
        refused(MOST, good(), "/x", "and no more").await;
        refused(0, None, "/x", "does not know").await;
        refused(0, good(), "x", "is not absolute").await;
        refused(0, good(), "/x/../y", "leads elsewhere").await;
        refused(0, git(""), "/x", "is empty").await;
        refused(
            0,
            git("https://example.com/\na"),
            "/x",
            "control characters",
        )
        .await;
        refused(0, git(&"a".repeat(5000)), "/x", "too long").await;
        refused(0, Some(What::Oci(Oci::default())), "/x", "is empty").await;
        refused(
            0,
            publish("x.tar", "r.example.com/a"),
            "",
            "is not absolute",
        )
        .await;
        refused(0, publish("/x.tar", "\0"), "", "control characters").await;
    }

    #[test]
    fn credentials_of_a_job_are_a_variable_or_a_file() {
        let name = "DOCKER_AUTH_CONFIG".to_owned();
        let mut variables = StageVariables {
            environment: vec![(name.clone(), "text".to_owned())],
            ..StageVariables::default()
        };
        let patron = Patron {
            library: Arc::new(Nobody),
            asker: Asker::default(),
        };
        let config = |patron: Patron| patron.asker.docker_auth_configs;
        assert_eq!(config(patron.clone().of(&variables)), ["text"]);
        let content = b"file".to_vec();
        variables.files.push(FileVariable { key: name, content });
        let of = patron.of(&variables);
        assert_eq!(config(of.clone()), ["file"]);
        assert_eq!(config(of.of(&StageVariables::default())), ["file"]);
    }
}
