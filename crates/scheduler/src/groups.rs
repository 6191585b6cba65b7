//! How the jobs of a queue get their resource groups.

use super::Status;
use super::queue::{Queue, State};
use super::resources::{ResourceError, ResourceLease, ResourceRequest};
use executor_core::{BuildError, JobOutcome};
use std::sync::{Arc, Weak};

impl Queue {
    /// Begins to wait for the resource group of a job.
    pub(super) fn ask_for_group(&self, state: &mut State, job: usize) {
        let request = state.groups.group_of(job).map(|group| ResourceRequest {
            group: group.to_owned(),
            pipeline: self.plan.id(),
            job: self.plan.jobs()[job].id,
        });
        let cancellation = self.cancellation.child();
        state.records[job].waiting = Some(cancellation.clone());
        let resources = Arc::clone(&state.groups.resources);
        let queue = Weak::clone(&self.this);
        state.groups.spawn(async move {
            let lease = match &request {
                // A name that expands to nothing is no group.
                None => Ok(Some(ResourceLease::new(()))),
                Some(request) => resources.acquire(request, &cancellation).await,
            };
            if let Some(queue) = queue.upgrade() {
                queue.take_group(job, lease);
            }
        });
    }

    /// Goes on with a job that has waited for its resource group.
    fn take_group(&self, job: usize, lease: Result<Option<ResourceLease>, ResourceError>) {
        match lease {
            Ok(Some(lease)) => {
                let mut state = self.lock();
                if state.machine.status(job) == Status::WaitingForResource {
                    state.records[job].lease = Some(lease);
                    let changes = state.machine.resource_granted(job);
                    self.apply(&mut state, &changes);
                }
            }
            // It was canceled, and that has been told.
            Ok(None) => {}
            Err(error) => {
                let message = error.to_string();
                let error = BuildError::system("resource group", message, error);
                let id = self.plan.jobs()[job].id;
                self.finished(id, &JobOutcome::from_error(error));
            }
        }
    }
}
