use executor_core::{BuildError, Retryability};
use std::fmt;
use std::sync::Arc;

/// A failure of a scripted call.
#[derive(Clone)]
pub struct Failure(Kind);

#[derive(Clone)]
enum Kind {
    System(String, Retryability),
    Panic(String),
    With(Arc<dyn Fn() -> BuildError + Send + Sync>),
}

impl Failure {
    /// Returns a temporary failure.
    pub fn temporary(message: impl Into<String>) -> Self {
        Self(Kind::System(message.into(), Retryability::Temporary))
    }

    /// Returns a permanent failure.
    pub fn permanent(message: impl Into<String>) -> Self {
        Self(Kind::System(message.into(), Retryability::Permanent))
    }

    /// Returns a panic, as from a bug in an executor.
    pub fn panic(message: impl Into<String>) -> Self {
        Self(Kind::Panic(message.into()))
    }

    /// Returns a failure with the error of a function.
    pub fn with(error: impl Fn() -> BuildError + Send + Sync + 'static) -> Self {
        Self(Kind::With(Arc::new(error)))
    }

    /// Returns the error, or panics for [`Failure::panic`].
    pub(crate) fn raise(&self) -> BuildError {
        match &self.0 {
            Kind::System(message, retry) => BuildError::System {
                backend: "scripted",
                message: message.clone(),
                source: None,
                retry: *retry,
            },
            Kind::Panic(message) => panic!("{message}"),
            Kind::With(error) => error(),
        }
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::System(message, retry) => write!(f, "Failure({retry:?}: {message})"),
            Kind::Panic(message) => write!(f, "Failure(panic: {message})"),
            Kind::With(_) => f.write_str("Failure(with)"),
        }
    }
}
