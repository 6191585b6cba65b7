use executor_core::{JobId, PipelineId};
use parking_lot::{Mutex, MutexGuard};
use pipeline::Plan;
use scheduler::Controls;
use std::collections::HashMap;
use std::sync::Arc;

/// Controls the pipelines of a run while it runs. Clones control the same pipelines.
///
/// # Examples
///
/// ```
/// use executor_core::PipelineId;
/// use workstation::RunControls;
///
/// let controls = RunControls::default();
/// // Nothing runs yet.
/// assert!(controls.of(PipelineId(1)).is_none());
/// ```
#[derive(Debug, Clone, Default)]
pub struct RunControls {
    first: Controls,
    all: Arc<Mutex<HashMap<PipelineId, StartedPipeline>>>,
}

#[derive(Debug)]
struct StartedPipeline {
    controls: Controls,
    plan: Arc<Plan>,
}

impl RunControls {
    /// Returns the controls of the run's first pipeline, also before it starts.
    pub fn first(&self) -> &Controls {
        &self.first
    }

    /// Returns the controls of a pipeline once it has started: the first one, or one that a job started.
    pub fn of(&self, pipeline: PipelineId) -> Option<Controls> {
        self.lock()
            .get(&pipeline)
            .map(|pipeline| pipeline.controls.clone())
    }

    /// Returns the id of a pipeline's job, as [`ReachableJobs`](job_runner::ReachableJobs) uses it.
    pub fn job(&self, pipeline: PipelineId, job: &str) -> Option<JobId> {
        let all = self.lock();
        let plan = &all.get(&pipeline)?.plan;
        Some(plan.jobs()[plan.position(job)?].id)
    }

    /// Adds a pipeline that starts.
    pub(crate) fn add(&self, plan: &Arc<Plan>, controls: &Controls) {
        let started = StartedPipeline {
            controls: controls.clone(),
            plan: Arc::clone(plan),
        };
        self.lock().insert(plan.id(), started);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<PipelineId, StartedPipeline>> {
        self.all.lock()
    }
}
