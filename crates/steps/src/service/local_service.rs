//! A service in the process of whoever asks it.

use super::error::ServiceError;
use super::options::ServiceOptions;
use super::server::Service;
use super::tasks::Tasks;
use crate::agent::connection;
use async_trait::async_trait;
use executor_core::ability::{Connection, StepsConnector};
use executor_core::{BuildError, Cancellation};
use hyper::service::service_fn;
use process::Supervisor;
use std::ffi::OsString;
use tokio_util::sync::CancellationToken;

/// How many bytes may be under way between the two sides.
const PIPE: usize = 256 * 1024;

/// A service in this process, and the way to it: for steps that run on this host.
///
/// It looks for no request that was kept for too long: whoever has it closes it when the job is over.
#[derive(Debug)]
pub struct LocalService {
    service: Service,
    connections: Tasks,
    closing: CancellationToken,
}

impl LocalService {
    /// Prepares a service whose processes are started, and guarded, by `supervisor`. Steps see `environment` below
    /// what their request says; what [`ServiceOptions`] say of both does not count.
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

    /// Kills what runs and removes all that was kept. Nothing can be run afterwards.
    ///
    /// # Errors
    ///
    /// When a process outlives being killed.
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
