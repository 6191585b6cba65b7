//! How a run ended, in a few lines.

use crate::model::CHILD_SEPARATOR;
use crate::reports::results::products;
use crate::reports::times;
use crate::text::{
    Mark, Style, Tone, counted_ends, cut, fit, last_state, of_them_reused, seconds, shown_name,
    strip_controls,
};
use executor_core::{BuildError, PipelineId, chain};
use scheduler::{JobReport, PipelineReport, Status};
use std::fmt::{self, Write};
use std::path::PathBuf;

/// The log has the rest of longer lines.
const WIDEST_LINE: usize = 400;

/// What a summary suggests to the reader.
pub struct SummaryHints<'a> {
    /// Returns the file with the whole log of a job, where logs are kept.
    pub log: &'a dyn Fn(PipelineId, &JobReport) -> Option<PathBuf>,
    /// Returns the command that runs a job again.
    pub again: &'a dyn Fn(&str) -> String,
    /// Returns the command that starts a manual job.
    pub play: &'a dyn Fn(PipelineId, &str) -> String,
    /// Whether the summary shows where the time went even for short runs.
    pub times: bool,
}

impl fmt::Debug for SummaryHints<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SummaryHints").finish_non_exhaustive()
    }
}

/// Returns the summary of a run: each job that made it fail with its exit code, its last lines, its
/// log and how to run it again, those of pipelines that jobs started too; what the jobs left; then one
/// sentence on each pipeline.
pub fn summary(report: &PipelineReport, style: Style, hints: &SummaryHints<'_>) -> String {
    let mut text = String::new();
    for job in report.failed_jobs() {
        failed_job(&mut text, &job.name, job, style);
        log_hint(&mut text, report, job, style, hints);
        let command = style.paint(Tone::Strong, &(hints.again)(&job.name));
        hint(&mut text, style, "run again:", &command);
    }
    failed_below(&mut text, report, "", style, hints);
    if let Some(error) = &report.error {
        let chain = strip_controls(&chain(error));
        let _ = writeln!(text, "\n{} {chain}", style.paint(Tone::Bad, "error:"));
    }
    products(&mut text, report, style);
    times::summary(&mut text, report, hints.times, style);
    whole(&mut text, report, style, hints);
    text
}

/// Adds the failed jobs of the pipelines that the jobs of one started, which is called `above`.
fn failed_below(
    text: &mut String,
    report: &PipelineReport,
    above: &str,
    style: Style,
    hints: &SummaryHints<'_>,
) {
    for child in &report.children {
        let above = format!("{above}{}{CHILD_SEPARATOR}", child.job);
        for job in child.report.failed_jobs() {
            failed_job(text, &format!("{above}{}", job.name), job, style);
            log_hint(text, &child.report, job, style, hints);
        }
        failed_below(text, &child.report, &above, style, hints);
    }
}

fn failed_job(text: &mut String, name: &str, job: &JobReport, style: Style) {
    let name = shown_name(name);
    let mark = fit(style.mark(Mark::Failure), style.mark_width(), "");
    let head = style.paint(Tone::Bad, &format!("{mark} {name} failed"));
    let _ = write!(text, "\n{head} in stage {}", shown_name(&job.stage));
    if let Some(code) = job.exit_code {
        let _ = write!(text, " with exit code {code}");
    } else if let Some(reason) = job.failure_reason {
        let _ = write!(text, ": {}", reason.as_str());
    }
    if job.attempts > 1 {
        let _ = write!(text, ", after {} attempts", job.attempts);
    }
    let _ = writeln!(text, ", {}", seconds(job.duration));
    let is_script = |error: &BuildError| matches!(error, BuildError::Script { .. });
    if let Some(error) = job.error.as_deref().filter(|error| !is_script(error)) {
        let _ = writeln!(text, "  {}", strip_controls(&error.chain()));
    }
    let bar = style.paint(Tone::Quiet, "|");
    for line in &job.last_lines {
        let line = strip_controls(last_state(line));
        let line = cut(&line, WIDEST_LINE, style.ellipsis());
        let _ = writeln!(text, "  {bar} {line}");
    }
}

