//! How a run ended, in a few lines.

use super::console::seconds;
use super::style::{Style, Tone, strip_controls};
use runwright::core::chain;
use runwright::pipeline::{JobReport, PipelineReport, Status};
use std::fmt::{self, Write};
use std::path::Path;

/// What a summary adds for the reader to go on with.
pub struct Advice<'a> {
    /// The directory with the whole logs, where they are kept.
    pub logs: Option<&'a Path>,
    /// Returns the command that runs a job again.
    pub again: &'a dyn Fn(&str) -> String,
}

impl fmt::Debug for Advice<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Advice")
            .field("logs", &self.logs)
            .finish_non_exhaustive()
    }
}

/// Returns the summary of a run: each job that made it fail with its exit code, its last lines and
/// how to run it again; then one sentence on the whole.
pub fn summary(report: &PipelineReport, style: Style, advice: &Advice<'_>) -> String {
    let mut text = String::new();
    for job in report.failed_jobs() {
        failed_job(&mut text, job, style, advice);
    }
    if let Some(error) = &report.error {
        let chain = chain(error);
        let _ = writeln!(text, "{} {chain}", style.paint(Tone::Bad, "error:"));
    }
    whole(&mut text, report, style);
    if report.failed_jobs().next().is_some()
        && let Some(logs) = advice.logs
    {
        let _ = writeln!(
            text,
            "{}",
            style.paint(Tone::Quiet, &format!("logs: {}", logs.display()))
        );
    }
    text
}

fn failed_job(text: &mut String, job: &JobReport, style: Style, advice: &Advice<'_>) {
    let head = style.paint(Tone::Bad, &format!("{} failed", strip_controls(&job.name)));
    let _ = write!(text, "\n{head} in stage {}", strip_controls(&job.stage));
    if let Some(code) = job.exit_code {
        let _ = write!(text, " with exit code {code}");
    } else if let Some(reason) = job.failure_reason {
        let _ = write!(text, ": {reason}");
    }
    if job.attempts > 1 {
        let _ = write!(text, ", after {} attempts", job.attempts);
    }
    text.push('\n');
    if job.exit_code.is_none()
        && let Some(error) = &job.error
    {
        let _ = writeln!(text, "  {}", error.chain());
    }
    for line in &job.last_lines {
        let _ = writeln!(
            text,
            "  {} {}",
            style.paint(Tone::Quiet, "|"),
            strip_controls(line)
        );
    }
    let command = (advice.again)(&job.name);
    let _ = writeln!(
        text,
        "  run it again: {}",
        style.paint(Tone::Strong, &command)
    );
}

fn whole(text: &mut String, report: &PipelineReport, style: Style) {
    let tone = match report.status {
        Status::Success => Tone::Good,
        Status::Failed | Status::Canceled => Tone::Bad,
        _ => Tone::Warning,
    };
    let counts = counts(report);
    let millis = u64::try_from(report.duration.as_millis()).unwrap_or(u64::MAX);
    let _ = writeln!(
        text,
        "\npipeline {}: {}{counts}, {}",
        report.id,
        style.paint(tone, &report.status.to_string()),
        seconds(millis)
    );
    let waiting: Vec<_> = report
        .jobs
        .iter()
        .filter(|job| job.status == Status::Manual)
        .map(|job| strip_controls(&job.name))
        .collect();
    if report.status == Status::Manual && !waiting.is_empty() {
        let _ = writeln!(
            text,
            "it waits for {}: play it with --manual",
            waiting.join(", ")
        );
    }
}

/// Returns how many jobs came to which status: ` (3 success, 1 failed)`.
fn counts(report: &PipelineReport) -> String {
    let mut counts: Vec<(Status, usize)> = Vec::new();
    for job in &report.jobs {
        match counts.iter_mut().find(|(status, _)| *status == job.status) {
            Some((_, count)) => *count += 1,
            None => counts.push((job.status, 1)),
        }
    }
    if counts.is_empty() {
        return ", no job to run".to_owned();
    }
    let words: Vec<_> = counts
        .iter()
        .map(|(status, count)| format!("{count} {status}"))
        .collect();
    format!(" ({})", words.join(", "))
}
