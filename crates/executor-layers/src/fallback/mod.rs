//! A fallback to other providers.

mod executor;
mod layer;
mod members;
mod provider;

pub use executor::FallbackExecutor;
pub use layer::FallbackLayer;
pub use provider::FallbackProvider;
