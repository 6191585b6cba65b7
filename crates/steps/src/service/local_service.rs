//! A service in the process of its client.

use super::error::ServiceError;
use super::options::ServiceOptions;
use super::server::Service;
use super::shared::Tasks;
use crate::agent::connection;
use async_trait::async_trait;
use executor_core::ability::{Connection, StepsConnector};
use executor_core::{BuildError, Cancellation};
use hyper::service::service_fn;
use process::Supervisor;
use std::ffi::OsString;
use tokio_util::sync::CancellationToken;

/// The size of the buffer in each direction.
const PIPE: usize = 256 * 1024;

/// A service in this process with its connector, for steps that run on this host.
///
/// It does not look for abandoned requests: its owner closes it after the job.
#[derive(Debug)]
pub struct LocalService {
    service: Service,
    connections: Tasks,
    closing: CancellationToken,
}

impl LocalService {
    /// Starts a service whose processes are started and guarded by `supervisor`. Steps see `environment` below
    /// the variables of their request. The corresponding [`ServiceOptions`] are ignored.
    ///
    /// # Errors
    ///
    /// When its directory cannot be used.
    pub fn start(
        options: ServiceOptions,
        supervisor: Supervisor,
        environment: Vec<(OsString, OsString)>,
    ) -> Result<Self, ServiceError> {
        Ok(Self {
            service: Service::within(options, supervisor, environment)?,
            connections: Tasks::default(),
            closing: CancellationToken::new(),
        })
    }

    /// Kills running requests and removes all state. Nothing can run afterwards.
    ///
    /// # Errors
    ///
    /// When a process survives being killed.
    pub async fn close(&self) -> Result<(), ServiceError> {
        self.closing.cancel();
        let closed = self.service.close().await;
        self.connections.join().await;
        closed
    }
}

#[async_trait]
impl StepsConnector for LocalService {
    async fn connect(&self, _: &Cancellation) -> Result<Box<dyn Connection>, BuildError> {
        let (ours, theirs) = tokio::io::duplex(PIPE);
        let dispatch = self.service.dispatch();
        let answer = service_fn(move |call| dispatch.clone().answer(call));
        let served = connection::serve(theirs, answer, self.closing.clone());
        self.connections.spawn(served);
        Ok(Box::new(ours))
    }
}