fn log_hint(
    text: &mut String,
    report: &PipelineReport,
    job: &JobReport,
    style: Style,
    hints: &SummaryHints<'_>,
) {
    if let Some(log) = (hints.log)(report.id, job) {
        hint(text, style, "whole log:", &style.path(&log));
    }
}

fn hint(text: &mut String, style: Style, what: &str, how: &str) {
    let _ = writeln!(text, "  {} {how}", style.paint(Tone::Quiet, what));
}

/// Adds a line for each pipeline that the jobs of one started, in the order of their ends.
fn ends_below(text: &mut String, report: &PipelineReport, above: &str, style: Style) {
    for child in &report.children {
        let name = format!("{above}{}", child.job);
        ends_below(
            text,
            &child.report,
            &format!("{name}{CHILD_SEPARATOR}"),
            style,
        );
        let project = child.project.as_ref();
        let project = project.map_or_else(String::new, |it| format!(", in {}", shown_name(it)));
        let _ = writeln!(
            text,
            "below {}{project}: {}",
            shown_name(&name),
            end(&child.report, style)
        );
    }
}

/// Returns how a pipeline ended: `pipeline 1: success (1 success), 0.1 s`.
fn end(report: &PipelineReport, style: Style) -> String {
    let tone = match report.status {
        Status::Success => Tone::Good,
        Status::Failed | Status::Canceled => Tone::Bad,
        _ => Tone::Warning,
    };
    format!(
        "pipeline {}: {}{}, {}",
        report.id,
        style.paint(tone, report.status.as_str()),
        counts(report),
        seconds(report.duration)
    )
}

fn whole(text: &mut String, report: &PipelineReport, style: Style, hints: &SummaryHints<'_>) {
    text.push('\n');
    ends_below(text, report, "", style);
    let _ = writeln!(text, "{}", end(report, style));
    let waiting = waiting(report, "");
    if let [first, ..] = &*waiting
        && report.status == Status::Manual
    {
        let names: Vec<_> = waiting.iter().map(|it| shown_name(&it.name)).collect();
        let command = (hints.play)(first.pipeline, first.job);
        let command = style.paint(Tone::Strong, &command);
        let _ = writeln!(
            text,
            "it waits for {}: {command} continues it",
            names.join(", ")
        );
    }
}

/// A manual job that blocks the pipeline.
struct Waiting<'r> {
    /// What it is called among those of all pipelines.
    name: String,
    pipeline: PipelineId,
    job: &'r str,
}

/// Returns what a pipeline waits for: of a job that waits for its own pipeline, what that waits for.
fn waiting<'r>(report: &'r PipelineReport, above: &str) -> Vec<Waiting<'r>> {
    let mut found = Vec::new();
    // Nothing waits for a manual job that may fail.
    let is_waiting = |job: &&JobReport| job.status == Status::Manual && !job.allow_failure;
    for job in report.jobs.iter().filter(is_waiting) {
        let name = format!("{above}{}", job.name);
        let mut children = report.children.iter().rev();
        // Jobs of another project cannot be played from this one.
        let child = children.find(|it| it.job == job.name && it.project.is_none());
        let below = child.map(|it| waiting(&it.report, &format!("{name}{CHILD_SEPARATOR}")));
        match below.filter(|below| !below.is_empty()) {
            Some(below) => found.extend(below),
            None => found.push(Waiting {
                name,
                pipeline: report.id,
                job: &job.name,
            }),
        }
    }
    found
}

/// Returns how many jobs came to which end: ` (3 success, 1 failed, 1 allowed failure)`.
fn counts(report: &PipelineReport) -> String {
    let ends = report
        .jobs
        .iter()
        .map(|job| (job.status, job.allow_failure));
    match counted_ends(ends) {
        none if none.is_empty() => ", no job to run".to_owned(),
        counts => {
            let reused = report.jobs.iter().filter(|job| job.reused.is_some());
            format!(" ({counts}{})", of_them_reused(reused.count()))
        }
    }
}
