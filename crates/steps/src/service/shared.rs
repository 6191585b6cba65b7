//! The state of a service: its requests, from their start to their removal.

use super::options::ServiceOptions;
use super::prepare::{Plan, ServiceContext};
use super::request::Request;
use super::state::Failure;
use super::steps;
use super::table::Table;
use crate::wire::INSTANCE;
use crate::wire::v1::RunRequest;
use crate::wire::v1::result::ErrorKind;
use executor_core::panics::catch_panic;
use executor_core::{CancelCause, Cancellation, StopLevel};
use parking_lot::{Mutex, MutexGuard};
use process::{ProcessTree, Supervisor};
use std::mem;
use std::sync::Arc;
use tokio::task::JoinSet;
use tokio::time::sleep;
use tonic::metadata::MetadataMap;
use tonic::{Code, Status};

/// The state shared by all calls.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) options: ServiceOptions,
    pub(crate) supervisor: Supervisor,
    pub(crate) context: ServiceContext,
    pub(crate) table: Table,
    /// Held while a request is prepared, so that the second of two with one id finds the first.
    pub(super) preparing: tokio::sync::Mutex<()>,
    /// One task for each known request.
    pub(super) requests: Tasks,
    /// Set at shutdown: no new requests are accepted.
    pub(super) closed: Cancellation,
    /// Whether the supervisor ends with the service.
    pub(super) owns_supervisor: bool,
}

impl Shared {
    /// Starts a request, unless its id is known.
    pub(crate) async fn run(self: &Arc<Self>, message: RunRequest) -> Result<(), Status> {
        check_instance(&message.instance, self.supervisor.id())?;
        loop {
            let guard = self.preparing.lock().await;
            if self.closed.is_canceled() {
                return Err(Status::unavailable("the step-runner is shutting down"));
            }
            match self.table.get(&message.id) {
                None => return self.start(message),
                Some(known) if !known.is_dismissed() => return Ok(()),
                Some(leaving) => {
                    // The known request is being removed; start after that.
                    drop(guard);
                    leaving.removed().await;
                }
            }
        }
    }

    /// Starts a request with a new id. The caller holds the lock.
    fn start(self: &Arc<Self>, message: RunRequest) -> Result<(), Status> {
        let (request, plan) = self.context.prepare(message)?;
        let request = Arc::new(request);
        self.table.insert(Arc::clone(&request));
        self.requests
            .spawn(Arc::clone(self).run_request(request, plan));
        Ok(())
    }

    /// Stops a request, and waits until it is removed.
    pub(crate) async fn finish(&self, id: &str) {
        // A `Run` that came before is finished too, even if it is not prepared yet.
        drop(self.preparing.lock().await);
        if let Some(request) = self.table.get(id) {
            request.dismiss(CancelCause::User);
            request.removed().await;
        }
    }

    /// Runs a request and waits until it is removed.
    async fn run_request(self: Arc<Self>, request: Arc<Request>, plan: Plan) {
        let tree = self.supervisor.tree();
        let failure = match catch_panic(run_within(&request, plan, &tree)).await {
            Ok(failure) => failure,
            Err(panic) => {
                tracing::error!(%panic, id = request.id, "A request panicked.");
                let message = "internal error of the step-runner";
                Some(Failure::new(ErrorKind::Internal, message))
            }
        };
        if let Err(error) = tree.close().await {
            tracing::warn!(%error, id = request.id, "A process of a request still runs.");
        }
        request.end(failure);
        request.dismissed().await;
        request.directory.remove();
        self.table.remove(&request.id);
        request.set_removed();
    }
}

/// Runs the steps, and stops them at their time limit.
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

/// Refuses a request for an earlier instance of the service, which may have run it already.
fn check_instance(requested: &str, own: &str) -> Result<(), Status> {
    if requested.is_empty() || requested == own {
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

/// A set of tasks that can be extended through any clone. Dropping the last clone aborts them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tasks {
    set: Arc<Mutex<JoinSet<()>>>,
}

impl Tasks {
    /// Starts a task.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut set = self.lock();
        // Finished tasks are removed here, so that the set does not grow.
        while set.try_join_next().is_some() {}
        set.spawn(task);
    }

    /// Waits for the end of all tasks, including those added meanwhile.
    pub(crate) async fn join(&self) {
        loop {
            let mut set = mem::take(&mut *self.lock());
            if set.is_empty() {
                return;
            }
            while set.join_next().await.is_some() {}
        }
    }

    fn lock(&self) -> MutexGuard<'_, JoinSet<()>> {
        self.set.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_another_instance_is_refused() {
        // R-STEP-18
        let check = |requested, expect: Option<(Code, &str)>| {
            let refused = check_instance(requested, "mine").err();
            let found = refused.as_ref().map(|status| {
                let by = status.metadata().get(INSTANCE).unwrap();
                (status.code(), by.to_str().unwrap())
            });
            assert_eq!(found, expect);
        };
        check("", None);
        check("mine", None);
        check("theirs", Some((Code::FailedPrecondition, "mine")));
    }
}
