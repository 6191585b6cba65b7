use super::{PlanJob, PlanStage, delay};
use crate::text::{Style, Tone, columns, seconds, shown_name, strip_controls};
use executor_core::job::{JobDefinition, When};
use std::fmt::Write as _;

/// Names that are longer do not move what stands behind them.
const WIDEST_NAME: usize = 32;

/// Returns the jobs stage by stage: each with when it starts, what it needs, its environment, and
/// what decided about it.
pub fn table(stages: &[PlanStage<'_>], style: Style) -> String {
    let mut text = String::new();
    let jobs = || stages.iter().flat_map(|stage| &stage.jobs);
    let widest = |cell: fn(&JobDefinition) -> String| {
        let widths = jobs().map(|job| columns(&cell(job.definition)));
        widths.max().unwrap_or(0).min(WIDEST_NAME)
    };
    let names = widest(|job| shown_name(&job.name));
    let starts = widest(start);
    for stage in stages {
        let heading = format!("stage {}", shown_name(stage.name));
        let _ = writeln!(text, "{}", style.paint(Tone::Quiet, &heading));
        for job in &stage.jobs {
            let name = shown_name(&job.definition.name);
            let gap = " ".repeat(names.saturating_sub(columns(&name)));
            let name = style.paint(Tone::Strong, &name);
            let start = start(job.definition);
            let start_gap = " ".repeat(starts.saturating_sub(columns(&start)));
            let rest = remarks(job).join("; ");
            let line = format!("  {name}{gap}  {start}{start_gap}  {rest}");
            let _ = writeln!(text, "{}", line.trim_end());
        }
    }
    text
}

/// Returns when a job starts, in the word of its file.
pub fn start(job: &JobDefinition) -> String {
    match job.when {
        When::OnSuccess => "on_success".to_owned(),
        When::OnFailure => "on_failure".to_owned(),
        When::Always => "always".to_owned(),
        When::Manual => "manual".to_owned(),
        When::Never => "never".to_owned(),
        When::Delayed => match &job.start_in {
            Some(start_in) => format!("delayed {}", delay(start_in)),
            None => "delayed".to_owned(),
        },
    }
}

/// Returns that a job may fail, or with which exit codes; `None` if it may not.
pub fn may_fail(job: &JobDefinition) -> Option<String> {
    let codes = job.allow_failure_exit_codes.as_deref().unwrap_or_default();
    let codes: Vec<String> = codes.iter().map(ToString::to_string).collect();
    match codes.as_slice() {
        [] => job.allow_failure.then(|| "may fail".to_owned()),
        [code] => Some(format!("may fail with exit code {code}")),
        [first @ .., last] => {
            let first = first.join(", ");
            Some(format!("may fail with exit code {first} or {last}"))
        }
    }
}

/// Returns the remarks on a job.
fn remarks(job: &PlanJob<'_>) -> Vec<String> {
    let definition = job.definition;
    let mut remarks = Vec::new();
    if let Some(needs) = &definition.needs {
        let names: Vec<_> = needs.iter().map(|need| shown_name(&need.job)).collect();
        remarks.push(if names.is_empty() {
            "needs nothing".to_owned()
        } else {
            format!("needs {}", names.join(", "))
        });
    }
    remarks.extend(may_fail(definition));
    if let Some(environment) = &definition.environment {
        remarks.push(format!("environment {}", strip_controls(&environment.name)));
    }
    if let Some(usual) = job.usual {
        remarks.push(format!("usually {}", seconds(usual)));
    }
    if !job.why.is_empty() {
        remarks.push(strip_controls(&job.why));
    }
    remarks
}

#[cfg(test)]
mod tests {
    use super::super::sample::{jobs, sample_stages};
    use super::*;

    #[test]
    fn the_table_says_when_after_what_and_why() {
        insta::assert_snapshot!(table(&sample_stages(&jobs()), Style::PLAIN), @r#"
        stage build
          compile               on_success
          say "hi\" <b>#1;</b>  on_success
        stage te]st
          test: [日本]          on_success     needs compile, gone
          lint                  on_success
        stage ship
          deploy                manual         may fail; environment production; rule 2: if $CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH
          later                 delayed 2m 5s  needs nothing
        "#);
    }
}
