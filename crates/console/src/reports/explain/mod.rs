//! Everything about one job, for people: made for 80 columns, whatever the terminal.

mod fields;
mod rules;
mod start;
mod variable_list;
mod variables;

pub use variable_list::{explained_variables, variables, variables_head};

use crate::text::{Style, Tone, columns, shown_name, strip_controls};
use pipeline_insight::explain::{Explanation, Location};
use std::fmt::Write as _;

/// How many columns a line has.
const WIDTH: usize = 80;

/// Returns an explanation as text; predefined variables only where they are asked for.
pub fn explanation(explained: &Explanation, style: Style, with_predefined: bool) -> String {
    let mut text = head(explained, style);
    rules::push(&mut text, explained, style);
    push_needs(&mut text, explained, style);
    fields::push(&mut text, &explained.fields, style);
    variables::push(&mut text, &explained.variables, style, with_predefined);
    text
}

/// Returns the head: whether the job is in the pipeline, why, and when it starts.
fn head(explained: &Explanation, style: Style) -> String {
    let name = style.paint(Tone::Strong, &shown_name(&explained.job));
    let stage = shown_name(&explained.stage);
    let mut text = format!("{name} in stage {stage}, {}\n", place(&explained.place));
    if let Some(parallel) = &explained.parallel {
        let (index, total) = (parallel.index, parallel.total);
        let group = shown_name(&parallel.group);
        let _ = writeln!(text, "  {index} of the {total} copies of `{group}`");
    }
    let reason = strip_controls(&explained.reason);
    let verdict = if explained.is_included {
        style.paint(Tone::Good, "in the pipeline")
    } else {
        style.paint(Tone::Bad, "not in the pipeline")
    };
    push_wrapped(&mut text, &format!("  {verdict}: "), "    ", &reason);
    if explained.is_included {
        push_wrapped(&mut text, "  starts ", "    ", &start::sentence(explained));
    }
    text
}

fn push_needs(text: &mut String, explained: &Explanation, style: Style) {
    let needs = explained.needs.as_deref().unwrap_or_default();
    if needs.is_empty() && explained.dependencies.is_empty() {
        return;
    }
    let words = if needs.is_empty() {
        "artifacts"
    } else {
        "needs"
    };
    heading(text, words, style);
    for need in needs {
        let mut remarks = Vec::new();
        if !need.need.artifacts {
            remarks.push("without artifacts");
        }
        if need.need.optional {
            remarks.push("optional");
        }
        if !need.is_included {
            remarks.push("not in the pipeline");
        }
        let gap = if remarks.is_empty() { "" } else { "  " };
        let name = shown_name(&need.need.job);
        let _ = writeln!(text, "  {name}{gap}{}", remarks.join(", "));
    }
    if !explained.dependencies.is_empty() {
        let names: Vec<_> = explained
            .dependencies
            .iter()
            .map(|name| shown_name(name))
            .collect();
        push_wrapped(text, "  artifacts of: ", "    ", &names.join(", "));
    }
}

fn heading(text: &mut String, words: &str, style: Style) {
    let _ = writeln!(text, "\n{}", style.paint(Tone::Strong, words));
}

/// Returns a place with the key it stands under, as `file:line`.
fn place(place: &Location) -> String {
    strip_controls(&place.to_string())
}

/// Adds words behind `first`, on as many lines as they need; further lines begin with `next`.
fn push_wrapped(text: &mut String, first: &str, next: &str, words: &str) {
    let mut line = first.to_owned();
    let mut is_empty = true;
    for word in words.split_whitespace() {
        let gap = if is_empty { "" } else { " " };
        if !is_empty && columns(&strip_controls(&line)) + 1 + columns(word) > WIDTH {
            let _ = writeln!(text, "{}", line.trim_end());
            line = format!("{next}{word}");
        } else {
            line.push_str(gap);
            line.push_str(word);
        }
        is_empty = false;
    }
    let _ = writeln!(text, "{}", line.trim_end());
}

/// Adds what stands left and where it comes from: on one line when there is room, else on two.
fn push_pair(text: &mut String, left: &str, right: &str, style: Style) {
    let taken = columns(&strip_controls(left));
    let right_width = columns(right);
    let quiet = style.paint(Tone::Quiet, right);
    if taken + 2 + right_width <= WIDTH {
        let gap = " ".repeat(WIDTH - taken - right_width);
        let _ = writeln!(text, "{left}{gap}{quiet}");
    } else {
        let indent = " ".repeat(WIDTH.saturating_sub(right_width).max(6));
        let _ = writeln!(text, "{left}\n{indent}{quiet}");
    }
}
