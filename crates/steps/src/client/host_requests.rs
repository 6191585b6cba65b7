//! Fulfils the host requests of a request: fetches functions and publishes images for its steps.
//!
//! The protocol calls a host request `Wish`, and its answer `Grant`.

use super::call::shortened;
use super::call::{Attempts, Failure};
use super::link::Link;
use super::run_status::RunId;
use super::transfer;
use crate::library::{JobCredentials, Library, Source};
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

/// How many host requests are served at once; steps run in order, so more of them wait.
const AT_ONCE: usize = 4;

/// The greatest number of host requests of one request.
const MOST: u64 = 1_000;

/// The longest text in a host request.
const LONGEST_NAME: usize = 4096;

/// A library, and the job that uses it.
#[derive(Debug, Clone)]
pub(crate) struct Host {
    pub(crate) library: Arc<dyn Library>,
    pub(crate) credentials: JobCredentials,
}

impl Host {
    /// Returns the host for a job with these variables.
    pub(crate) fn for_job(mut self, variables: &StageVariables) -> Self {
        if self.credentials.docker_auth_configs.is_empty() {
            self.credentials = JobCredentials::of(variables);
        }
        self
    }
}

/// The host requests of one request.
#[derive(Debug)]
pub(crate) struct HostRequests<'a> {
    link: &'a Arc<Link>,
    id: &'a RunId,
    host: Host,
}

impl<'a> HostRequests<'a> {
    pub(crate) fn new(link: &'a Arc<Link>, id: &'a RunId, host: Host) -> Self {
        Self { link, id, host }
    }

    /// Serves host requests until there can be no more. Dropping the future stops unfinished ones.
    pub(crate) async fn serve(&self) {
        let (sender, mut host_requests) = mpsc::channel(1);
        let serving = async {
            let mut work = FuturesUnordered::new();
            loop {
                tokio::select! {
                    Some(host_request) = host_requests.recv(), if work.len() < AT_ONCE => work.push(self.answer(host_request)),
                    Some(()) = work.next(), if !work.is_empty() => {}
                    else => break,
                }
            }
        };
        tokio::join!(self.listen(sender), serving);
    }

    /// Passes on each host request once, over as many connections as necessary.
    async fn listen(&self, host_requests: mpsc::Sender<Wish>) {
        let mut attempts = Attempts::new(self.link);
        let mut next = 0;
        loop {
            let listened = self
                .listen_once(&host_requests, &mut next, &mut attempts)
                .await;
            if next > MOST {
                // The first one above the limit is refused, and no more are received.
                return;
            }
            let cause = match listened {
                Ok(()) => "the host requests ended too early".into(),
                Err(Failure::Gone(cause)) => cause,
                Err(Failure::Refused(status)) => {
                    // An older agent has no host requests.
                    tracing::debug!(id = %self.id, %status, "Could not follow the host requests of a request.");
                    return;
                }
            };
            // The follower of the log reports a lost service.
            if attempts.wait(cause, &Cancellation::new()).await.is_err() {
                return;
            }
        }
    }

    async fn listen_once(
        &self,
        host_requests: &mpsc::Sender<Wish>,
        next: &mut u64,
        attempts: &mut Attempts<'_>,
    ) -> Result<(), Failure> {
        let request = FollowWishesRequest {
            id: self.id.as_str().to_owned(),
        };
        let mut service = self.link.service();
        let mut messages = attempts.once(service.follow_wishes(request)).await?;
        attempts.retry.answered();
        loop {
            // A fast sender must not starve other tasks.
            tokio::task::consume_budget().await;
            let message = messages.message().await;
            let Some(message) = fail_point!("steps::client::wishes", message)? else {
                return Ok(());
            };
            attempts.retry.progressed();
            // They arrive in order; after a reconnect the open ones are sent again.
            let Some(host_request) = message
                .wish
                .filter(|host_request| host_request.number >= *next)
            else {
                continue;
            };
            *next = host_request.number.saturating_add(1);
            if host_requests.send(host_request).await.is_err() || *next > MOST {
                return Ok(());
            }
        }
    }

    /// Fulfils a host request, or refuses it.
    async fn answer(&self, host_request: Wish) {
        let number = host_request.number;
        let outcome = match catch_panic(self.outcome(host_request)).await {
            Ok(outcome) => outcome.unwrap_or_else(|words| Outcome::Refused(shortened(words))),
            Err(panic) => {
                tracing::error!(%panic, id = %self.id, "The library panicked.");
                Outcome::Refused("internal error of the function library".to_owned())
            }
        };
        if let Err(error) = self.grant(number, outcome).await {
            tracing::debug!(id = %self.id, %error, "The answer to a host request was not accepted.");
            let words = format!("the answer was not accepted: {error}");
            let refused = Outcome::Refused(shortened(words));
            // The follower of the log reports a lost service.
            let _ = self.grant(number, refused).await;
        }
    }

