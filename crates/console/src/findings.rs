//! What was found in a pipeline file, for people.

use super::style::{Style, Tone};
use pipeline::create::Refusal;
use std::collections::HashMap;
use std::io::{self, Write};
use yaml::diagnostic::{Diagnostic, Diagnostics, Renderer, Severity};

/// Prints errors and warnings on standard error.
pub fn diagnostics(found: &Diagnostics) {
    let text = findings(found, Severity::Warning, Style::of_stderr());
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Returns the findings down to a severity as text, in the order of the files and their lines.
pub fn findings(found: &Diagnostics, least: Severity, style: Style) -> String {
    let renderer = if style.has_colours() {
        Renderer::coloured()
    } else {
        Renderer::plain()
    };
    let shown = in_order(found).into_iter();
    let shown = shown.filter(|finding| finding.severity <= least);
    let texts: Vec<String> = shown
        .map(|finding| renderer.render(finding, found.sources()))
        .collect();
    texts.join("\n")
}

/// Returns the findings by place: files as they come first, findings without a place before them.
pub fn in_order(found: &Diagnostics) -> Vec<&Diagnostic> {
    let mut files = HashMap::new();
    for span in found.iter().filter_map(|finding| finding.span) {
        let next = files.len() + 1;
        files.entry(span.file).or_insert(next);
    }
    let mut list: Vec<_> = found.iter().collect();
    list.sort_by_key(|finding| finding.span.map(|span| (files[&span.file], span.start)));
    list
}

/// Prints what is worth knowing about a pipeline on standard error.
pub fn notes(notes: &[&str]) {
    let word = Style::of_stderr().paint(Tone::Strong, "note:");
    for note in notes {
        super::error_line(&format!("{word} {}", super::strip_controls(note)));
    }
}

/// Returns why there is no pipeline, as the end of a sentence.
pub fn refused(refusal: &Refusal, style: Style) -> String {
    let words = super::strip_controls(&refusal.to_string());
    let words = words
        .strip_prefix("there is no pipeline: ")
        .unwrap_or(&words);
    format!(
        "{} {words}",
        style.paint(Tone::Warning, "no pipeline is created:")
    )
}

/// Prints why there is no pipeline on standard error.
pub fn refusal(refusal: &Refusal) {
    super::error_line(&refused(refusal, Style::of_stderr()));
}
