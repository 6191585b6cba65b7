//! Turns a `.gitlab-ci.yml` into jobs and schedules them.
//!
//! The way is a straight line, and every step hands over a value of its own:
//!
//! ```text
//! text -> Pipeline (+ Diagnostics) -> ResolvedPipeline -> Creation -> Plan -> Driver -> PipelineReport
//! ```
//!
//! # Examples
//!
//! ```
//! use pipeline::context::PipelineContext;
//! use pipeline::repository::NoRepository;
//! use pipeline::{Plan, ResolvedPipeline, Selection, create};
//!
//! let text = "
//! build: {stage: build, script: make, artifacts: {paths: [app]}}
//! test: {stage: test, script: make test}
//! ";
//! let (resolved, _warnings) = ResolvedPipeline::from_text(".gitlab-ci.yml", text).into_result()?;
//! let context = PipelineContext::default();
//! let creation = create(&resolved, &context, &NoRepository);
//! let plan = Plan::new(&creation, context, &Selection::default())?;
//!
//! let job = plan.payload(1);
//! assert_eq!(job.job_info.name, "test");
//! assert_eq!(job.steps[0].script, ["make test"]);
//! assert_eq!(job.dependencies[0].name, "build");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A newcomer needs four types: [`ResolvedPipeline`] is what a file means, a [`Creation`] is what that
//! is in one situation, a [`Plan`] is what will run, and a [`Driver`] runs it with any
//! [`JobRunner`](executor_core::JobRunner) and any
//! [`ExecutorProvider`](executor_core::ExecutorProvider).
//!
//! The crate reads no files and starts no process: texts and facts about the repository are given
//! to it, and jobs are run by whoever implements the port. Why the way has these steps is told in
//! `docs/design/language.md`.

pub mod affected;
pub mod config;
pub mod context;
pub mod create;
pub mod event;
pub mod expect;
pub mod explain;
pub mod expression;
pub mod glob;
pub mod include;
pub mod inputs;
pub mod merged;
pub mod parity;
pub mod pattern;
pub mod plan;
pub mod report;
pub mod repository;
pub mod rules;
pub mod scheduler;
pub mod selector;
pub mod show;
pub mod vectors;

mod codes;
mod colours;
mod compose;
mod dialect;
mod graph;
mod options;
mod origin;
mod pipeline;
mod read;
mod resolve;
mod slug;

pub use codes::{CODES, CodeInfo, code_info};
pub use create::{Creation, create};
pub use dialect::Dialect;
pub use event::{EventSink, PipelineEvent};
pub use options::{IncludeRules, LoadOptions, Overlay};
pub use origin::{Origin, Origins};
pub use pipeline::Pipeline;
pub use plan::{Plan, PlanError, PlannedJob, Selection};
pub use report::{ChildReport, JobReport, PipelineReport, ReportFormat, RunExit};
pub use resolve::{ResolvedJob, ResolvedNeeds, ResolvedPipeline};
pub use scheduler::{Driver, Status};
pub use slug::slug;
#[doc(no_inline)]
pub use yaml::diagnostic::{Checked, Diagnostic, Diagnostics};
