//! The keywords of a pipeline file, each read into a type of its own; one noun a file.
//!
//! Reading goes on after an error, so that all mistakes of a file are shown at once.

mod allow_failure;
mod artifacts;
mod cache;
mod cache_key;
mod coverage;
mod dast;
mod duration;
mod environment;
mod file;
mod hooks;
mod id_tokens;
mod identity;
mod image;
mod image_options;
mod inherit;
mod inheritable;
mod job;
mod keywords;
mod needs;
mod pages;
mod parallel;
mod policy;
mod reader;
mod release;
mod retry;
mod rules;
mod run;
mod script;
mod secret_store;
mod secrets;
mod stages;
mod tags;
mod timeout;
mod trigger;
mod variables;
mod when;
mod workflow;

pub use allow_failure::AllowFailure;
pub use duration::parse_duration;
pub use file::Config;
pub use inherit::{Inherit, Inherited};
pub use inheritable::Inheritable;
pub use job::{Job, JobKind, Kept};
pub use needs::NeedEntry;
pub use parallel::{Matrix, Parallel};
pub use policy::PolicyKeyword;
pub use reader::Spanned;
pub use retry::FAILURE_REASONS;
pub use rules::RulesKeyword;
pub use stages::{FIRST_STAGE, LAST_STAGE};
pub use trigger::{Forward, Strategy, Trigger, TriggerTarget};
pub use variables::{Variables, variable_name_problem};
pub use workflow::Workflow;

pub(crate) use file::{check_unsupported, has_includes, read};
