//! The jobs of a workload as bare processes: the minimum cost of any runner.

use parking_lot::{Condvar, Mutex, MutexGuard};
use std::num::NonZeroUsize;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, ensure};

use crate::Workload;

/// Runs `bash -c <script>` for every job of a workload and returns the total time.
///
/// At most `width` jobs run at a time, and each starts as soon as those it needs have finished. It uses only std,
/// with no output and no environment but `PATH`: a process without anything around it.
///
/// # Errors
///
/// Fails if a process cannot be started or is unsuccessful.
pub fn run(workload: &Workload, width: NonZeroUsize) -> anyhow::Result<Duration> {
    let order = Order::new(workload);
    let start = Instant::now();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..width.get())
            .map(|_| scope.spawn(|| work(workload, &order)))
            .collect();
        workers
            .into_iter()
            .try_for_each(|worker| worker.join().map_err(|_| anyhow!("a worker panicked"))?)
    })?;
    Ok(start.elapsed())
}

fn work(workload: &Workload, order: &Order) -> anyhow::Result<()> {
    while let Some(index) = order.next() {
        let result = spawn_and_wait(workload.jobs()[index].script());
        // Even after a failure, or the other workers would wait forever.
        order.ended(index);
        result?;
    }
    Ok(())
}

fn spawn_and_wait(script: &str) -> anyhow::Result<()> {
    // By path: std would search for a bare name, and a cleared environment would force a fork.
    #[expect(
        clippy::disallowed_methods,
        reason = "the floor under the crate that starts processes"
    )]
    let status = std::process::Command::new("/bin/bash")
        .args(["-c", script])
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .context("start bash")?;
    ensure!(status.success(), "bash -c {script:?}: {status}");
    Ok(())
}

/// Hands out jobs in file order, as soon as their needs allow.
struct Order {
    state: Mutex<State>,
    changed: Condvar,
    followers: Vec<Vec<usize>>,
}

struct State {
    /// Ready jobs, with the next one last.
    ready: Vec<usize>,
    missing: Vec<usize>,
    unfinished: usize,
}

impl Order {
    fn new(workload: &Workload) -> Self {
        let jobs = workload.jobs();
        let mut followers = vec![Vec::new(); jobs.len()];
        for (index, job) in jobs.iter().enumerate() {
            for &need in job.needs() {
                followers[need].push(index);
            }
        }
        let missing: Vec<usize> = jobs.iter().map(|job| job.needs().len()).collect();
        let ready = (0..jobs.len()).rev().filter(|&job| missing[job] == 0);
        let state = State {
            ready: ready.collect(),
            missing,
            unfinished: jobs.len(),
        };
        Self {
            state: Mutex::new(state),
            changed: Condvar::new(),
            followers,
        }
    }

    /// Waits for a job that can run; `None` once all have ended.
    fn next(&self) -> Option<usize> {
        let mut state = self.state();
        let idle = |state: &mut State| state.ready.is_empty() && state.unfinished > 0;
        self.changed.wait_while(&mut state, idle);
        state.ready.pop()
    }

    fn ended(&self, job: usize) {
        let mut state = self.state();
        state.unfinished -= 1;
        for &follower in &self.followers[job] {
            state.missing[follower] -= 1;
            if state.missing[follower] == 0 {
                state.ready.insert(0, follower);
            }
        }
        self.changed.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_follow_file_order_and_their_needs() {
        let workload = Workload::dag(2, 2);
        let order = Order::new(&workload);
        assert_eq!([order.next(), order.next()], [Some(0), Some(1)]);
        order.ended(1);
        // Both jobs of the second layer need both of the first.
        assert!(order.state().ready.is_empty());
        order.ended(0);
        assert_eq!([order.next(), order.next()], [Some(2), Some(3)]);
        order.ended(2);
        order.ended(3);
        assert_eq!(order.next(), None);
    }

    #[test]
    fn surplus_workers_finish() {
        let width = NonZeroUsize::new(4).expect("four is not zero");
        assert!(run(&Workload::dag(3, 2), width).is_ok());
    }
}