    async fn outcome(&self, host_request: Wish) -> Result<Outcome, String> {
        if host_request.number >= MOST {
            return Err(format!("a request has at most {MOST} host requests"));
        }
        let credentials = self.host.credentials.clone();
        let credentials = credentials.with_first(host_request.docker_auth_config);
        match host_request.what {
            Some(What::Git(git)) => {
                let (url, rev) = (named(git.url)?, named(git.rev)?);
                let source = Source::Git { url, rev };
                self.fetch(&source, &credentials, &host_request.directory)
                    .await
            }
            Some(What::Oci(oci)) => {
                let source = Source::Oci {
                    registry: named(oci.registry)?,
                    repository: named(oci.repository)?,
                    tag: named(oci.tag)?,
                    platform: named(oci.platform)?,
                };
                self.fetch(&source, &credentials, &host_request.directory)
                    .await
            }
            Some(What::Publish(publish)) => self.publish(publish, &credentials).await,
            None => Err("the client does not know this kind of host request".to_owned()),
        }
    }

    async fn fetch(
        &self,
        source: &Source,
        credentials: &JobCredentials,
        directory: &str,
    ) -> Result<Outcome, String> {
        absolute(directory)?;
        let fetched = self.host.library.fetch(source, credentials).await;
        let fetched = fetched.map_err(|error| format!("{source}: {error}"))?;
        let sent = transfer::send(self.link, &fetched.directory, directory).await;
        let name =
            sent.map_err(|words| format!("{source}: its files could not be sent: {words}"))?;
        Ok(Outcome::Fetched(Fetched {
            directory: name,
            identity: fetched.identity,
        }))
    }

    async fn publish(
        &self,
        publish: Publish,
        credentials: &JobCredentials,
    ) -> Result<Outcome, String> {
        let archive = absolute(&publish.archive)?;
        let repository = named(publish.to_repository)?;
        let file = transfer::receive(self.link, &archive).await;
        let file = file.map_err(|words| {
            let archive = archive.display();
            format!("the archive {archive} could not be fetched: {words}")
        })?;
        // The file has no name, so nothing is left of it if this process crashes.
        let path = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
        let library = &self.host.library;
        let published = library
            .publish(Path::new(&path), &repository, credentials)
            .await;
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

/// Checks a name, since the environment is not trusted.
fn named(name: String) -> Result<String, String> {
    if name.is_empty() || name.len() > LONGEST_NAME || name.chars().any(char::is_control) {
        return Err("a name is empty, too long, or contains control characters".to_owned());
    }
    Ok(name)
}

fn absolute(path: &str) -> Result<PathBuf, String> {
    let leads_back = path.split('/').any(|part| part == "..");
    if !path.starts_with('/') || leads_back || path.contains('\0') || path.len() > LONGEST_NAME {
        return Err("a path of the environment is not absolute, or contains `..`".to_owned());
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

    /// Cannot connect, and panics when asked: invalid requests must be refused before.
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
        async fn fetch(
            &self,
            source: &Source,
            _: &JobCredentials,
        ) -> Result<Fetched, LibraryError> {
            panic!("asked for {source}");
        }

        async fn publish(
            &self,
            _: &Path,
            to: &str,
            _: &JobCredentials,
        ) -> Result<Published, LibraryError> {
            panic!("asked for {to}");
        }
    }

    #[tokio::test]
    async fn invalid_host_requests_never_reach_the_library() {
        let link = Arc::new(Link::new(Arc::new(Nobody), ClientOptions::default()));
        let id = RunId::new("1");
        let host = Host {
            library: Arc::new(Nobody),
            credentials: JobCredentials::default(),
        };
        let host_requests = HostRequests::new(&link, &id, host);
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
            let host_request = Wish {
                number,
                what,
                directory: directory.to_owned(),
                ..Wish::default()
            };
            let words = host_requests.outcome(host_request).await.unwrap_err();
            assert!(words.contains(expect), "{words}");
        };
        let good = || git("https://example.com/a");
        refused(MOST, good(), "/x", "at most").await;
        refused(0, None, "/x", "does not know").await;
        refused(0, good(), "x", "is not absolute").await;
        refused(0, good(), "/x/../y", "contains `..`").await;
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
    fn job_credentials_are_a_variable_or_a_file() {
        let name = "DOCKER_AUTH_CONFIG".to_owned();
        let mut variables = StageVariables {
            environment: vec![(name.clone(), "text".to_owned())],
            ..StageVariables::default()
        };
        let host = Host {
            library: Arc::new(Nobody),
            credentials: JobCredentials::default(),
        };
        let config = |host: Host| host.credentials.docker_auth_configs;
        assert_eq!(config(host.clone().for_job(&variables)), ["text"]);
        let content = b"file".to_vec();
        variables.files.push(FileVariable { key: name, content });
        let of = host.for_job(&variables);
        assert_eq!(config(of.clone()), ["file"]);
        assert_eq!(config(of.for_job(&StageVariables::default())), ["file"]);
    }
}
