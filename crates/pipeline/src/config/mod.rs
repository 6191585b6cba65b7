//! The keywords of a pipeline file, each read into a type of its own; one noun a file.
//!
//! Reading goes on after an error, so that all mistakes of a file are shown at once.
//!
//! `file` goes through the top-level keys, `classify` says what each is, and `read_job` reads a job:
//! which keywords its kind may have, each of them, and how they go together. A mistake is told where
//! it is, under GitLab's name of the place, and nothing is told that only follows from another. What
//! needs other jobs to be judged (stages, needs, dependencies) is left to `resolve`.

mod allow_failure;
mod artifacts;
mod auto_cancel;
mod cache;
mod cache_key;
mod child;
mod classify;
mod clause;
mod coverage;
mod dast;
mod delay;
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
mod job_inputs;
mod keywords;
mod matrix;
mod needs;
mod pages;
mod parallel;
mod path;
mod policy;
mod read_job;
mod reader;
mod release;
mod retry;
mod rule;
mod rules;
mod run;
mod script;
mod secret_store;
mod secrets;
mod services;
mod stages;
mod tags;
mod timeout;
mod trigger;
mod variables;
mod when;
mod workflow;

pub use allow_failure::AllowFailure;
pub use environment::Environment;
pub use executor_core::parse_duration;
pub use file::Config;
pub use inherit::{Inherit, Inherited};
pub use inheritable::Inheritable;
pub use job::{Job, JobKind, Kept};
pub use matrix::Matrix;
pub use needs::{JobNeed, NeedEntry};
pub use parallel::Parallel;
pub use policy::PolicyKeyword;
pub use reader::Spanned;
pub use retry::FAILURE_REASONS;
pub use rules::{RulePlace, RulesKeyword};
pub use stages::{FIRST_STAGE, LAST_STAGE};
pub use trigger::{Forward, Strategy, Trigger, TriggerTarget};
pub use variables::{Variables, variable_name_problem};
pub use workflow::Workflow;

pub(crate) use file::read;
pub(crate) use path::Path;
pub(crate) use reader::{Field, Reader};
pub(crate) use rules::read_rules;
