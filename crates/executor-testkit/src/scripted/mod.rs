mod call_order;
mod directive;
mod executor;
mod failure;
mod job_runner;
mod provider;
mod script;

pub use directive::{Directive, Moment};
pub use executor::ScriptedExecutor;
pub use failure::Failure;
pub use job_runner::{JobRunnerDirective, ScriptedJobRunner};
pub use provider::{Lease, ProviderCounts, ScriptedAbilities, ScriptedProvider};
