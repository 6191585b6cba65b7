use super::{put, quiet};
use crate::time::clock;
use crate::times::left;
use crate::tui::look;
use crate::tui::model::Model;
use crate::{Tone, strip_controls};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use scheduler::Status;
use std::time::Instant;

/// Draws which pipeline it is, where it stands, and how long it runs.
pub(super) fn draw(model: &Model, area: Rect, buffer: &mut Buffer, now: Instant) {
    let look = |tone| look::of(model.style, tone);
    let head = &model.head;
    let mut spans = Vec::new();
    if let Some(pipeline) = head.pipeline {
        spans.push(Span::styled(
            format!("pipeline {pipeline}"),
            look(Tone::Strong),
        ));
    }
    let place = [&head.reference, &head.source];
    for word in place.into_iter().filter(|word| !word.is_empty()) {
        spans.push(Span::raw(format!("  {}", strip_controls(word))));
    }
    let (status, tone) = status(model);
    spans.push(Span::raw("  "));
    spans.push(Span::styled(status, look(tone)));
    let elapsed = model.elapsed(now);
    spans.push(Span::raw(format!("  {}", clock(elapsed))));
    if let Some(outlook) = model.board.outlook()
        && !model.is_settled()
    {
        spans.push(Span::styled(format!(", {}", left(outlook)), quiet(model)));
    }
    let counts = model.counts();
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
fn status(model: &Model) -> (&'static str, Tone) {
    if let Some(end) = model.end {
        return match end.status {
            Status::Success => ("success", Tone::Good),
            Status::Failed => ("failed", Tone::Bad),
            status => (status.as_str(), Tone::Warning),
        };
    }
    let counts = model.counts();
    if model.is_stopping && !model.is_settled() {
        ("canceling", Tone::Warning)
    } else if !model.is_settled() {
        ("running", Tone::Good)
    } else if counts.failed > 0 {
        ("failed", Tone::Bad)
    } else if counts.manual > 0 {
        ("waits for you", Tone::Warning)
    } else if model.jobs_were_canceled() {
        ("canceled", Tone::Warning)
    } else {
        ("success", Tone::Good)
    }
}
