use super::course::{AT_ONCE, Course, Moment, between};
use scheduler::CriticalStep;
use std::sync::Arc;
use std::time::Duration;

impl Course {
    /// Returns the critical path: the chain of jobs that determined when the last one ended, the first
    /// job first; empty before one has ended.
    ///
    /// Each started when the one before it ended, either because it was the last job it waited for, or
    /// because it released its worker or resource group.
    pub fn critical_path(&self) -> Vec<CriticalStep> {
        let mut path = Vec::new();
        let ends = self.ends();
        let mut at = ends.len().checked_sub(1);
        while let Some(place) = at {
            let index = ends[place];
            let span = self.spans()[index];
            let (Some(started), Some(ended)) = (span.started, span.ended) else {
                break;
            };
            let before = before(self, index, place);
            let since = match before {
                Some(before) => self.spans()[ends[before]].ended.map(|ended| ended.at),
                None => self.begun(),
            };
            let waited = since.map_or(Duration::ZERO, |since| between(since, started.at));
            path.push(CriticalStep {
                job: Arc::clone(self.name(index)),
                index,
                waited,
                took: ended.since(started),
            });
            at = before;
        }
        path.reverse();
        path
    }
}

/// Returns the position among the ends of the job whose end let a job start; it is below `limit`,
/// so that a job that ran again does not cause a loop.
fn before(course: &Course, index: usize, limit: usize) -> Option<usize> {
    let span = course.spans()[index];
    let started = span.started?;
    let ready = span.ready.unwrap_or(started);
    let known = |moment: Moment| moment.ended_before.min(limit);
    let waited_on = known(started) > known(ready) && started.since(ready) >= AT_ONCE;
    let since = if waited_on {
        started
    } else {
        // The decision about a job is recorded together with the end that causes it.
        span.decided.unwrap_or(ready)
    };
    known(since).checked_sub(1)
}
