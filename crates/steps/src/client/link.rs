use super::options::ClientOptions;
use crate::wire::v1::step_runner_client::StepRunnerClient;
use executor_core::ability::{Connection, StepsConnector};
use executor_core::{BoxError, BuildError, CancelCause, Cancellation, HumanDuration, Retryability};
use hyper_util::rt::TokioIo;
use parking_lot::{Mutex, MutexGuard};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use tonic::transport::{Channel, Endpoint};
use tower_service::Service;

/// One connection to the service for all calls. It is opened when needed, and replaced when it breaks.
#[derive(Debug)]
pub(crate) struct Link {
    connecting: Arc<Connecting>,
    options: ClientOptions,
    /// Created with the first call, since it needs a runtime.
    channel: OnceLock<Channel>,
}

/// The connector, and the state of the connection.
#[derive(Debug)]
struct Connecting {
    connector: Arc<dyn StepsConnector>,
    /// Stops an attempt to connect when the link is dropped.
    stop: Cancellation,
    answered: AtomicBool,
    failure: Mutex<Option<Arc<BuildError>>>,
}

impl Link {
    pub(crate) fn new(connector: Arc<dyn StepsConnector>, options: ClientOptions) -> Self {
        Self {
            connecting: Arc::new(Connecting {
                connector,
                stop: Cancellation::new(),
                answered: AtomicBool::new(false),
                failure: Mutex::default(),
            }),
            options,
            channel: OnceLock::new(),
        }
    }

    pub(crate) fn options(&self) -> &ClientOptions {
        &self.options
    }

    /// Returns the client for calls; the first call connects.
    pub(crate) fn service(&self) -> StepRunnerClient<Channel> {
        let channel = self.channel.get_or_init(|| {
            let keep_alive = self.options.keep_alive;
            // The name is never resolved: the connector makes all connections.
            Endpoint::from_static("http://step-runner")
                .http2_keep_alive_interval(keep_alive)
                .keep_alive_timeout(keep_alive)
                .max_frame_size(LARGEST_FRAME)
                .connect_with_connector_lazy(Dial {
                    connecting: Arc::clone(&self.connecting),
                    within: self.options.connect_timeout,
                })
        });
        StepRunnerClient::new(channel.clone()).max_decoding_message_size(LARGEST_ANSWER)
    }

    /// Records that the service has answered.
    pub(crate) fn note_answer(&self) {
        self.connecting.answered.store(true, Ordering::Relaxed);
    }

    /// Returns whether the service has ever answered.
    pub(crate) fn has_answered(&self) -> bool {
        self.connecting.answered.load(Ordering::Relaxed)
    }

    /// Returns the error of the last attempt to connect, if it failed.
    pub(crate) fn failure(&self) -> Option<Arc<BuildError>> {
        self.connecting.failure().clone()
    }
}

/// A piece of a log is in one frame, not in several of the usual 16 KiB.
const LARGEST_FRAME: u32 = 128 * 1024;

/// Answers contain at most a list of requests; anything longer is streamed.
const LARGEST_ANSWER: usize = 16 << 20;

impl Drop for Link {
    fn drop(&mut self) {
        self.connecting.stop.abort(CancelCause::Shutdown);
    }
}

impl Connecting {
    fn failure(&self) -> MutexGuard<'_, Option<Arc<BuildError>>> {
        self.failure.lock()
    }
}

/// Opens a connection on each call.
#[derive(Clone)]
struct Dial {
    connecting: Arc<Connecting>,
    within: std::time::Duration,
}

impl fmt::Debug for Dial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dial").finish_non_exhaustive()
    }
}

impl Dial {
    async fn connect(self) -> Result<TokioIo<Box<dyn Connection>>, BoxError> {
        let attempt = self.connecting.stop.child();
        let connected =
            tokio::time::timeout(self.within, self.connecting.connector.connect(&attempt));
        let connected = connected.await.unwrap_or_else(|_| {
            attempt.abort(CancelCause::Timeout);
            Err(BuildError::System {
                backend: "steps",
                message: format!("no connection within {}", HumanDuration(self.within)),
                source: None,
                retry: Retryability::Temporary,
            })
        });
        match connected {
            Ok(connection) => {
                *self.connecting.failure() = None;
                Ok(TokioIo::new(connection))
            }
            Err(error) => {
                let error = Arc::new(error);
                *self.connecting.failure() = Some(Arc::clone(&error));
                Err(error.into())
            }
        }
    }
}

impl Service<tonic::transport::Uri> for Dial {
    type Response = TokioIo<Box<dyn Connection>>;
    type Error = BoxError;
    type Future =
        std::pin::Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(
        &mut self,
        _context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Result<(), Self::Error>> {
        std::task::Poll::Ready(Ok(()))
    }

    fn call(&mut self, _address: tonic::transport::Uri) -> Self::Future {
        Box::pin(self.clone().connect())
    }
}
