//! The service from start to shutdown.

use super::calls::Api;
use super::dispatch::Dispatch;
use super::environment::inherited;
use super::error::ServiceError;
use super::options::ServiceOptions;
use super::prepare::ServiceContext;
use super::prune::prune;
use super::shared::{Shared, Tasks};
use super::table::Table;
use crate::agent::connection;
use executor_core::{CancelCause, Cancellation, StopLevel};
use hyper::service::service_fn;
use process::{Settings, Supervisor, make_private_dir, remove_tree};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::UnixListener;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};
use tokio_util::sync::CancellationToken;

/// The pause before accepting again when no connection can be accepted.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// The step-runner service of one environment.
///
/// It lives as long as any clone; [`serve`](Self::serve) shuts it down.
#[derive(Debug, Clone)]
pub struct Service {
    shared: Arc<Shared>,
}

impl Service {
    /// Starts a service: creates its directory and starts its supervisor.
    ///
    /// Requires a tokio runtime. State of an earlier service in the directory is removed.
    ///
    /// # Errors
    ///
    /// When the directory cannot be used, or processes cannot be contained as configured.
    pub fn start(options: ServiceOptions) -> Result<Self, ServiceError> {
        let supervisor = Supervisor::start(Settings {
            containment: options.containment,
            ..Settings::default()
        })?;
        let environment = inherited(options.inherit, supervisor.environment().iter());
        Self::new(options, supervisor, environment, true)
    }

    /// Starts a service with another's supervisor, which is not shut down with it. `environment` is the inherited part
    /// of the environment.
    ///
    /// # Errors
    ///
    /// When the directory cannot be used.
    pub(crate) fn within(
        options: ServiceOptions,
        supervisor: Supervisor,
        environment: Vec<(OsString, OsString)>,
    ) -> Result<Self, ServiceError> {
        Self::new(options, supervisor, environment, false)
    }

    fn new(
        options: ServiceOptions,
        supervisor: Supervisor,
        inherited: Vec<(OsString, OsString)>,
        owns_supervisor: bool,
    ) -> Result<Self, ServiceError> {
        let context = ServiceContext {
            requests: requests_dir(&options)?,
            inherited,
            environment: supervisor.environment().clone(),
            writers: Arc::default(),
            timing: options.timing,
            host_timeout: options.host_timeout,
        };
        let shared = Shared {
            options,
            supervisor,
            context,
            table: Table::default(),
            preparing: tokio::sync::Mutex::default(),
            requests: Tasks::default(),
            closed: Cancellation::new(),
            owns_supervisor,
        };
        Ok(Self {
            shared: Arc::new(shared),
        })
    }

    /// Returns the supervisor of the service, to start other processes beside it.
    pub fn supervisor(&self) -> &Supervisor {
        &self.shared.supervisor
    }

    /// Returns the number of known requests: those that run, and those that are not finished.
    pub fn requests(&self) -> usize {
        self.shared.table.all().len()
    }

