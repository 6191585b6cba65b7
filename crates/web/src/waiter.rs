use parking_lot::Mutex;
use std::future::Future;
use std::io;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;
use tokio::runtime::{Builder, Handle, Runtime};

/// How long an idle thread stays: as long as any program runs.
const KEEP_THREADS: Duration = Duration::from_hours(24 * 365);

/// Waits for requests on behalf of callers that cannot await, inside or outside of a runtime.
///
/// A connection that one wait leaves open serves the next. Several threads may wait at once, and a future that
/// is waited for may itself wait with the same `Waiter`.
///
/// A wait blocks the calling thread, so the future must not depend on that thread. In a single-threaded runtime,
/// no other task makes progress during a wait.
#[derive(Debug)]
pub struct Waiter {
    runtime: Mutex<Option<Runtime>>,
}

impl Waiter {
    /// Returns a `Waiter` without a thread or a runtime; both are created on first use.
    pub fn new() -> Self {
        Self {
            runtime: Mutex::new(None),
        }
    }

    /// Runs a future to its end on a thread of its own, and returns its output.
    ///
    /// # Errors
    ///
    /// When the runtime or the thread cannot be created.
    ///
    /// # Panics
    ///
    /// When the future panics.
    pub fn wait<T: Send>(&self, future: impl Future<Output = T> + Send) -> io::Result<T> {
        let runtime = self.handle()?;
        // The calling thread may belong to a runtime, which forbids blocking on another one.
        thread::scope(|scope| {
            let waiting = thread::Builder::new()
                .name("web-wait".to_owned())
                .spawn_scoped(scope, || runtime.block_on(future))?;
            match waiting.join() {
                Ok(value) => Ok(value),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        })
    }

    /// Returns the runtime. It has a thread of its own, which drives connections between two waits, and while a
    /// future itself waits.
    fn handle(&self) -> io::Result<Handle> {
        let mut kept = self.runtime.lock();
        let runtime = match kept.take() {
            Some(runtime) => runtime,
            None => start()?,
        };
        Ok(kept.insert(runtime).handle().clone())
    }
}

/// Starts a runtime with one thread, and another one for blocking work.
///
/// tokio panics if it cannot create either, so two trial threads come first. The second one stays: blocking work waits for
/// it if no other can be created.
fn start() -> io::Result<Runtime> {
    thread::scope(|scope| {
        let (hold, end) = mpsc::channel::<()>();
        let wait = move || end.recv();
        thread::Builder::new().spawn_scoped(scope, wait)?;
        let second = thread::Builder::new().spawn_scoped(scope, || ());
        drop(hold);
        second.map(drop)
    })?;
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .max_blocking_threads(32)
        .thread_keep_alive(KEEP_THREADS)
        .thread_name("web")
        .enable_io()
        .enable_time()
        .build()?;
    drop(runtime.spawn_blocking(|| ()));
    Ok(runtime)
}

impl Default for Waiter {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        // The caller may drop this inside a runtime, where waiting for another runtime panics.
        if let Some(runtime) = self.runtime.get_mut().take() {
            runtime.shutdown_background();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Barrier;

    #[test]
    fn waiting_works_inside_a_runtime() {
        let outer = Builder::new_current_thread().build().expect("a runtime");
        let value = outer.block_on(async {
            let waiter = Waiter::new();
            let first = waiter.wait(async { 1 }).expect("a thread");
            first + waiter.wait(async { 2 }).expect("a thread")
        });
        assert_eq!(value, 3);
    }

    #[test]
    fn waits_can_be_nested() {
        let waiter = Waiter::new();
        let value = waiter.wait(async { waiter.wait(async { 1 }).expect("a thread") + 1 });
        assert_eq!(value.expect("a thread"), 2);
    }

    #[test]
    fn two_threads_can_wait_at_once() {
        let (waiter, both) = (Waiter::new(), Barrier::new(2));
        // Each future completes only when the other has started.
        let met = thread::scope(|scope| {
            let meet = || {
                waiter
                    .wait(async { both.wait().is_leader() })
                    .expect("a thread")
            };
            let threads = [scope.spawn(meet), scope.spawn(meet)];
            threads.map(|thread| thread.join().expect("no panic"))
        });
        assert_eq!(met.iter().filter(|leads| **leads).count(), 1);
    }

    #[test]
    fn panic_reaches_the_caller_and_leaves_the_waiter_usable() {
        let waiter = Waiter::new();
        let wait = || waiter.wait(async { panic!("of the future") });
        let panic: Result<io::Result<()>, _> = catch_unwind(AssertUnwindSafe(wait));
        let said = panic.expect_err("a panic");
        assert_eq!(said.downcast_ref(), Some(&"of the future"));
        assert_eq!(waiter.wait(async { 1 }).expect("a thread"), 1);
    }
}
