//! Abilities an executor may have besides running scripts.
//!
//! An executor hands each out as `Option<Arc<dyn ..>>` from a required method, so that a wrapper
//! cannot lose one by forgetting it, and so that it can be used while `run` holds the executor.

pub use crate::terminal::{Terminal, TerminalRequest, TerminalSession, TerminalSize};

use crate::cancellation::Cancellation;
use crate::error::BuildError;
use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::{self, Debug};
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};

/// A stream of bytes in both directions.
pub trait Connection: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Connection for T {}

/// A stream of bytes to read.
pub type ByteStream = Box<dyn AsyncRead + Send + Unpin>;

/// Reaches the step-runner service inside the environment.
#[async_trait]
pub trait StepsConnector: Send + Sync + Debug {
    /// Opens a new connection to the service; earlier ones stay as they are.
    ///
    /// # Errors
    ///
    /// Temporary when the environment lives but the way to it is cut.
    async fn connect(&self, cancellation: &Cancellation)
    -> Result<Box<dyn Connection>, BuildError>;
}

/// Reaches the ports of a job's services from outside the environment, for whoever shows them to a
/// user (`FeaturesInfo::proxy`).
#[async_trait]
pub trait PortProxy: Send + Sync + Debug {
    /// Opens a new connection to a port of a service; earlier ones stay as they are.
    ///
    /// `service` is one of the names the job reaches the service by; `build` is the job itself.
    ///
    /// # Errors
    ///
    /// [`BuildError::Config`] when there is no such service or it does not offer the port; temporary
    /// when nothing listens there yet.
    ///
    /// # Cancellation
    ///
    /// Stops soon and returns [`BuildError::Canceled`]. A connection that is open ends when it is
    /// dropped, and with the environment.
    async fn connect(
        &self,
        service: &str,
        port: u16,
        cancellation: &Cancellation,
    ) -> Result<Box<dyn Connection>, BuildError>;
}

/// Moves files between the runner and a remote environment, as tar streams.
#[async_trait]
pub trait FileTransfer: Send + Sync + Debug {
    /// Unpacks `archive` below `directory`, which is made where it is missing.
    ///
    /// # Errors
    ///
    /// When the environment refuses, or the archive leaves `directory`.
    async fn put(
        &self,
        directory: &str,
        archive: ByteStream,
        cancellation: &Cancellation,
    ) -> Result<(), BuildError>;

    /// Packs `paths`, which are relative to `directory`; a missing path is left out.
    ///
    /// # Errors
    ///
    /// When the environment refuses; later errors come through the stream.
    async fn get(
        &self,
        directory: &str,
        paths: &[String],
        cancellation: &Cancellation,
    ) -> Result<ByteStream, BuildError>;
}

/// What is needed to find an environment again, after a suspension or a restart of the runner.
///
/// It is plain data: put it in a journal or a job update, and give it back in the
/// [`ExecutorData`](crate::ExecutorData) of a later `create`. The executor's `prepare` then attaches
/// to the environment instead of making one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResumeHandle {
    /// The executor that made it; another one refuses it.
    pub executor: String,
    /// The executor's own fields: container ids, pod names.
    pub fields: BTreeMap<String, String>,
}

/// Is told each time the handle of a job changes; put it into the
/// [`ExecutorData`](crate::ExecutorData) of a `create`.
///
/// It is called between two pieces of output, by whoever writes them: what the log has at this moment and
/// what the handle says belong together. A log that is cut there goes on without a gap.
#[derive(Clone)]
pub struct ResumeObserver(Arc<dyn Fn(&ResumeHandle) + Send + Sync>);

impl ResumeObserver {
    /// Returns one that calls `observe`, which should not take long: the job's output waits for it.
    pub fn new(observe: impl Fn(&ResumeHandle) + Send + Sync + 'static) -> Self {
        Self(Arc::new(observe))
    }

    /// Tells of the handle as it is now.
    pub fn tell(&self, handle: &ResumeHandle) {
        (self.0)(handle);
    }
}

impl Debug for ResumeObserver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResumeObserver").finish_non_exhaustive()
    }
}

/// Keeps an environment for a later job.
#[async_trait]
pub trait Suspend: Send + Sync + Debug {
    /// Stops the environment without removing it; `cleanup` leaves it alone from then on.
    ///
    /// # Errors
    ///
    /// When a part of it could not be stopped; then all of it is removed by `cleanup`.
    async fn suspend(&self, cancellation: &Cancellation) -> Result<ResumeHandle, BuildError>;
}

/// Names the environment of a running job, so that a restarted runner can find it.
pub trait Resumable: Send + Sync + Debug {
    /// Returns the handle as it is now; `None` before there is anything to come back to.
    fn resume_handle(&self) -> Option<ResumeHandle>;
}
