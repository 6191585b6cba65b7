use parking_lot::Mutex;
use std::future::Future;
use std::io;
use std::thread;
use tokio::runtime::{Builder, Handle, Runtime};

/// Waits for requests on behalf of callers that cannot await, inside of a runtime or outside of all.
///
/// Connections that one wait leaves open are there for the next. Several threads may wait at once, and
/// what is waited for may itself wait with the same one.
///
/// Whoever waits blocks his thread. So what is waited for must not need that thread: a task of a runtime with
/// one thread, on which somebody waits, does not go on meanwhile.
#[derive(Debug)]
pub struct Waiter {
    runtime: Mutex<Option<Runtime>>,
}

impl Waiter {
    /// Returns one that has no thread and no runtime yet.
    pub fn new() -> Self {
        Self {
            runtime: Mutex::new(None),
        }
    }

    /// Waits for what a future gives, on a thread of its own.
    ///
    /// # Errors
    ///
    /// When the runtime or the thread cannot be made.
    ///
    /// # Panics
    ///
    /// When the future does.
    pub fn wait<T: Send>(&self, future: impl Future<Output = T> + Send) -> io::Result<T> {
        let runtime = self.handle()?;
        // Not on this thread: it may be one of a runtime, which forbids to block on another.
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

    /// Returns the runtime, which has a thread of its own: it moves connections between two waits, and while what is
    /// waited for waits itself.
    fn handle(&self) -> io::Result<Handle> {
        let mut kept = self.runtime.lock();
        let runtime = match kept.take() {
            Some(runtime) => runtime,
            None => Builder::new_multi_thread()
                .worker_threads(1)
                .max_blocking_threads(32)
                .thread_name("web")
                .enable_io()
                .enable_time()
                .build()?,
        };
        Ok(kept.insert(runtime).handle().clone())
    }
}

impl Default for Waiter {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        // Whoever drops this may be inside a runtime, where waiting for another is a mistake.
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
    fn waiting_works_inside_of_a_runtime_too() {
        let outer = Builder::new_current_thread().build().expect("a runtime");
        let value = outer.block_on(async {
            let waiter = Waiter::new();
            let first = waiter.wait(async { 1 }).expect("a thread");
            first + waiter.wait(async { 2 }).expect("a thread")
        });
        assert_eq!(value, 3);
    }

    #[test]
    fn what_is_waited_for_may_wait() {
        let waiter = Waiter::new();
        let value = waiter.wait(async { waiter.wait(async { 1 }).expect("a thread") + 1 });
        assert_eq!(value.expect("a thread"), 2);
    }

    #[test]
    fn two_threads_wait_at_once() {
        let (waiter, both) = (Waiter::new(), Barrier::new(2));
        // Each is done when the other is there.
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
    fn a_panic_is_the_callers_and_leaves_the_waiter_whole() {
        let waiter = Waiter::new();
        let wait = || waiter.wait(async { panic!("of the future") });
        let panic: Result<io::Result<()>, _> = catch_unwind(AssertUnwindSafe(wait));
        let said = panic.expect_err("a panic");
        assert_eq!(said.downcast_ref(), Some(&"of the future"));
        assert_eq!(waiter.wait(async { 1 }).expect("a thread"), 1);
    }
}
