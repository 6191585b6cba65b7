//! The choice of a provider by the tags of a job.

mod choice;
mod executor;
mod layer;
mod provider;
mod routes;
mod unrouted;

pub use executor::RouteByTagsExecutor;
pub use layer::RouteByTagsLayer;
pub use provider::RouteByTagsProvider;
