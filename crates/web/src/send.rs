use crate::attempt::{after, attempt, open};
use crate::clients::Clients;
use crate::resolver::look_up;
use crate::retry::{Ending, wait};
use crate::route::Routes;
use crate::rules::Rules;
use crate::trust::Trust;
use crate::{Incoming, Limits, Request, Resolver, Response, SystemResolver, WebError, WebOptions};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};
use url::{Host, Url};

/// Sends requests; clones share their connections.
#[derive(Clone)]
pub struct Web {
    clients: Arc<Clients>,
    limits: Limits,
}

impl Web {
    /// Returns a `Web` with these rules. Nothing is looked up or connected yet.
    ///
    /// # Errors
    ///
    /// When a certificate file cannot be read, or a proxy or a host in [`Reach`](crate::Reach) is invalid.
    pub fn new(options: WebOptions) -> Result<Self, WebError> {
        Self::with_resolver(options, Arc::new(SystemResolver))
    }

    /// Returns a `Web` that looks up names with `resolver` instead of the system's.
    ///
    /// # Errors
    ///
    /// As [`Web::new`].
    pub fn with_resolver(
        options: WebOptions,
        resolver: Arc<dyn Resolver>,
    ) -> Result<Self, WebError> {
        let clients = Clients::new(
            Rules::new(&options.reach)?,
            Routes::new(&options.proxies)?,
            Trust::new(&options.authorities, options.identity.as_ref())?,
            resolver,
        );
        Ok(Self {
            clients: Arc::new(clients),
            limits: options.limits,
        })
    }

    /// Sends a request and returns the response, whatever its status.
    ///
    /// The request is sent again when the server is overloaded, broken or silent. The result of the last attempt
    /// is returned.
    ///
    /// # Errors
    ///
    /// When the rules refuse a server, or no complete response arrives within the limits.
    ///
    /// # Panics
    ///
    /// Outside of a Tokio runtime; see [`Waiter`](crate::Waiter).
    ///
    /// # Cancellation
    ///
    /// Dropping the future ends the request.
    pub async fn send(&self, request: &Request) -> Result<Response, WebError> {
        let mut tries = Tries::new(&self.limits);
        loop {
            let outcome = attempt(&self.clients, &self.limits, request, tries.within()).await;
            if !tries.again(outcome.ending).await {
                return outcome.result;
            }
        }
    }

    /// Sends a request and returns the response as soon as it begins, whatever its status.
    ///
    /// Up to then, this works as [`Web::send`]. The body may be of any length and take any time, as long as data keeps
    /// arriving; a body that breaks off is not requested again.
    ///
    /// # Errors
    ///
    /// As [`Web::send`].
    ///
    /// # Panics
    ///
    /// As [`Web::send`].
    ///
    /// # Cancellation
    ///
    /// Dropping the future ends the request, and so does dropping the response.
    pub async fn open(&self, request: &Request) -> Result<Incoming, WebError> {
        let mut tries = Tries::new(&self.limits);
        loop {
            let outcome = open(&self.clients, &self.limits, request, tries.within()).await;
            if !tries.again(outcome.ending).await {
                return outcome.result;
            }
        }
    }

    /// Checks whether a server may be reached, for callers that connect to it by other means.
    ///
    /// The name may resolve to another address when the caller looks it up again. [`Web::send`] connects to the
    /// address that it checked.
    ///
    /// # Errors
    ///
    /// When the rules refuse the server, or its name cannot be looked up.
    pub async fn check(&self, url: &Url) -> Result<(), WebError> {
        let clients = &self.clients;
        let server = clients.rules.check_url(url)?;
        if clients.routes.proxy(&server).is_some() {
            return clients.rules.check_unseen(&server, url);
        }
        let Some(Host::Domain(name)) = url.host() else {
            return Ok(());
        };
        let within = self.limits.deadline;
        let found = match timeout(within, look_up(&*clients.resolver, name)).await {
            Ok(Ok(found)) => found,
            Ok(Err(error)) => {
                let reason = format!("the name {name} cannot be looked up: {error}");
                return Err(WebError::Unreachable { server, reason });
            }
            Err(_) => return Err(WebError::Late { server, within }),
        };
        clients.rules.check_addresses(&server, &found)
    }

    /// Returns a `Web` with the same connections and rules, and these limits.
    pub fn with_limits(&self, limits: Limits) -> Self {
        Self {
            clients: Arc::clone(&self.clients),
            limits,
        }
    }
}

/// The attempts of one request, and their deadline.
struct Tries<'a> {
    limits: &'a Limits,
    until: Instant,
    number: usize,
}

impl<'a> Tries<'a> {
    fn new(limits: &'a Limits) -> Self {
        Self {
            limits,
            until: after(limits.overall),
            number: 1,
        }
    }

    fn left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }

    /// Returns how long the next attempt may take.
    fn within(&self) -> Duration {
        self.limits.deadline.min(self.left())
    }

    /// Waits for the pause before another attempt, and returns whether there is to be one.
    async fn again(&mut self, ending: Ending) -> bool {
        let Some(pause) = wait(self.limits, self.number, ending, self.left()) else {
            return false;
        };
        sleep(pause).await;
        self.number += 1;
        true
    }
}

impl fmt::Debug for Web {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Web")
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
