//! The diagnostics of a pipeline file, and notes on a pipeline.

use crate::streams::error_line;
use crate::text::{Style, Tone, counted, shown_name, strip_controls};
use pipeline::create::Refusal;
use pipeline::{Plan, RefusedJob};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use yaml::diagnostic::{Diagnostic, Diagnostics, Renderer, Severity};
use yaml::source::SourceMap;

/// A note names at most this many jobs that need a skipped one.
const MOST_NAMES: usize = 3;

/// At most this many problems of a pipeline are shown.
const MOST_PROBLEMS: usize = 10;

/// Prints errors and warnings on standard error.
pub fn print_diagnostics(found: &Diagnostics) {
    let text = diagnostics_text(found, Severity::Warning, Style::of_stderr());
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Returns the findings down to a severity as text, in the order of the files and their lines.
pub fn diagnostics_text(found: &Diagnostics, least: Severity, style: Style) -> String {
    let renderer = renderer(style);
    let shown = in_file_order(found).into_iter();
    let shown = shown.filter(|finding| finding.severity <= least);
    let texts: Vec<String> = shown
        .map(|finding| renderer.render(finding, found.sources()))
        .collect();
    texts.join("\n")
}

fn renderer(style: Style) -> Renderer {
    if style.has_colours() {
        Renderer::colored()
    } else {
        Renderer::plain()
    }
}

/// Returns the findings by place: files as they come first, findings without a place before them.
pub fn in_file_order(found: &Diagnostics) -> Vec<&Diagnostic> {
    let mut files = HashMap::new();
    for span in found.iter().filter_map(|finding| finding.span) {
        let next = files.len() + 1;
        files.entry(span.file).or_insert(next);
    }
    let mut list: Vec<_> = found.iter().collect();
    list.sort_by_key(|finding| finding.span.map(|span| (files[&span.file], span.start)));
    list
}

/// Prints notes on standard error.
pub fn print_notes<T: AsRef<str>>(notes: impl IntoIterator<Item = T>) {
    let word = Style::of_stderr().paint(Tone::Strong, "note:");
    for note in notes {
        error_line(&format!("{word} {}", strip_controls(note.as_ref())));
    }
}

/// Returns why there is no pipeline, with the lines that decided; `sources` are the texts of its files, and
/// `help` names a situation that has a pipeline.
pub fn refusal_text(
    refusal: &Refusal,
    sources: &SourceMap,
    help: Option<&str>,
    style: Style,
) -> String {
    let lead = format!("{} ", style.paint(Tone::Warning, "no pipeline is created:"));
    let problems = refusal.problems.iter().map(|problem| {
        let message = problem.message.strip_prefix("there is no pipeline: ");
        Diagnostic {
            message: message.unwrap_or(&problem.message).to_owned(),
            help: problem.help.clone().or_else(|| help.map(ToOwned::to_owned)),
            ..problem.clone()
        }
    });
    problems_text(&lead, problems, sources, style)
}

/// Returns which jobs cannot run on this machine, each with its place; `help` is what the user can do.
pub fn refused_jobs_text(
    jobs: &[RefusedJob],
    sources: &SourceMap,
    help: &str,
    style: Style,
) -> String {
    let last = jobs.len().min(MOST_PROBLEMS).saturating_sub(1);
    let problems = jobs.iter().enumerate().map(|(at, job)| Diagnostic {
        span: job.span,
        help: (at == last).then(|| help.to_owned()),
        ..Diagnostic::error("not-local", job.to_string())
    });
    problems_text("", problems, sources, style)
}

/// Returns problems, each with a lead and its lines of the file.
fn problems_text(
    lead: &str,
    problems: impl ExactSizeIterator<Item = Diagnostic>,
    sources: &SourceMap,
    style: Style,
) -> String {
    let mut text = String::new();
    let more = problems.len().saturating_sub(MOST_PROBLEMS);
    for problem in problems.take(MOST_PROBLEMS) {
        let words = strip_controls(&problem.message);
        let excerpt = renderer(style).excerpt(&problem, sources);
        let _ = write!(text, "{lead}{words}\n{excerpt}");
    }
    if more > 0 {
        let _ = writeln!(text, "{lead}{}", counted(more, "more problem"));
    }
    text
}

/// Prints on standard error which jobs run although a job they need is skipped.
pub fn print_skipped(plan: &Plan) {
    print_notes(skipped_notes(plan));
}

fn skipped_notes(plan: &Plan) -> Vec<String> {
    let missed = plan
        .skipped()
        .iter()
        .filter(|job| !job.needed_by.is_empty());
    let notes = missed.map(|job| {
        let needed_by: Vec<_> = job.needed_by.iter().map(|name| shown_name(name)).collect();
        let without = if job.leaves_artifacts {
            "runs without its artifacts"
        } else {
            "does not wait for it"
        };
        let name = shown_name(&job.name);
        match needed_by.as_slice() {
            [one] => format!("{name} is skipped: {one} {without}"),
            many if many.len() <= MOST_NAMES => {
                format!("{name} is skipped: each of {} {without}", many.join(", "))
            }
            many => {
                let shown = many[..MOST_NAMES].join(", ");
                let more = counted(many.len() - MOST_NAMES, "other job");
                format!("{name} is skipped: each of {shown} and {more} {without}")
            }
        }
    });
    notes.collect()
}
