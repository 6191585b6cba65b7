use crate::attempt::{after, attempt};
use crate::clients::Clients;
use crate::retry::wait;
use crate::route::Routes;
use crate::rules::Rules;
use crate::trust::Trust;
use crate::{Limits, Request, Resolver, Response, SystemResolver, WebError, WebOptions};
use std::fmt;
use std::sync::Arc;
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
        let until = after(self.limits.overall);
        let mut number = 1;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let within = self.limits.deadline.min(left);
            let outcome = attempt(&self.clients, &self.limits, request, within).await;
            let left = until.saturating_duration_since(Instant::now());
            let Some(pause) = wait(&self.limits, number, outcome.ending, left) else {
                return outcome.result;
            };
            sleep(pause).await;
            number += 1;
        }
    }
}

impl fmt::Debug for Web {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Web")
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
