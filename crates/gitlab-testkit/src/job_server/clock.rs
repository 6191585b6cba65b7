use super::JobServerState;
use super::job::Job;
use super::shared::Shared;
use super::watch::Action;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use std::time::Instant;

/// A thread that executes watches and queues unacknowledged jobs again, in time.
#[derive(Debug)]
pub(crate) struct Clock {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Clock {
    pub(crate) fn start(shared: &Arc<Shared>) -> Self {
        let clock = Arc::clone(shared);
        let thread = Builder::new().name("job-server-clock".to_owned());
        let thread = thread.spawn(move || run(&clock));
        Self {
            shared: Arc::clone(shared),
            thread: Some(thread.expect("a thread can be started")),
        }
    }
}

impl Drop for Clock {
    fn drop(&mut self) {
        self.shared.change(|state| state.is_stopped = true);
        if let Some(thread) = self.thread.take() {
            // The thread has already printed its panic, if any.
            let _ = thread.join();
        }
    }
}

fn run(shared: &Shared) {
    while let Some(actions) = next(shared) {
        for (job, action) in actions {
            match action {
                Action::SetStatus(status) => shared.change(|state| {
                    if let Some(job) = state.jobs.get_mut(&job) {
                        job.status = Some(status);
                    }
                }),
                Action::Call(function) => function(),
            }
        }
    }
}

/// Waits for actions that are due; `None` once the server stops.
fn next(shared: &Shared) -> Option<Vec<(u64, Action)>> {
    let mut state = shared.read();
    loop {
        if state.is_stopped {
            return None;
        }
        let now = Instant::now();
        let requeued = requeue(&mut state, now);
        let actions = take_due(&mut state, now);
        if requeued || !actions.is_empty() {
            drop(state);
            // Wakes held job requests.
            shared.change(|_| ());
            return Some(actions);
        }
        let deadline = deadline(&state);
        shared.wait_for_change(&mut state, deadline);
    }
}

fn take_due(state: &mut JobServerState, now: Instant) -> Vec<(u64, Action)> {
    let is_due = |due: &mut super::state::DueAction| due.at <= now;
    let due = state.due.extract_if(.., is_due);
    due.map(|due| (due.job, due.action)).collect()
}

/// Queues again the jobs that were not acknowledged in time; returns whether there was one.
fn requeue(state: &mut JobServerState, now: Instant) -> bool {
    let Some(after) = state.requeue_after else {
        return false;
    };
    let jobs = &state.jobs;
    let waits = |id: &u64| jobs.get(id).is_some_and(Job::waits_for_acknowledgement);
    state.unacknowledged.retain(waits);
    let is_late = |id: &u64| jobs[id].waiting_since.is_some_and(|it| it + after <= now);
    let late: Vec<u64> = state.unacknowledged.extract_if(.., is_late).collect();
    for id in &late {
        state.enqueue(*id);
    }
    !late.is_empty()
}

fn deadline(state: &JobServerState) -> Option<Instant> {
    let requeues = state.requeue_after.into_iter().flat_map(|after| {
        let waiting = state.unacknowledged.iter().map(|id| &state.jobs[id]);
        waiting.filter_map(move |job| Some(job.waiting_since? + after))
    });
    let due = state.due.iter().map(|due| due.at);
    requeues.chain(due).min()
}
