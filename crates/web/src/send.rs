use crate::attempt::{after, attempt, open};
use crate::clients::Clients;
use crate::retry::{Ending, wait};
use crate::route::Routes;
use crate::rules::Rules;
use crate::trust::Trust;
use crate::{Incoming, Limits, Request, Resolver, Response, SystemResolver, WebError, WebOptions};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Sends requests; clones share their connections.
#[derive(Clone)]
pub struct Web {
    clients: Arc<Clients>,
    limits: Limits,
}

impl Web {
    /// Returns one that follows these rules. Nobody is asked yet, and no connection made.
    ///
    /// # Errors
    ///
    /// When a file with certificates cannot be read, a proxy is none, or [`Reach`](crate::Reach) names what is no host.
    pub fn new(options: WebOptions) -> Result<Self, WebError> {
        Self::with_resolver(options, Arc::new(SystemResolver))
    }

    /// Returns one that asks somebody else than the system for the addresses of names.
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
            Trust::new(&options.authorities)?,
            resolver,
        );
        Ok(Self {
            clients: Arc::new(clients),
            limits: options.limits,
        })
    }

    pub(crate) fn clients(&self) -> &Clients {
        &self.clients
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Sends a request and returns the answer, whatever its status.
    ///
    /// It is sent again when the server is overloaded, broken or silent, and what the last
    /// attempt came to is returned.
    ///
    /// # Errors
    ///
    /// When the rules refuse a server, or there is no whole answer within the limits.
    ///
    /// # Panics
    ///
    /// Outside of a runtime of Tokio; see [`Waiter`](crate::Waiter).
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

    /// Sends a request and returns the answer when it begins, whatever its status.
    ///
    /// Until then all is as [`Web::send`] does it. The body may be of any length, and take any time, as long as
    /// it goes on; what breaks there is not sent again.
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
    /// Dropping the future ends the request, and so does dropping the answer.
    pub async fn open(&self, request: &Request) -> Result<Incoming, WebError> {
        let mut tries = Tries::new(&self.limits);
        loop {
            let outcome = open(&self.clients, &self.limits, request, tries.within()).await;
            if !tries.again(outcome.ending).await {
                return outcome.result;
            }
        }
    }

    /// Returns one with the same connections and rules, and these limits.
    pub fn with_limits(&self, limits: Limits) -> Self {
        Self {
            clients: Arc::clone(&self.clients),
            limits,
        }
    }
}

/// How often something was tried, and until when it may be.
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

    /// Waits until there may be another attempt, and returns whether there is to be one.
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
