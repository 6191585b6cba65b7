//! Panics caught so that cleanup can finish first.

use std::any::Any;
use std::fmt;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::task::Poll;

/// A caught panic; it displays the panic's message.
///
/// The caller reports it, or resumes it after its cleanup.
pub struct Panic(Box<dyn Any + Send>);

/// Awaits `call` and returns its panic instead of propagating it.
///
/// # Errors
///
/// The panic.
pub async fn catch_panic<T>(call: impl Future<Output = T>) -> Result<T, Panic> {
    let mut call = pin!(call);
    let polled = poll_fn(|context| {
        // The call is not polled again after a panic, so its broken state is never observed.
        match catch_unwind(AssertUnwindSafe(|| call.as_mut().poll(context))) {
            Ok(poll) => poll.map(Ok),
            Err(panic) => Poll::Ready(Err(Panic(panic))),
        }
    });
    polled.await
}

impl Panic {
    /// Resumes the panic, as if it had not been caught.
    pub fn resume(self) -> ! {
        resume_unwind(self.0)
    }
}

impl fmt::Display for Panic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| self.0.downcast_ref::<&str>().copied());
        f.write_str(text.unwrap_or("without a message"))
    }
}

impl fmt::Debug for Panic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Panic({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn catches_panics_with_their_messages() {
        assert_eq!(catch_panic(async { 7 }).await.unwrap(), 7);
        let late = catch_panic(async {
            tokio::task::yield_now().await;
            panic!("after {}", "a while")
        });
        let panic: Result<(), _> = late.await;
        assert_eq!(panic.unwrap_err().to_string(), "after a while");
        let panic: Result<(), _> = catch_panic(async { panic!("at once") }).await;
        let panic = panic.unwrap_err();
        assert_eq!(panic.to_string(), "at once");
        let again: Result<(), _> = catch_panic(async { panic.resume() }).await;
        assert_eq!(format!("{again:?}"), "Err(Panic(at once))");
        let wordless = Panic(Box::new(7));
        assert_eq!(wordless.to_string(), "without a message");
    }
}
