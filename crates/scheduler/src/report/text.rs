use super::ending::{Ending, why};
use super::xml::legal;
use super::{JobReport, PipelineReport};
use executor_core::{HumanDuration, chain, counted};
use std::fmt::Write;
use std::time::Duration;
use unicode_width::UnicodeWidthStr;

/// Returns a report as text: each job, failures, tests, coverage, artifacts.
pub(super) fn write(report: &PipelineReport) -> String {
    let mut text = String::new();
    pipeline(&mut text, report, &format!("pipeline {}", report.id));
    text
}

fn pipeline(text: &mut String, report: &PipelineReport, title: &str) {
    let _ = writeln!(
        text,
        "{title}: {}, {}, exit code {}",
        report.status,
        time(report.duration),
        report.exit.code()
    );
    if let Some(error) = &report.error {
        let _ = writeln!(text, "error: {}", line(&chain(error)));
    }
    jobs(text, &report.jobs);
    for job in &report.jobs {
        failed(text, job);
    }
    tests(text, report);
    coverage(text, report);
    times(text, report);
    changed(text, &report.jobs);
    artifacts(text, &report.jobs);
    for child in &report.children {
        let title = format!(
            "\npipeline {}, started by {}",
            child.report.id,
            line(&child.job)
        );
        pipeline(text, &child.report, &title);
    }
}

fn jobs(text: &mut String, jobs: &[JobReport]) {
    let widest = jobs.iter().map(|job| line(&job.name).width()).max();
    let widest = widest.unwrap_or_default().min(60);
    for jobs in jobs.chunk_by(|one, other| one.stage == other.stage) {
        let Some(first) = jobs.first() else { continue };
        let _ = writeln!(text, "\nstage {}", line(&first.stage));
        for job in jobs {
            let name = line(&job.name);
            let gap = " ".repeat(widest.saturating_sub(name.width()));
            let _ = write!(text, "  {:<9} {name}{gap}", job.status.as_str());
            let mut remarks = Vec::new();
            if job.attempts > 0 {
                remarks.push(time(job.duration));
            }
            if job.attempts > 1 {
                remarks.push(format!("{} attempts", job.attempts));
            }
            if Ending::of(job) == Ending::Allowed {
                remarks.push("allowed to fail".to_owned());
            }
            let _ = writeln!(text, "  {}", remarks.join(", "));
            while text.ends_with(" \n") {
                text.replace_range(text.len() - 2.., "\n");
            }
        }
    }
}

fn failed(text: &mut String, job: &JobReport) {
    if !matches!(
        Ending::of(job),
        Ending::Failed | Ending::Broken | Ending::Allowed
    ) {
        return;
    }
    let (name, why) = (line(&job.name), why(job));
    let _ = writeln!(text, "\n{name} {}: {}", job.status, line(&why));
    for last in &job.last_lines {
        let _ = writeln!(text, "  | {}", line(last));
    }
}

fn tests(text: &mut String, report: &PipelineReport) {
    let Some(all) = report.tests() else { return };
    let _ = writeln!(
        text,
        "\ntests: {} in all, {} failed, {} errors, {} skipped",
        all.total, all.failed, all.errors, all.skipped
    );
    for job in &report.jobs {
        for test in job.products.tests.iter().flat_map(|tests| &tests.failures) {
            let _ = write!(text, "  {}: {}", line(&job.name), line(&test.shown_name()));
            if let Some(file) = &test.file {
                let _ = write!(text, " ({})", line(file));
            }
            text.push('\n');
            for message in test.message.lines() {
                let _ = writeln!(text, "    {}", line(message));
            }
        }
    }
}

fn coverage(text: &mut String, report: &PipelineReport) {
    let Some(mean) = report.coverage() else {
        return;
    };
    let _ = writeln!(text, "\ncoverage: {mean:.2} %");
    for job in &report.jobs {
        if let Some(coverage) = job.products.coverage {
            let _ = writeln!(text, "  {}: {coverage:.2} %", line(&job.name));
        }
    }
}

fn times(text: &mut String, report: &PipelineReport) {
    let Some(times) = &report.times else {
        return;
    };
    if !times.path.is_empty() {
        let steps = times.path.iter();
        let steps = steps.map(|step| format!("{} {}", line(&step.job), time(step.took)));
        let steps: Vec<String> = steps.collect();
        let _ = writeln!(text, "\ncritical path: {}", steps.join(", "));
    }
    for slower in &times.slower {
        let (took, usual) = (time(slower.took), time(slower.usual));
        let job = line(&slower.job);
        let _ = writeln!(text, "slower: {job} took {took}, usually {usual}");
    }
}

fn changed(text: &mut String, jobs: &[JobReport]) {
    for job in jobs {
        let Some(changed) = &job.products.changed else {
            continue;
        };
        let name = line(&job.name);
        let _ = writeln!(text, "\n{name} changed tracked files: {}", changed.count);
        for file in &changed.first {
            let _ = writeln!(text, "  {}", line(file));
        }
    }
}

fn artifacts(text: &mut String, jobs: &[JobReport]) {
    let kept: Vec<_> = jobs
        .iter()
        .filter(|job| !job.products.artifacts.is_empty())
        .collect();
    if kept.is_empty() {
        return;
    }
    text.push_str("\nartifacts:\n");
    for job in kept {
        for kept in &job.products.artifacts {
            let _ = write!(text, "  {}: {}", line(&job.name), line(&kept.artifact_type));
            if let Some(label) = job.exposed_as.as_ref().filter(|_| kept.is_archive()) {
                let _ = write!(text, " \"{}\"", line(label));
            }
            let files = counted(kept.files, "file");
            let _ = writeln!(text, ", {files}, {} bytes", kept.bytes);
        }
    }
}

/// Returns text without control characters, for one line.
fn line(text: &str) -> String {
    let is_control = |c: char| c.is_control();
    let shown = legal(text);
    // The last state of a line that overwrites itself.
    let mut states = shown.rsplit('\r');
    let last = states.find(|state| !state.is_empty()).unwrap_or_default();
    last.replace(is_control, " ").trim_end().to_owned()
}

fn time(duration: Duration) -> String {
    format!("{:.1}", HumanDuration(duration))
}
