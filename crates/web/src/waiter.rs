use std::future::Future;
use std::io;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::thread;
use tokio::runtime::{Builder, Runtime};

/// Waits for requests on behalf of callers that cannot await, inside of a runtime or outside of all.
///
/// Connections that one wait leaves open are there for the next.
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
        let mut kept = self.runtime.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.is_none() {
            *kept = Some(Builder::new_current_thread().enable_all().build()?);
        }
        let runtime = kept.as_ref().expect("it was made just now");
        thread::scope(|scope| {
            let waiting = thread::Builder::new()
                .name("web".to_owned())
                .spawn_scoped(scope, || runtime.block_on(future))?;
            match waiting.join() {
                Ok(value) => Ok(value),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        })
    }
}

impl Default for Waiter {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        let runtime = self.runtime.get_mut();
        // Whoever drops this may be inside a runtime, where waiting for another is a mistake.
        if let Some(runtime) = runtime.unwrap_or_else(PoisonError::into_inner).take() {
            runtime.shutdown_background();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