    /// Serves a socket until stopped, then kills running requests and removes all state.
    ///
    /// # Errors
    ///
    /// When a process survives being killed.
    pub async fn serve(
        &self,
        listener: UnixListener,
        stop: &Cancellation,
    ) -> Result<(), ServiceError> {
        let connections = Tasks::default();
        let closing = CancellationToken::new();
        let dispatch = self.dispatch();
        let mut scan = interval(self.shared.options.scan_every);
        scan.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = stop.canceled() => break,
                _ = scan.tick() => self.prune(),
                accepted = listener.accept() => match accepted {
                    Ok((stream, _)) => {
                        let dispatch = dispatch.clone();
                        let answer = service_fn(move |call| dispatch.clone().answer(call));
                        connections.spawn(connection::serve(stream, answer, closing.clone()));
                    }
                    Err(error) => {
                        tracing::warn!(%error, "Could not accept a connection.");
                        sleep(ACCEPT_PAUSE).await;
                    }
                },
            }
        }
        drop(listener);
        closing.cancel();
        let closed = self.close().await;
        connections.join().await;
        closed
    }

    /// Returns the handler of calls, for a caller that accepts connections itself.
    pub(crate) fn dispatch(&self) -> Dispatch {
        Dispatch::new(Api(Arc::clone(&self.shared)))
    }

    /// Stops overlong requests and removes abandoned ones. A caller that accepts connections itself calls this every
    /// [`scan_every`](ServiceOptions::scan_every).
    pub(crate) fn prune(&self) {
        for request in self.shared.table.all() {
            prune(&request, &self.shared.options);
        }
    }

    /// Cancels running requests and waits up to `within` for their end, then up to `fetch` until all results are fetched.
    /// Nothing can run afterwards.
    pub(crate) async fn wind_down(&self, within: Duration, fetch: Duration) {
        let shared = &self.shared;
        shared.closed.cancel(CancelCause::Shutdown);
        drop(shared.preparing.lock().await);
        let all = shared.table.all();
        for request in &all {
            request.stop(StopLevel::Cancel, CancelCause::Shutdown);
        }
        let ended = async {
            for request in &all {
                let mut changes = request.changes();
                while !request.has_ended() && changes.changed().await.is_ok() {}
            }
        };
        // The caller closes the service next, which kills the rest.
        let _ = timeout(within, ended).await;
        let finished = async {
            for request in &all {
                request.removed().await;
            }
        };
        let _ = timeout(fetch, finished).await;
    }

    /// Kills running requests and removes all state. Nothing can run afterwards.
    ///
    /// # Errors
    ///
    /// When a process survives being killed.
    pub(crate) async fn close(&self) -> Result<(), ServiceError> {
        let shared = &self.shared;
        shared.closed.abort(CancelCause::Shutdown);
        // A concurrent `prepare` finishes before this lock is taken, and no other starts.
        drop(shared.preparing.lock().await);
        for request in shared.table.all() {
            request.dismiss(CancelCause::Shutdown);
        }
        shared.requests.join().await;
        if shared.owns_supervisor {
            shared.supervisor.clone().shutdown().await?;
        }
        if let Err(error) = remove_tree(&shared.context.requests) {
            tracing::warn!(%error, "Could not remove the directory of requests.");
        }
        Ok(())
    }
}

/// Creates the empty parent of the requests' directories.
fn requests_dir(options: &ServiceOptions) -> Result<PathBuf, ServiceError> {
    let path = options.state_dir.join("requests");
    let create = || {
        std::fs::create_dir_all(&options.state_dir)?;
        remove_tree(&path)?;
        make_private_dir(&path)
    };
    match create() {
        Ok(()) => Ok(path),
        Err(source) => Err(ServiceError::Directory { path, source }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::v1::RunRequest;
    use futures_util::FutureExt;
    use std::fs;

    fn shared(folder: &tempfile::TempDir) -> Arc<Shared> {
        let options = ServiceOptions::new(folder.path().join("state"));
        Service::start(options).unwrap().shared
    }

    fn request(folder: &tempfile::TempDir, script: &str) -> RunRequest {
        RunRequest {
            id: "1".to_owned(),
            work_dir: folder.path().display().to_string(),
            steps: format!(r#"[{{"name": "script", "script": "{script}"}}]"#),
            ..RunRequest::default()
        }
    }

    #[tokio::test]
    async fn run_during_finish_starts_a_new_request() {
        // R-STEP-17
        let folder = tempfile::tempdir().unwrap();
        let shared = shared(&folder);
        shared.run(request(&folder, "sleep 600")).await.unwrap();
        let first = shared.table.get("1").unwrap();
        let mut finish = std::pin::pin!(shared.finish("1"));
        assert_eq!(finish.as_mut().now_or_never(), None);
        let run = shared.run(request(&folder, "touch ran"));
        let ((), ran) = tokio::join!(finish, run);
        ran.unwrap();
        let second = shared.table.get("1").expect("the request is known");
        assert!(!Arc::ptr_eq(&first, &second));
        let mut changes = second.changes();
        while !second.has_ended() && changes.changed().await.is_ok() {}
        assert!(fs::exists(folder.path().join("ran")).unwrap());
    }

    #[tokio::test]
    async fn finish_ends_a_concurrent_run() {
        let folder = tempfile::tempdir().unwrap();
        let shared = shared(&folder);
        let guard = shared.preparing.lock().await;
        let mut run = std::pin::pin!(shared.run(request(&folder, "touch ran; sleep 600")));
        assert!(run.as_mut().now_or_never().is_none());
        let mut finish = std::pin::pin!(shared.finish("1"));
        assert_eq!(finish.as_mut().now_or_never(), None);
        drop(guard);
        let (ran, ()) = tokio::join!(run, finish);
        ran.unwrap();
        assert!(shared.table.get("1").is_none());
    }
}
