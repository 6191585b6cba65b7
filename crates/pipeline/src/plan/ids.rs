//! The ids of the jobs of a plan.

use super::Plan;
use executor_core::job::JobId;
use std::collections::HashMap;

impl Plan {
    /// Returns the place of the job with this id.
    pub fn position_of(&self, id: JobId) -> Option<usize> {
        if let Some(kept) = &self.kept_ids {
            return kept.get(&id).copied();
        }
        let at = id.0.checked_sub(self.context.first_job_id)?;
        let at = usize::try_from(at).ok()?;
        (at < self.jobs.len()).then_some(at)
    }

    /// Gives the jobs the ids that jobs of the same names had in an earlier run of the pipeline; all
    /// others get ids that none of those has.
    pub fn keep_ids(&mut self, known: &HashMap<String, JobId>) {
        let highest = known.values().map(|id| id.0.saturating_add(1)).max();
        let first = self.context.first_job_id;
        let mut free = (highest.unwrap_or(first).max(first)..).map(JobId);
        for job in &mut self.jobs {
            let known = known.get(&*job.definition.name).copied();
            if let Some(id) = known.or_else(|| free.next()) {
                job.id = id;
            }
        }
        let ids = self.jobs.iter().enumerate();
        self.kept_ids = Some(ids.map(|(at, job)| (job.id, at)).collect());
    }
}
