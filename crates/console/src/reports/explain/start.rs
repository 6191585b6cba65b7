use crate::reports::plan::delay;
use crate::text::shown_name;
use executor_core::job::{SchedulingKind, When};
use pipeline_insight::explain::Explanation;

/// Returns when a job starts, as the end of a sentence that begins with `starts`.
pub(super) fn sentence(explained: &Explanation) -> String {
    let before = before(explained);
    let mut words = match (explained.when, before) {
        (When::OnSuccess | When::Always, None) => "at once".to_owned(),
        (When::OnSuccess, Some(before)) => format!("when {before} succeeded"),
        (When::OnFailure, None) => {
            "never: it waits for a failure, and no job is before it".to_owned()
        }
        (When::OnFailure, Some(before)) => {
            format!("when {before} ended, and at least one job failed")
        }
        (When::Always, Some(before)) => format!("when {before} ended, whatever the result"),
        (When::Manual, None) => "by hand".to_owned(),
        (When::Manual, Some(before)) => {
            format!("by hand, once {before} succeeded")
        }
        (When::Delayed, before) => {
            let start_in = explained.start_in.as_deref();
            let delay = start_in.map_or_else(|| "some time".to_owned(), delay);
            match before {
                Some(before) => format!("{delay} after {before} succeeded"),
                None => format!("{delay} after the pipeline"),
            }
        }
        (When::Never, _) => "never".to_owned(),
    };
    match (explained.when, explained.allow_failure) {
        (When::Manual, true) => words.push_str("; the pipeline does not wait for it"),
        (When::Manual, false) => words.push_str("; the pipeline waits for it"),
        (_, true) => words.push_str("; it may fail"),
        (_, false) => {}
    }
    words
}

/// Returns what the job waits for, with a verb that takes a past participle.
fn before(explained: &Explanation) -> Option<String> {
    match &explained.needs {
        Some(needs) => {
            let present = needs.iter().filter(|need| need.is_included);
            let names: Vec<_> = present.map(|need| shown_name(&need.need.job)).collect();
            match names.as_slice() {
                [] => None,
                [one] => Some(format!("{one} has")),
                [first @ .., last] => Some(format!("{} and {last} have", first.join(", "))),
            }
        }
        None if explained.scheduling == SchedulingKind::Dag || explained.stage == ".pre" => None,
        None => Some("the jobs of all earlier stages have".to_owned()),
    }
}
