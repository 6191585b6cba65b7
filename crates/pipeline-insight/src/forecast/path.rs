use super::course::{Course, Moment, between};
use scheduler::CriticalStep;
use std::sync::Arc;
use std::time::Duration;

/// Up to here a job that could start has not waited; that others ended meanwhile is chance.
pub(super) const AT_ONCE: Duration = Duration::from_millis(100);

/// Returns the chain of jobs that decided when the last one ended, the first one first.
///
/// Each began when the one before it had ended: since that was the last thing it waited for, or since it
/// had its worker or its resource group before.
pub(super) fn critical(course: &Course) -> Vec<CriticalStep> {
    let mut path = Vec::new();
    let ends = course.ends();
    let mut at = ends.len().checked_sub(1);
    while let Some(place) = at {
        let index = ends[place];
        let span = course.spans()[index];
        let (Some(started), Some(ended)) = (span.started, span.ended) else {
            break;
        };
        let before = before(course, index, place);
        let since = match before {
            Some(before) => course.spans()[ends[before]].ended.map(|ended| ended.at),
            None => course.begun(),
        };
        let waited = since.map_or(Duration::ZERO, |since| between(since, started.at));
        path.push(CriticalStep {
            job: Arc::clone(course.name(index)),
            index,
            waited,
            took: ended.since(started),
        });
        at = before;
    }
    path.reverse();
    path
}

/// Returns the place among the ends of the one whose end let a job begin; below `limit`, so that whoever
/// ran again is not met again.
fn before(course: &Course, index: usize, limit: usize) -> Option<usize> {
    let span = course.spans()[index];
    let started = span.started?;
    let ready = span.ready.unwrap_or(started);
    let known = |moment: Moment| moment.ended_before.min(limit);
    let waited_on = known(started) > known(ready) && started.since(ready) >= AT_ONCE;
    let since = if waited_on {
        started
    } else {
        // What is decided of jobs is told in one breath with the end that decides it.
        span.decided.unwrap_or(ready)
    };
    known(since).checked_sub(1)
}
