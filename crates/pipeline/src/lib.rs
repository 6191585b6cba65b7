//! Turns a `.gitlab-ci.yml` into a plan of jobs.
//!
//! The steps run in one direction, and each returns its own type:
//!
//! ```text
//! text -> Pipeline (+ Diagnostics) -> ResolvedPipeline -> Creation -> Plan
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
//! Start with three types: [`ResolvedPipeline`] is the meaning of a file, [`Creation`] the jobs it
//! has in one situation (a branch, a tag, a merge request), and [`Plan`] the jobs that will run.
//! The crate `scheduler` runs a plan; `pipeline-insight` answers questions about one.
//!
//! The crate reads no files and starts no process: the caller passes texts and facts about the
//! repository. `docs/design/language.md` explains the design.

pub mod config;
pub mod context;
pub mod create;
pub mod expression;
pub mod glob;
pub mod include;
pub mod inputs;
pub mod merged;
pub mod parity;
pub mod pattern;
pub mod plan;
pub mod repository;
pub mod rules;
pub mod selector;
pub mod show;

mod codes;
mod compose;
mod dialect;
mod graph;
mod options;
mod origin;
mod pipeline;
mod read;
pub mod resolve;
mod scheduling_policy;
mod slug;

pub use codes::{CODES, CodeInfo, code_info};
pub use create::{Creation, create};
pub use dialect::Dialect;
pub use options::{IncludeRules, InputsFile, LoadOptions, Overlay};
pub use origin::{Origin, Origins};
pub use pipeline::Pipeline;
pub use plan::{Plan, PlanError, PlannedJob, RefusedJob, Selection};
pub use resolve::{ResolvedJob, ResolvedNeeds, ResolvedPipeline};
pub use scheduling_policy::{ExitRule, RescueRule, SchedulingPolicy, StartRule};
pub use slug::slug;
#[doc(no_inline)]
pub use yaml::diagnostic::{Checked, Diagnostic, Diagnostics};
