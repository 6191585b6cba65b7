use super::{put, quiet};
use crate::full_screen::state::ScreenState;
use crate::full_screen::tones;
use crate::text::{Tone, clock, left, strip_controls};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use scheduler::Status;
use std::time::Instant;

/// Draws which pipeline it is, where it stands, and how long it runs.
pub(super) fn draw(state: &ScreenState, area: Rect, buffer: &mut Buffer, now: Instant) {
    let look = |tone| tones::style_of(state.style, tone);
    let head = &state.head;
    let mut spans = Vec::new();
    if let Some(pipeline) = state.run.first_pipeline() {
        spans.push(Span::styled(
            format!("pipeline {pipeline}"),
            look(Tone::Strong),
        ));
    }
    let place = [&head.reference, &head.source];
    for word in place.into_iter().filter(|word| !word.is_empty()) {
        spans.push(Span::raw(format!("  {}", strip_controls(word))));
    }
    let (status, tone) = status(state);
    spans.push(Span::raw("  "));
    spans.push(Span::styled(status, look(tone)));
    let elapsed = state.run.elapsed(now);
    spans.push(Span::raw(format!("  {}", clock(elapsed))));
    if let Some(outlook) = state.run.outlook()
        && !state.run.is_settled()
    {
        spans.push(Span::styled(format!(", {}", left(outlook)), quiet(state)));
    }
    let counts = state.run.counts();
    let mut between = "   ";
    for (count, word, tone) in [
        (counts.failed, "failed", Tone::Bad),
        (counts.running, "running", Tone::Good),
        (counts.done, "done", Tone::Plain),
        (counts.skipped, "skipped", Tone::Quiet),
        (counts.waiting, "waiting", Tone::Quiet),
        (counts.manual, "manual", Tone::Quiet),
    ] {
        if count > 0 {
            spans.push(Span::raw(between));
            spans.push(Span::styled(format!("{count} {word}"), look(tone)));
            between = ", ";
        }
    }
    put(buffer, area, &Line::from(spans));
}

/// Returns the word for where the pipeline stands.
fn status(state: &ScreenState) -> (&'static str, Tone) {
    if let Some(end) = state.run.end() {
        return match end {
            Status::Success => ("success", Tone::Good),
            Status::Failed => ("failed", Tone::Bad),
            status => (status.as_str(), Tone::Warning),
        };
    }
    let counts = state.run.counts();
    if state.is_stopping && !state.run.is_settled() {
        ("canceling", Tone::Warning)
    } else if !state.run.is_settled() {
        ("running", Tone::Good)
    } else if counts.failed > 0 {
        ("failed", Tone::Bad)
    } else if counts.manual > 0 {
        ("waits for you", Tone::Warning)
    } else if jobs_were_canceled(state) {
        ("canceled", Tone::Warning)
    } else {
        ("success", Tone::Good)
    }
}

fn jobs_were_canceled(state: &ScreenState) -> bool {
    let mut jobs = state.run.jobs().iter();
    jobs.any(|job| job.status == Status::Canceled)
}
