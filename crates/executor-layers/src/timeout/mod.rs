//! Deadlines for each kind of call.

mod bounded;
mod executor;
mod layer;
mod provider;

pub use executor::TimeoutExecutor;
pub use layer::TimeoutLayer;
pub use provider::TimeoutProvider;
