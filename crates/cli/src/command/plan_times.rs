//! The expected duration of a plan, by earlier runs.

use super::created_pipeline::CreatedPipeline;
use crate::failure::Failure;
use console::reports::times::path;
use console::{Style, Tone, announcement, print_notes};
use jiff::Timestamp;
use pipeline::plan::NeedsMode;
use pipeline::{Plan, Selection};
use pipeline_insight::forecast::Outlook;
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use std::num::NonZeroU32;
use std::time::Duration;
use workstation::{Expectations, LocalError, StateDir};

/// The forecast of a pipeline that is shown but not run: as if it ran where the last run did, with as many
/// workers as there are processors.
#[derive(Debug)]
pub(super) struct PlanTimes {
    expectations: Expectations,
    outlook: Option<Outlook>,
}

impl PlanTimes {
    /// Makes the forecast, for all jobs or for only these.
    pub(super) fn of(
        created: &CreatedPipeline,
        jobs: Option<Vec<String>>,
    ) -> Result<Self, Failure> {
        let state = StateDir::of_user().map_err(LocalError::from)?;
        let durations = state.project(created.project.root()).durations();
        let processors = std::thread::available_parallelism().ok();
        let workers = processors.and_then(|count| NonZeroU32::try_from(count).ok());
        let workers = workers.unwrap_or(NonZeroU32::MIN);
        let expectations = Expectations::of_last_place(&durations, &created.project, workers);
        print_notes(expectations.notes());
        let is_nothing = jobs.as_ref().is_some_and(Vec::is_empty);
        let selection = Selection {
            needs: match &jobs {
                Some(_) => NeedsMode::Without,
                None => NeedsMode::With,
            },
            jobs: jobs.unwrap_or_default(),
            ..Selection::default()
        };
        let context = created.pipeline.context()?.clone();
        let plan = Plan::new(&created.creation, context, &selection);
        // The command that runs the plan reports why it cannot be made.
        let plan = plan.ok().filter(|_| !is_nothing);
        let outlook = plan.and_then(|plan| expectations.forecast(&plan).outlook(Timestamp::now()));
        Ok(Self {
            expectations,
            outlook,
        })
    }

    /// Returns the usual duration of a job.
    pub(super) fn usual(&self, job: &str) -> Option<Duration> {
        Some(self.expectations.usual(job)?.median)
    }

    /// Returns the expected duration of the plan, and its critical path.
    pub(super) fn shown(&self, style: Style) -> String {
        let mut text = String::new();
        let Some(outlook) = &self.outlook else {
            return "there are no times of earlier runs yet\n".to_owned();
        };
        if let Some(line) = announcement(outlook) {
            let _ = writeln!(text, "{line}");
        }
        if !outlook.path.is_empty() {
            let head = style.paint(Tone::Quiet, "critical path:");
            let _ = writeln!(text, "{head} {}", path(&outlook.path));
        }
        text
    }

    /// Returns the forecast as JSON; `jobs` are the names of the shown jobs.
    pub(super) fn document<'j>(&self, jobs: impl Iterator<Item = &'j str>) -> Value {
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let usual = jobs.filter_map(|job| Some((job.to_owned(), json!(millis(self.usual(job)?)))));
        let usual: Map<String, Value> = usual.collect();
        let path = self.outlook.iter().flat_map(|outlook| &outlook.path);
        let path = path.map(|step| {
            json!({
                "job": step.job,
                "waited_ms": millis(step.waited),
                "took_ms": millis(step.took),
            })
        });
        json!({
            "expected_ms": self.outlook.as_ref().map(|outlook| millis(outlook.total)),
            "at_least": self.outlook.as_ref().is_some_and(Outlook::is_at_least),
            "critical_path": path.collect::<Vec<Value>>(),
            "usual_ms": usual,
        })
    }
}
