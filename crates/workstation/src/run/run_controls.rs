use executor_core::{JobId, PipelineId};
use parking_lot::{Mutex, MutexGuard};
use pipeline::Plan;
use scheduler::Controls;
use std::collections::HashMap;
use std::sync::Arc;

/// Tells the pipelines of a run what to do while it runs. Clones speak to the same pipelines.
///
/// # Examples
///
/// ```
/// use executor_core::PipelineId;
/// use workstation::RunControls;
///
/// let controls = RunControls::default();
/// // Nothing runs yet, so nobody would do what is said.
/// assert!(controls.of(PipelineId(1)).is_none());
/// ```
#[derive(Debug, Clone, Default)]
pub struct RunControls {
    first: Controls,
    all: Arc<Mutex<HashMap<PipelineId, Known>>>,
}

/// A pipeline that has begun.
#[derive(Debug)]
struct Known {
    controls: Controls,
    plan: Arc<Plan>,
}

impl RunControls {
    /// Returns what tells the first pipeline, which the run is asked for; also before it begins.
    pub fn first(&self) -> &Controls {
        &self.first
    }

    /// Returns what tells this pipeline, once it has begun: the first one, or one that a job started.
    pub fn of(&self, pipeline: PipelineId) -> Option<Controls> {
        self.lock()
            .get(&pipeline)
            .map(|known| known.controls.clone())
    }

    /// Returns the id of a pipeline's job, by which [`Terminals`](job_runner::Terminals) know it.
    pub fn job(&self, pipeline: PipelineId, job: &str) -> Option<JobId> {
        let all = self.lock();
        let plan = &all.get(&pipeline)?.plan;
        Some(plan.jobs()[plan.position(job)?].id)
    }

    /// Takes note of a pipeline.
    pub(crate) fn add(&self, plan: &Arc<Plan>, controls: &Controls) {
        let known = Known {
            controls: controls.clone(),
            plan: Arc::clone(plan),
        };
        self.lock().insert(plan.id(), known);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<PipelineId, Known>> {
        self.all.lock()
    }
}
