//! The service from its start to its end.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use executor_core::panics::catch_panic;
use executor_core::{CancelCause, Cancellation, StopLevel};
use hyper::service::service_fn;
use process::{ProcessTree, Settings, Supervisor, make_private_dir, remove_tree};
use tokio::net::UnixListener;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tonic::metadata::MetadataMap;
use tonic::{Code, Status};

use super::api::Api;
use super::course::Failure;
use super::dispatch::Dispatch;
use super::environment::inherited;
use super::error::ServiceError;
use super::options::ServiceOptions;
use super::prepare::{Plan, Surroundings};
use super::prune::prune;
use super::request::Request;
use super::steps;
use super::table::Table;
use super::tasks::Tasks;
use crate::agent::connection;
use crate::wire::INSTANCE;
use crate::wire::v1::RunRequest;
use crate::wire::v1::result::ErrorKind;

/// How long accepting pauses when there is no room for another connection.
const NO_ROOM: Duration = Duration::from_millis(50);
/// The step-runner service of one environment.
///
/// It lives as long as a clone of it does; [`serve`](Self::serve) ends it in order.
#[derive(Debug, Clone)]
pub struct Service {
    shared: Arc<Shared>,
}

/// What the calls share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) options: ServiceOptions,
    pub(crate) supervisor: Supervisor,
    pub(crate) surroundings: Surroundings,
    pub(crate) table: Table,
    /// Held while a request is prepared, so that of two with one id the second finds the first.
    preparing: tokio::sync::Mutex<()>,
    /// One task for each request that is known.
    requests: Tasks,
    /// Set when the service ends: no more requests.
    closed: Cancellation,
    /// Whether the means to hold processes end with the service.
    owns_supervisor: bool,
}

impl Service {
    /// Prepares a service: its directory, and the means to hold processes.
    ///
    /// Call it inside a tokio runtime. What an earlier service left in the directory is removed.
    ///
    /// # Errors
    ///
    /// When the directory cannot be used, or processes cannot be held as the options ask for.
    pub fn start(options: ServiceOptions) -> Result<Self, ServiceError> {
        let supervisor = Supervisor::start(Settings {
            containment: options.containment,
            ..Settings::default()
        })?;
        let environment = inherited(options.inherit, supervisor.environment().iter());
        Self::new(options, supervisor, environment, true)
    }

    /// Prepares a service that starts processes by somebody else's means, which it leaves alone when it ends.
    /// `environment` is what steps see of what is around the service.
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
        let surroundings = Surroundings {
            requests: requests_dir(&options)?,
            inherited,
            environment: supervisor.environment().clone(),
            writers: Arc::default(),
            timing: options.timing,
            wish_within: options.wish_within,
        };
        let shared = Shared {
            options,
            supervisor,
            surroundings,
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

    /// Returns what holds the processes of the service, for whoever starts others beside it.
    pub fn supervisor(&self) -> &Supervisor {
        &self.shared.supervisor
    }

    /// Returns how many requests are known: those that run, and those that nobody has finished.
    pub fn requests(&self) -> usize {
        self.shared.table.all().len()
    }

    /// Answers on a socket until it is stopped, then kills what runs and removes all that was kept.
    ///
    /// # Errors
    ///
    /// When a process outlives being killed.
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
                        tracing::warn!(%error, "A connection cannot be accepted.");
                        sleep(NO_ROOM).await;
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

    /// Returns what answers calls, for whoever accepts connections itself.
    pub(crate) fn dispatch(&self) -> Dispatch {
        Dispatch::new(Api(Arc::clone(&self.shared)))
    }

    /// Looks for requests that were kept, or ran, for too long. To be called every
    /// [`scan_every`](ServiceOptions::scan_every) by whoever accepts connections itself.
    pub(crate) fn prune(&self) {
        for request in self.shared.table.all() {
            prune(&request, &self.shared.options);
        }
    }

    /// Asks what runs to stop, waits for so long for its end, and then until nobody has a result to ask for, or `fetch`
    /// is over. Nothing can be run afterwards.
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
                let mut news = request.news();
                while !request.has_ended() && news.changed().await.is_ok() {}
            }
        };
        // What does not end in time is killed by whoever closes the service.
        let _ = timeout(within, ended).await;
        let finished = async {
            for request in &all {
                request.gone().await;
            }
        };
        let _ = timeout(fetch, finished).await;
    }

    /// Kills what runs and removes all that was kept. Nothing can be run afterwards.
    ///
    /// # Errors
    ///
    /// When a process outlives being killed.
    pub(crate) async fn close(&self) -> Result<(), ServiceError> {
        let shared = &self.shared;
        shared.closed.abort(CancelCause::Shutdown);
        // Whoever prepares a request now is done before this goes on, and nobody begins.
        drop(shared.preparing.lock().await);
        for request in shared.table.all() {
            request.dismiss(CancelCause::Shutdown);
        }
        shared.requests.join().await;
        if shared.owns_supervisor {
            shared.supervisor.clone().shutdown().await?;
        }
        if let Err(error) = remove_tree(&shared.surroundings.requests) {
            tracing::warn!(%error, "The directory of requests stays behind.");
        }
        Ok(())
    }
}

