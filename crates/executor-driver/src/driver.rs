//! The driver of a provider: one process at a time.

use crate::call::parse;
use crate::config::DriverConfig;
use crate::connection::Connection;
use crate::error::{DriverError, End};
use crate::error_output::JobLogs;
use crate::message::{Describe, Description, PROTOCOL, Spoken};
use parking_lot::Mutex;
use process::{Command, ProcessTree, Settings, Stdin, Supervisor, TempDir};
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};
use tokio::task::JoinSet;

/// Starts the driver when it is needed and not running.
#[derive(Debug)]
pub(crate) struct Driver {
    pub(crate) config: DriverConfig,
    /// The logs of the jobs in it.
    pub(crate) logs: Arc<JobLogs>,
    current: Mutex<Current>,
    /// Distinguishes the environments of this provider from those of any other.
    prefix: String,
    next: AtomicU64,
}

#[derive(Debug, Default)]
struct Current {
    host: Option<Host>,
    connection: Option<Arc<Connection>>,
    /// One task per driver process, and work that ends with it.
    tasks: JoinSet<()>,
    closed: bool,
}

/// Where the driver runs.
#[derive(Debug)]
struct Host {
    tree: ProcessTree,
    /// The driver's own directory, removed with the provider or after the death of the runner.
    directory: TempDir,
}

impl Driver {
    pub(crate) fn new(config: DriverConfig) -> Self {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let prefix = format!(
            "{}-{:x}",
            std::process::id(),
            now.unwrap_or_default().as_micros()
        );
        Self {
            config,
            logs: Arc::default(),
            current: Mutex::default(),
            prefix,
            next: AtomicU64::new(1),
        }
    }

    /// Returns a name for an environment that no other has.
    pub(crate) fn new_environment(&self) -> String {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        format!("{}-{number}", self.prefix)
    }

    /// Returns a running driver with its description; starts one if there is none.
    ///
    /// # Cancellation
    ///
    /// The future can be dropped at any time; a started driver then waits for the next caller.
    pub(crate) async fn connect(&self) -> Result<(Arc<Connection>, Description), DriverError> {
        let (connection, directory) = self.running()?;
        let described = connection
            .description
            .get_or_try_init(|| self.describe(&connection, &directory));
        match described.await {
            Ok(description) => {
                let description = description.clone();
                Ok((connection, description))
            }
            Err(error) => {
                // The next caller starts another one.
                connection.shared.fail(End::NotDescribed);
                Err(error)
            }
        }
    }

    /// Returns the running driver, if there is one that has described itself.
    pub(crate) fn if_running(&self) -> Option<Arc<Connection>> {
        let connection = self.current.lock().connection.clone()?;
        let is_running = connection.description.initialized() && connection.is_alive();
        is_running.then_some(connection)
    }

    /// Returns what the last driver process said about itself, whether it still runs or not.
    pub(crate) fn description(&self) -> Option<Description> {
        let current = self.current.lock();
        current.connection.as_ref()?.description.get().cloned()
    }

    async fn describe(
        &self,
        connection: &Arc<Connection>,
        directory: &str,
    ) -> Result<Description, DriverError> {
        let params = Describe {
            protocol: PROTOCOL,
            runwright: env!("CARGO_PKG_VERSION"),
            directory,
        };
        let mut call = connection.call("describe", params).await?;
        let described: Value = call.result(self.config.start_timeout).await?;
        // First, since another version may describe itself in another form.
        let Spoken { protocol, name } = parse("describe", described.clone())?;
        if protocol != PROTOCOL {
            let theirs = protocol;
            return Err(DriverError::Version { name, theirs });
        }
        let description: Description = parse("describe", described)?;
        for (field, path) in [
            ("builds_dir", &description.builds_dir),
            ("cache_dir", &description.cache_dir),
        ] {
            if !path.starts_with('/') {
                return Err(DriverError::Answer {
                    call: "describe",
                    why: format!("invalid `{field}` {path:?}: expected an absolute path"),
                });
            }
        }
        for unknown in description.unknown_capabilities() {
            tracing::warn!(
                "The driver has the unknown capability {unknown:?}: expected capacity, files or reconnect."
            );
        }
        let (name, version) = (&description.name, &description.version);
        tracing::info!(name, version, "The driver is ready.");
        Ok(description)
    }

    /// Runs work that ends with the driver process.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let mut current = self.current.lock();
        if !current.closed {
            current.tasks.spawn(work);
        }
    }

    /// Returns the driver process and its directory; starts one if there is none.
    fn running(&self) -> Result<(Arc<Connection>, String), DriverError> {
        let mut current = self.current.lock();
        let current = &mut *current;
        if current.closed {
            return Err(DriverError::Ended {
                end: End::Stopped,
                error_output: None,
            });
        }
        let [program, arguments @ ..] = self.config.command.as_slice() else {
            return Err(DriverError::NoCommand);
        };
        let start_error = |source| DriverError::Start {
            program: program.clone(),
            source: Arc::new(source),
        };
        let host = match &mut current.host {
            Some(host) => host,
            none => none.insert(self.host().map_err(start_error)?),
        };
        let directory = host.directory.path().to_string_lossy().into_owned();
        let alive = current.connection.clone().filter(|it| it.is_alive());
        if let Some(connection) = alive {
            return Ok((connection, directory));
        }
        let mut command = Command::new(program)
            .args(arguments)
            // The driver is the user's own tool, and needs the home directory, agents and the search path.
            .envs(host.tree.environment().iter())
            .stdin(Stdin::Piped);
        if let Some(directory) = &self.config.working_directory {
            command = command.current_dir(directory);
        }
        let process = host.tree.spawn(&command).map_err(start_error)?;
        let (connection, serve) =
            Connection::new(process, self.config.call_timeout, Arc::clone(&self.logs));
        current.tasks.spawn(serve);
        current.connection = Some(Arc::clone(&connection));
        Ok((connection, directory))
    }

    fn host(&self) -> Result<Host, process::ProcessError> {
        let supervisor = match &self.config.supervisor {
            Some(supervisor) => supervisor.clone(),
            None => Supervisor::start(Settings::default())?,
        };
        let parent = self.config.directory.clone();
        let parent = parent.unwrap_or_else(std::env::temp_dir);
        Ok(Host {
            tree: supervisor.tree(),
            directory: supervisor.temp_dir(&parent, "driver-")?,
        })
    }

    /// Ends the driver, first by closing its standard input; nothing is started afterwards.
    pub(crate) async fn shutdown(&self, deadline: Duration) -> Result<(), DriverError> {
        let Current {
            host,
            connection,
            mut tasks,
            ..
        } = {
            let mut current = self.current.lock();
            std::mem::replace(
                &mut *current,
                Current {
                    closed: true,
                    ..Current::default()
                },
            )
        };
        if let Some(connection) = connection {
            connection.close(deadline / 2).await;
        }
        while tasks.join_next().await.is_some() {}
        let Some(host) = host else { return Ok(()) };
        let closed = host.tree.close().await;
        let removed = host.directory.remove().await;
        closed
            .and(removed)
            .map_err(|source| DriverError::Stop(Arc::new(source)))
    }
}
