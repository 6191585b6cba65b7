use async_trait::async_trait;
use executor_core::panics::catch_panic;
use executor_core::{Cancellation, JobId, PipelineId};
use std::fmt::{self, Debug};
use std::io;

/// Lets one job of each resource group run at a time.
#[async_trait]
pub trait ResourceGroups: Debug + Send + Sync {
    /// Notes whether a pipeline has jobs that will still get a group, including those that wait for it.
    /// In some modes, other pipelines wait for them.
    fn expect(&self, group: &str, pipeline: PipelineId, expected: bool);

    /// Waits until it is the job's turn; the group is taken until the lease is dropped.
    ///
    /// # Errors
    ///
    /// When it cannot be determined whether another job has the group.
    ///
    /// # Cancellation
    ///
    /// Stops waiting and returns `None`. The future may also be dropped at any time.
    async fn acquire(
        &self,
        request: &ResourceRequest,
        cancellation: &Cancellation,
    ) -> Result<Option<ResourceLease>, ResourceError>;
}

/// A job's request for its resource group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceRequest {
    /// The group, its name expanded.
    pub group: String,
    /// The job's pipeline.
    pub pipeline: PipelineId,
    /// The job.
    pub job: JobId,
}

/// A claim to a resource group, which ends when this is dropped.
pub struct ResourceLease {
    _held: Box<dyn Send + Sync>,
}

impl ResourceLease {
    /// Returns a lease that drops `held` when it is dropped.
    pub fn new(held: impl Send + Sync + 'static) -> Self {
        Self {
            _held: Box::new(held),
        }
    }
}

impl Debug for ResourceLease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResourceLease").finish_non_exhaustive()
    }
}

/// The wait for a resource group failed. The message omits the group's name, which may contain the
/// value of a variable.
#[derive(Debug, thiserror::Error)]
#[error("cannot wait for the job's resource group")]
pub struct ResourceError {
    /// The cause.
    #[source]
    pub source: io::Error,
}

/// Waits for a resource group; a request for no group is granted at once.
pub(crate) async fn wait(
    resources: &dyn ResourceGroups,
    request: Option<ResourceRequest>,
    cancellation: &Cancellation,
) -> Result<Option<ResourceLease>, ResourceError> {
    let Some(request) = request else {
        return Ok(Some(ResourceLease::new(())));
    };
    let acquired = catch_panic(resources.acquire(&request, cancellation)).await;
    acquired.unwrap_or_else(|panic| {
        Err(ResourceError {
            source: io::Error::other(panic.to_string()),
        })
    })
}
