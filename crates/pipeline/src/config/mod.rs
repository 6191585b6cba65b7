//! The keywords of a pipeline file, each read into its own type.
//!
//! Reading continues after an error, so that all mistakes of a file are shown at once.
//!
//! `file` reads the top-level keys, which `classify` sorts into keywords and jobs; `read_job` reads
//! a job's keywords and checks how they combine. An error has the location of the mistake and
//! GitLab's path to it, and consequences of another error are not reported. Checks that involve
//! other jobs (stages, needs, dependencies) are in `resolve`.

mod artifacts;
mod cache;
mod cache_key;
mod child;
mod classify;
mod clause;
mod delay;
mod environment;
mod file;
mod image;
mod image_options;
mod inherit;
mod inheritable;
mod job;
mod job_inputs;
mod keywords;
mod matrix;
mod need;
mod needs;
mod parallel;
mod path;
mod policy;
mod read_job;
mod reader;
mod release;
mod retry;
mod rule;
mod rule_list;
mod run;
mod script;
mod secret_store;
mod secrets;
mod services;
mod stages;
mod trigger;
mod variables;
mod when;
mod workflow;

pub use artifacts::REPORTS;
pub use environment::Environment;
pub use executor_core::parse_duration;
pub use file::Config;
pub use inherit::{Inherit, Inherited};
pub use inheritable::Inheritable;
pub use job::{AllowFailure, Job, JobKind, Kept};
pub use need::{JobNeed, Matrix, NeedEntry};
pub use parallel::Parallel;
pub use policy::PolicyKeyword;
pub use retry::FAILURE_REASONS;
pub use rule_list::{RulePlace, RulesKeyword};
pub use stages::{FIRST_STAGE, LAST_STAGE};
pub use trigger::{Forward, Strategy, Trigger, TriggerTarget};
pub use variables::{Variables, variable_name_problem};
pub use workflow::Workflow;
pub use yaml::source::Spanned;

pub(crate) use file::read;
pub(crate) use path::Path;
pub(crate) use reader::{Field, Reader};
pub(crate) use rule::read_rules;
