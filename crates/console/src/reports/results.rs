//! The results of the jobs of a run: tests, coverage, artifacts.

use crate::text::{Style, Tone, counted, cut, shown_name, strip_controls};
use executor_core::{FailedTest, RetainedArtifact};
use scheduler::{JobReport, PipelineReport};
use std::fmt::Write;

/// How many failed tests of a job are shown, and how many lines of each.
const TESTS: usize = 5;
const LINES: usize = 3;
/// How many jobs are listed with their coverage or artifacts.
const JOBS: usize = 10;
const WIDEST_LINE: usize = 200;

/// Appends the results of a pipeline and of its child pipelines, if there are any.
pub(super) fn products(text: &mut String, report: &PipelineReport, style: Style) {
    tests(text, report, style);
    coverage(text, report, style);
    artifacts(text, report, style);
    for child in &report.children {
        let mut below = String::new();
        products(&mut below, &child.report, style);
        if !below.is_empty() {
            let name = shown_name(&child.job);
            let _ = write!(text, "\nof the pipeline that {name} started:{below}");
        }
    }
}

fn tests(text: &mut String, report: &PipelineReport, style: Style) {
    let Some(all) = report.tests() else { return };
    let mut counts = vec![format!("{} in all", all.total)];
    for (count, what) in [
        (all.failed, "failed"),
        (all.errors, "broke down"),
        (all.skipped, "skipped"),
    ] {
        if count > 0 {
            counts.push(format!("{count} {what}"));
        }
    }
    let is_bad = all.failed + all.errors > 0;
    let tone = if is_bad { Tone::Bad } else { Tone::Good };
    let head = style.paint(tone, "tests:");
    let _ = writeln!(text, "\n{head} {}", counts.join(", "));
    for job in &report.jobs {
        tests_of(text, job, style);
    }
}

fn tests_of(text: &mut String, job: &JobReport, style: Style) {
    let Some(tests) = &job.products.tests else {
        return;
    };
    let name = shown_name(&job.name);
    for test in tests.failures.iter().take(TESTS) {
        failed_test(text, &name, test, style);
    }
    let bad = tests.failed + tests.errors;
    let shown = u64::try_from(tests.failures.len().min(TESTS)).unwrap_or(u64::MAX);
    if bad > shown {
        let _ = writeln!(text, "  {name}: {} more", bad - shown);
    }
}

fn failed_test(text: &mut String, job: &str, failed: &FailedTest, style: Style) {
    let line = |text: &str| cut(&shown_name(text), WIDEST_LINE, style.ellipsis());
    let _ = write!(text, "  {job}: {}", line(&failed.shown_name()));
    if let Some(file) = &failed.file {
        let _ = write!(text, " {}", style.paint(Tone::Quiet, &line(file)));
    }
    text.push('\n');
    let bar = style.paint(Tone::Quiet, "|");
    let lines = failed
        .message
        .lines()
        .filter(|line| !line.trim().is_empty());
    for message in lines.take(LINES) {
        let message = cut(&strip_controls(message), WIDEST_LINE, style.ellipsis());
        let _ = writeln!(text, "    {bar} {message}");
    }
}

fn coverage(text: &mut String, report: &PipelineReport, style: Style) {
    let Some(mean) = report.coverage() else {
        return;
    };
    let found = report.jobs.iter().filter_map(|job| {
        let coverage = job.products.coverage?;
        Some(format!("{} {}", shown_name(&job.name), percent(coverage)))
    });
    let found: Vec<_> = found.collect();
    let head = style.paint(Tone::Strong, "coverage:");
    let _ = write!(text, "\n{head} {}", percent(mean));
    let shown = &found[..found.len().min(JOBS)];
    let more = found.len() - shown.len();
    let _ = write!(text, " ({}", shown.join(", "));
    let _ = match more {
        0 => writeln!(text, ")"),
        _ => writeln!(text, ", {more} more)"),
    };
}

fn artifacts(text: &mut String, report: &PipelineReport, style: Style) {
    let kept = |job: &&JobReport| !job.products.artifacts.is_empty();
    let jobs: Vec<_> = report.jobs.iter().filter(kept).collect();
    if jobs.is_empty() {
        return;
    }
    let head = style.paint(Tone::Strong, "artifacts:");
    let _ = writeln!(text, "\n{head}");
    for job in jobs.iter().take(JOBS) {
        let kept = job
            .products
            .artifacts
            .iter()
            .map(|kept| artifact(job, kept));
        let kept: Vec<_> = kept.collect();
        let _ = writeln!(text, "  {}: {}", shown_name(&job.name), kept.join(", "));
    }
    if jobs.len() > JOBS {
        let more = counted(jobs.len() - JOBS, "more job");
        let _ = writeln!(text, "  and of {more}");
    }
}

fn artifact(job: &JobReport, kept: &RetainedArtifact) -> String {
    let name = match &job.exposed_as {
        Some(label) if kept.is_archive() => label,
        _ if kept.is_archive() && !kept.name.is_empty() => &kept.name,
        _ => &kept.artifact_type,
    };
    format!("{} ({})", shown_name(name), counted(kept.files, "file"))
}

/// Returns a figure with as many places as it needs, two at most.
fn percent(figure: f64) -> String {
    let text = format!("{figure:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{text} %")
}

#[cfg(test)]
mod unit_tests {
    use super::percent;

    #[test]
    fn percentages_have_at_most_two_decimals() {
        for (figure, expect) in [
            (80.0, "80 %"),
            (87.5, "87.5 %"),
            (83.333_3, "83.33 %"),
            (0.0, "0 %"),
            (100.0, "100 %"),
        ] {
            assert_eq!(percent(figure), expect);
        }
    }
}
