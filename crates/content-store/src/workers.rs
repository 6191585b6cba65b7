//! Processes many small items on as many threads as are useful.

use std::iter;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// More threads than this would only wait for the same disk.
const MOST_THREADS: usize = 8;
/// With fewer items, starting a thread takes longer than the work.
const PER_THREAD: usize = 64;

/// Calls `work` on each of `batches`, which hold `things` items in total. `helper` makes one value per thread.
///
/// # Errors
///
/// An error of any thread; the others stop after their current batch.
pub(crate) fn each<T: Sync, H, R: Send, E: Send>(
    batches: &[T],
    things: usize,
    helper: impl Fn() -> H + Sync,
    work: impl Fn(&T, &mut H) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let next = AtomicUsize::new(0);
    let failed = AtomicBool::new(false);
    let one = || {
        let mut done = Vec::new();
        let mut helper = helper();
        while !failed.load(Ordering::Relaxed)
            && let Some(batch) = batches.get(next.fetch_add(1, Ordering::Relaxed))
        {
            match work(batch, &mut helper) {
                Ok(result) => done.push(result),
                Err(error) => {
                    failed.store(true, Ordering::Relaxed);
                    return Err(error);
                }
            }
        }
        Ok(done)
    };
    let useful = (things / PER_THREAD).min(MOST_THREADS);
    if useful <= 1 {
        return one();
    }
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let threads = useful.min(processors);
    thread::scope(|scope| {
        // With fewer threads than wanted it takes longer. This thread is one of them.
        let workers =
            (1..threads).map_while(|_| thread::Builder::new().spawn_scoped(scope, one).ok());
        let workers: Vec<_> = workers.collect();
        let own = one();
        let joined = workers.into_iter().map(|worker| {
            worker
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        let mut all = Ok(Vec::with_capacity(batches.len()));
        for done in iter::once(own).chain(joined) {
            match (&mut all, done) {
                (Ok(all), Ok(done)) => all.extend(done),
                (Ok(_), Err(error)) => all = Err(error),
                (Err(_), _) => {}
            }
        }
        all
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_run_once_and_an_error_is_returned() {
        let batches: Vec<usize> = (0..1_000).collect();
        let done = each(&batches, 1_000, || (), |it, ()| Ok::<_, ()>(*it));
        let mut done = done.expect("done");
        done.sort_unstable();
        assert_eq!(done, batches);
        let refuse = |it: &usize, (): &mut ()| if *it == 7 { Err("seven") } else { Ok(()) };
        assert_eq!(each(&batches, 1_000, || (), refuse), Err("seven"));
    }
}
