//! What is to be expected of a run, by how long its jobs usually take.
//!
//! All of it is pure. [`Usual`] says what is usual for a job and what is [slower](Usual::is_exceeded_by)
//! than that, a [`Course`] knows what happened in a run and which chain of jobs decided how long it took,
//! and a [`Forecast`] plays the rest of a run ahead. What they do is told in `docs/design/comfort.md`.
//!
//! # Examples
//!
//! ```
//! use pipeline::context::PipelineContext;
//! use pipeline_insight::forecast::Forecast;
//! use pipeline::repository::NoRepository;
//! use pipeline::{Plan, ResolvedPipeline, Selection, create};
//! use std::num::NonZeroU32;
//! use std::time::Duration;
//!
//! let text = "
//! build: {stage: build, script: make}
//! lint: {stage: test, script: make lint}
//! test: {stage: test, script: make test}
//! ";
//! let (resolved, _warnings) = ResolvedPipeline::from_text(".gitlab-ci.yml", text).into_result()?;
//! let context = PipelineContext::default();
//! let creation = create(&resolved, &context, &NoRepository);
//! let plan = Plan::new(&creation, context, &Selection::default())?;
//!
//! let usual = |job: &str| Some(Duration::from_secs(if job == "test" { 60 } else { 10 }));
//! let two = NonZeroU32::new(2).expect("it is not null");
//! let outlook = Forecast::new(&plan, two, usual).outlook(jiff::Timestamp::now());
//! let outlook = outlook.expect("all times are known");
//! assert_eq!(outlook.total, Duration::from_secs(70));
//! let jobs: Vec<&str> = outlook.path.iter().map(|step| &*step.job).collect();
//! assert_eq!(jobs, ["build", "test"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod course;
mod outlook;
mod path;
mod prediction;
mod simulation;
mod trend;
mod usual;

pub use course::{Course, Moment, Span};
pub use outlook::Outlook;
pub use prediction::Forecast;
pub use trend::{Trend, trend};
pub use usual::{LEAST_RUNS, Usual};