impl Shared {
    /// Starts a request, if its id is not known.
    pub(crate) async fn run(self: &Arc<Self>, message: RunRequest) -> Result<(), Status> {
        check_instance(&message.instance, self.supervisor.id())?;
        loop {
            let turn = self.preparing.lock().await;
            if self.closed.is_canceled() {
                return Err(Status::unavailable("the step-runner is about to end"));
            }
            match self.table.get(&message.id) {
                None => return self.start(message),
                Some(known) if !known.is_dismissed() => return Ok(()),
                Some(leaving) => {
                    // Somebody finishes it, and this comes afterwards.
                    drop(turn);
                    leaving.gone().await;
                }
            }
        }
    }

    /// Starts a request of an id that is not known. Its caller has the turn.
    fn start(self: &Arc<Self>, message: RunRequest) -> Result<(), Status> {
        let (request, plan) = self.surroundings.prepare(message)?;
        let request = Arc::new(request);
        self.table.insert(Arc::clone(&request));
        self.requests.spawn(Arc::clone(self).live(request, plan));
        Ok(())
    }

    /// Stops a request, and waits until nothing of it is left.
    pub(crate) async fn finish(&self, id: &str) {
        // A `Run` of it that came first is finished too, though it is not prepared yet.
        drop(self.preparing.lock().await);
        if let Some(request) = self.table.get(id) {
            request.dismiss(CancelCause::User);
            request.gone().await;
        }
    }

    /// The life of a request.
    async fn live(self: Arc<Self>, request: Arc<Request>, plan: Plan) {
        let tree = self.supervisor.tree();
        let failure = match catch_panic(run_within(&request, plan, &tree)).await {
            Ok(failure) => failure,
            Err(panic) => {
                tracing::error!(%panic, id = request.id, "A request broke down.");
                let words = "the step-runner broke down";
                Some(Failure::new(ErrorKind::Internal, words))
            }
        };
        if let Err(error) = tree.close().await {
            tracing::warn!(%error, id = request.id, "Something of a request still runs.");
        }
        request.end(failure);
        request.dismissed().await;
        request.directory.remove();
        self.table.remove(&request.id);
        request.note_gone();
    }
}

/// Runs the steps, and stops them when their time is up.
async fn run_within(request: &Request, plan: Plan, tree: &ProcessTree) -> Option<Failure> {
    let Some(limit) = plan.timeout else {
        return steps::run(request, plan, tree).await;
    };
    let mut run = std::pin::pin!(steps::run(request, plan, tree));
    tokio::select! {
        failure = &mut run => return failure,
        () = sleep(limit) => request.stop(StopLevel::Cancel, CancelCause::Timeout),
    }
    run.await
}

/// Refuses what was meant for the service that was here before: it may have run it already.
fn check_instance(wanted: &str, own: &str) -> Result<(), Status> {
    if wanted.is_empty() || wanted == own {
        return Ok(());
    }
    let mut metadata = MetadataMap::new();
    if let Ok(own) = own.parse() {
        metadata.insert(INSTANCE, own);
    }
    Err(Status::with_metadata(
        Code::FailedPrecondition,
        "the request is for another instance of the step-runner",
        metadata,
    ))
}

/// Makes the directory of all requests' directories, empty.
fn requests_dir(options: &ServiceOptions) -> Result<PathBuf, ServiceError> {
    let path = options.state_dir.join("requests");
    let make = || {
        std::fs::create_dir_all(&options.state_dir)?;
        remove_tree(&path)?;
        make_private_dir(&path)
    };
    match make() {
        Ok(()) => Ok(path),
        Err(source) => Err(ServiceError::Directory { path, source }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
    async fn a_run_that_comes_while_its_id_is_finished_starts_anew() {
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
        let second = shared.table.get("1").expect("what was taken is known");
        assert!(!Arc::ptr_eq(&first, &second));
        let mut news = second.news();
        while !second.has_ended() && news.changed().await.is_ok() {}
        assert!(fs::exists(folder.path().join("ran")).unwrap());
    }

    #[tokio::test]
    async fn a_finish_ends_the_run_that_came_before_it() {
        let folder = tempfile::tempdir().unwrap();
        let shared = shared(&folder);
        let turn = shared.preparing.lock().await;
        let mut run = std::pin::pin!(shared.run(request(&folder, "touch ran; sleep 600")));
        assert!(run.as_mut().now_or_never().is_none());
        let mut finish = std::pin::pin!(shared.finish("1"));
        assert_eq!(finish.as_mut().now_or_never(), None);
        drop(turn);
        let (ran, ()) = tokio::join!(run, finish);
        ran.unwrap();
        assert!(shared.table.get("1").is_none());
    }

    #[test]
    fn only_a_request_for_another_instance_is_refused() {
        // R-STEP-18
        let check = |wanted, expect: Option<(Code, &str)>| {
            let refused = check_instance(wanted, "mine").err();
            let told = refused.as_ref().map(|status| {
                let by = status.metadata().get(INSTANCE).unwrap();
                (status.code(), by.to_str().unwrap())
            });
            assert_eq!(told, expect);
        };
        check("", None);
        check("mine", None);
        check("theirs", Some((Code::FailedPrecondition, "mine")));
    }
}
