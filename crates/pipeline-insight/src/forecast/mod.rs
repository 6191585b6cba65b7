//! A forecast of a run from the usual durations of its jobs.
//!
//! [`Usual`] is the usual duration of a job and knows what is [slower](Usual::is_exceeded_by), a
//! [`Course`] records what happened in a run and finds its critical path, and a [`Forecast`]
//! simulates the rest of a run. `docs/design/comfort.md` describes them.
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
//! let two = NonZeroU32::new(2).expect("it is not zero");
//! let outlook = Forecast::new(&plan, two, usual).outlook(jiff::Timestamp::now());
//! let outlook = outlook.expect("all times are known");
//! assert_eq!(outlook.total, Duration::from_secs(70));
//! let jobs: Vec<&str> = outlook.path.iter().map(|step| &*step.job).collect();
//! assert_eq!(jobs, ["build", "test"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod course;
mod path;
mod prediction;
mod simulation;
mod trend;
mod usual;

pub use course::{Course, Moment, Span};
pub use prediction::{Forecast, Outlook};
pub use trend::{Trend, trend};
pub use usual::{LEAST_RUNS, Usual};
