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

/// One connection to the service, which is opened when it is needed, carries all calls, and is replaced when it
/// is broken.
#[derive(Debug)]
pub(crate) struct Link {
    way: Arc<Way>,
    options: ClientOptions,
    /// Made with the first call, since it needs a runtime.
    channel: OnceLock<Channel>,
}

/// How the service is reached, and how that went.
#[derive(Debug)]
struct Way {
    connector: Arc<dyn StepsConnector>,
    /// Stops an attempt to connect when nobody waits for it any more.
    stop: Cancellation,
    answered: AtomicBool,
    failure: Mutex<Option<Arc<BuildError>>>,
}

impl Link {
    pub(crate) fn new(connector: Arc<dyn StepsConnector>, options: ClientOptions) -> Self {
        Self {
            way: Arc::new(Way {
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

    /// Returns what makes calls; it connects with the first of them.
    pub(crate) fn service(&self) -> StepRunnerClient<Channel> {
        let channel = self.channel.get_or_init(|| {
            let keep_alive = self.options.keep_alive;
            // The name is never looked up: all connections are the connector's.
            Endpoint::from_static("http://step-runner")
                .http2_keep_alive_interval(keep_alive)
                .keep_alive_timeout(keep_alive)
                .connect_with_connector_lazy(Dial {
                    way: Arc::clone(&self.way),
                    within: self.options.connect_timeout,
                })
        });
        StepRunnerClient::new(channel.clone()).max_decoding_message_size(LARGEST_ANSWER)
    }

    /// Takes note that the service has answered.
    pub(crate) fn note_answer(&self) {
        self.way.answered.store(true, Ordering::Relaxed);
    }

    /// Returns whether the service has ever answered.
    pub(crate) fn has_answered(&self) -> bool {
        self.way.answered.load(Ordering::Relaxed)
    }

    /// Returns why the last attempt to connect failed, if it did.
    pub(crate) fn failure(&self) -> Option<Arc<BuildError>> {
        self.way.failure().clone()
    }
}

/// Answers hold at most a list of requests; what is long comes in pieces.
const LARGEST_ANSWER: usize = 16 << 20;

impl Drop for Link {
    fn drop(&mut self) {
        self.way.stop.abort(CancelCause::Shutdown);
    }
}

impl Way {
    fn failure(&self) -> MutexGuard<'_, Option<Arc<BuildError>>> {
        self.failure.lock()
    }
}

/// Opens a connection each time it is called.
#[derive(Clone)]
struct Dial {
    way: Arc<Way>,
    within: std::time::Duration,
}

impl fmt::Debug for Dial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dial").finish_non_exhaustive()
    }
}

impl Dial {
    async fn connect(self) -> Result<TokioIo<Box<dyn Connection>>, BoxError> {
        let attempt = self.way.stop.child();
        let connected = tokio::time::timeout(self.within, self.way.connector.connect(&attempt));
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
                *self.way.failure() = None;
                Ok(TokioIo::new(connection))
            }
            Err(error) => {
                let error = Arc::new(error);
                *self.way.failure() = Some(Arc::clone(&error));
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
