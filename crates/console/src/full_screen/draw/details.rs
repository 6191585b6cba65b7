use super::{put, quiet};
use crate::full_screen::state::ScreenState;
use crate::full_screen::tones;
use crate::reports::times::files;
use crate::text::{Tone, counted, seconds, shown_name, size};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use scheduler::Status;
use std::fmt::Write;
use std::time::Instant;

/// Draws the details of the selected job.
pub(super) fn draw(state: &ScreenState, area: Rect, buffer: &mut Buffer, now: Instant) {
    let bar = if state.style.has_unicode() {
        "│ "
    } else {
        "| "
    };
    let is_beside = area.x > 0;
    let facts = facts(state, now).into_iter();
    // The bar continues below the last of them.
    let facts = facts.chain(std::iter::repeat_with(|| ("", String::new())));
    for (y, (label, text)) in (area.y..area.bottom()).zip(facts) {
        let place = Rect {
            y,
            height: 1,
            ..area
        };
        let line = Line::from(vec![
            Span::styled(if is_beside { bar } else { "" }, quiet(state)),
            Span::styled(format!("{label:<10}"), quiet(state)),
            Span::styled(text, tones::style_of(state.style, Tone::Plain)),
        ]);
        put(buffer, place, &line);
    }
}

/// Returns what there is to say, each with its label.
fn facts(state: &ScreenState, now: Instant) -> Vec<(&'static str, String)> {
    let jobs = state.run.jobs();
    let Some(job) = state.job() else {
        return Vec::new();
    };
    let mut facts = vec![
        ("job", job.name.clone()),
        ("stage", state.run.stages()[job.stage].title.clone()),
        ("status", job.status.to_string()),
    ];
    if let Some(time) = job.elapsed(now) {
        facts.push(("time", seconds(time)));
    }
    if !job.status.is_final() && !job.is_running() && job.status != Status::Manual {
        facts.push(("waits", state.run.wait_reason(job)));
    }
    if job.attempt > 1 {
        facts.push(("attempt", job.attempt.to_string()));
    }
    if let Some(outcome) = &job.outcome {
        if let Some(code) = outcome.exit_code {
            facts.push(("exit code", code.to_string()));
        }
        if let Some(reason) = outcome.reason {
            facts.push(("reason", reason.as_str().to_owned()));
        }
        if outcome.status == Status::Failed && outcome.may_fail {
            facts.push(("allowed", "it may fail".to_owned()));
        }
    }
    if let Some(changed) = &job.changed {
        facts.push(("changed", files(changed)));
    }
    for kept in &job.artifacts {
        let count = usize::try_from(kept.files).unwrap_or(usize::MAX);
        let what = match kept.artifact_type.as_str() {
            "archive" => String::new(),
            report => format!("{}: ", shown_name(report)),
        };
        let text = format!("{what}{}, {}", counted(count, "file"), size(kept.bytes));
        facts.push(("artifacts", text));
    }
    if let Some(coverage) = job.coverage {
        facts.push(("coverage", format!("{coverage} %")));
    }
    let names = |found: Vec<usize>| {
        let names: Vec<&str> = found.iter().map(|at| jobs[*at].name.as_str()).collect();
        names.join(", ")
    };
    match &job.needs {
        Some(needs) if needs.is_empty() => facts.push(("needs", "nothing".to_owned())),
        Some(needs) => facts.push(("needs", names(needs.clone()))),
        None => {}
    }
    let needs_it = |at: &usize| {
        let needs = jobs[*at].needs.as_ref();
        needs.is_some_and(|needs| needs.contains(&state.selected))
    };
    let dependents: Vec<usize> = (0..jobs.len()).filter(needs_it).collect();
    if !dependents.is_empty() {
        facts.push(("needed by", names(dependents)));
    }
    if let Some(tests) = &job.tests {
        let total = usize::try_from(tests.total).unwrap_or(usize::MAX);
        let mut text = counted(total, "test");
        for (count, word) in [
            (tests.failed, "failed"),
            (tests.errors, "broken"),
            (tests.skipped, "skipped"),
        ] {
            if count > 0 {
                let _ = write!(text, ", {count} {word}");
            }
        }
        facts.push(("tests", text));
        for failure in &tests.failures {
            facts.push(("", shown_name(&failure.shown_name())));
        }
    }
    facts
}
