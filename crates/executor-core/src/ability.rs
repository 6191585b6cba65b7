//! Abilities an executor may have besides running scripts.
//!
//! An executor returns them as [`Abilities`], a struct whose fields must all be named, so that a
//! wrapper cannot lose one by forgetting it. Each can be used while `run` holds the executor.

pub use crate::terminal::{Terminal, TerminalRequest, TerminalSession, TerminalSize};

use crate::cancellation::Cancellation;
use crate::error::BuildError;
use crate::features::FeaturesInfo;
use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::{self, Debug};
use std::str::FromStr;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};

/// What an executor can do besides running stages.
///
/// A wrapper that changes one ability names all of them, or starts from those of the inner executor;
/// there is no default to fall back on.
#[derive(Debug, Clone)]
pub struct Abilities {
    /// Reaches the step-runner service.
    pub steps: Option<Arc<dyn StepsConnector>>,
    /// Opens terminals.
    pub terminal: Option<Arc<dyn Terminal>>,
    /// Transfers files.
    pub file_transfer: Option<Arc<dyn FileTransfer>>,
    /// Reaches the ports of services.
    pub port_proxy: Option<Arc<dyn PortProxy>>,
    /// Suspends the environment for a later job.
    pub suspend: Option<Arc<dyn Suspend>>,
    /// Identifies the environment for a restarted runner.
    pub resumable: Option<Arc<dyn Resumable>>,
}

impl Abilities {
    /// Returns no ability at all.
    pub const fn none() -> Self {
        Self {
            steps: None,
            terminal: None,
            file_transfer: None,
            port_proxy: None,
            suspend: None,
            resumable: None,
        }
    }

    /// Removes the abilities that a provider did not announce: the job was requested without them.
    #[must_use]
    pub fn limited_to(self, features: &FeaturesInfo) -> Self {
        Self {
            steps: self.steps.filter(|_| features.native_steps_integration),
            terminal: self.terminal.filter(|_| features.terminal),
            port_proxy: self.port_proxy.filter(|_| features.proxy),
            ..self
        }
    }
}

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
    /// Temporary when the environment still runs but cannot be reached.
    async fn connect(&self, cancellation: &Cancellation)
    -> Result<Box<dyn Connection>, BuildError>;
}

/// Reaches the ports of a job's services from outside the environment (`FeaturesInfo::proxy`).
#[async_trait]
pub trait PortProxy: Send + Sync + Debug {
    /// Opens a new connection to a port of a service; earlier ones stay as they are.
    ///
    /// `service` is one of the names the job reaches the service by; `build` is the job itself.
    ///
    /// # Errors
    ///
    /// [`BuildError::Config`] when no service has this name or it does not offer the port; temporary
    /// when nothing listens on the port yet.
    ///
    /// # Cancellation
    ///
    /// Stops soon and returns [`BuildError::Canceled`]. An open connection ends when it is dropped and
    /// when the environment ends.
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
    /// Unpacks `archive` below `directory`, and creates `directory` when it is missing.
    ///
    /// # Errors
    ///
    /// When the environment refuses, or a member of the archive lies outside `directory`.
    async fn put(
        &self,
        directory: &str,
        archive: ByteStream,
        cancellation: &Cancellation,
    ) -> Result<(), BuildError>;

    /// Packs `paths`, relative to `directory`; skips a missing path.
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

/// Identifies an environment after a suspension or a restart of the runner.
///
/// It is plain data for a journal or a job update. Pass it to a later `create` in the
/// [`ExecutorData`](crate::ExecutorData): the executor's `prepare` then attaches to the environment
/// instead of creating one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResumeHandle {
    /// The executor that created it; other executors refuse it.
    pub executor: String,
    /// The executor's own fields: container ids, pod names.
    pub fields: BTreeMap<String, String>,
}

impl ResumeHandle {
    /// Returns a handle with these fields.
    pub fn new<const N: usize>(executor: &str, fields: [(&str, String); N]) -> Self {
        Self {
            executor: executor.to_owned(),
            fields: fields.map(|(key, value)| (key.to_owned(), value)).into(),
        }
    }

    /// Checks that it is a handle of this executor.
    ///
    /// # Errors
    ///
    /// [`BuildError::Config`] otherwise.
    pub fn expect_executor(&self, name: &str) -> Result<(), BuildError> {
        if self.executor == name {
            return Ok(());
        }
        Err(BuildError::config(format!(
            "cannot resume a job of the executor {:?}: expected {name:?}",
            self.executor
        )))
    }

    /// Returns a field, which must not be empty.
    ///
    /// # Errors
    ///
    /// [`unreadable`](Self::unreadable) without it, or if it cannot be read.
    pub fn field<T: FromStr>(&self, key: &str) -> Result<T, BuildError> {
        let value = self.fields.get(key).filter(|it| !it.is_empty());
        let value = value.and_then(|it| it.parse().ok());
        value.ok_or_else(|| Self::unreadable(key))
    }

    /// Returns the error for a field that is missing or cannot be read.
    pub fn unreadable(key: &str) -> BuildError {
        BuildError::config(format!(
            "invalid record of the job to resume: its field {key:?} is missing or cannot be read"
        ))
    }
}

/// Receives a job's handle each time it changes; part of the
/// [`ExecutorData`](crate::ExecutorData) of a `create`.
///
/// The task that writes the log calls it between two pieces of output, so the log's length and the
/// handle belong together. A log cut at that length resumes without a gap.
#[derive(Clone)]
pub struct ResumeObserver(Arc<dyn Fn(&ResumeHandle) + Send + Sync>);

impl ResumeObserver {
    /// Returns an observer that calls `observe`, which must return soon: the job's output waits for it.
    pub fn new(observe: impl Fn(&ResumeHandle) + Send + Sync + 'static) -> Self {
        Self(Arc::new(observe))
    }

    /// Reports the current handle.
    pub fn notify(&self, handle: &ResumeHandle) {
        (self.0)(handle);
    }
}

impl Debug for ResumeObserver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResumeObserver").finish_non_exhaustive()
    }
}

/// Suspends an environment for a later job.
#[async_trait]
pub trait Suspend: Send + Sync + Debug {
    /// Stops the environment without removing it; a later `cleanup` does not remove it either.
    ///
    /// # Errors
    ///
    /// When a part of it cannot be stopped; `cleanup` then removes all of it.
    async fn suspend(&self, cancellation: &Cancellation) -> Result<ResumeHandle, BuildError>;
}

/// Identifies the environment of a running job for a restarted runner.
pub trait Resumable: Send + Sync + Debug {
    /// Returns the current handle; `None` before there is an environment to resume.
    fn resume_handle(&self) -> Option<ResumeHandle>;
}
