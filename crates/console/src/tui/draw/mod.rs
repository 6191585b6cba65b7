//! The full screen as a picture: a pure function of the model, the size and the time.

mod cells;
mod details;
mod foot;
mod graph;
mod head;
mod help;
mod log;
mod status;

pub(super) use cells::cells;

use super::look;
use super::model::{Focus, Model};
use crate::Tone;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style as Look;
use ratatui::text::{Line, Span};
use std::time::Instant;

/// Draws all of the model into the buffer.
pub(super) fn draw(model: &mut Model, buffer: &mut Buffer, now: Instant) {
    let area = *buffer.area();
    model.lay_out(area.width, area.height);
    let lines = model.log_lines();
    let model = &*model;
    let layout = model.layout;
    head::draw(model, layout.head, buffer, now);
    graph::draw(model, buffer, now);
    log::title(model, &lines, layout.title, buffer, now);
    log::draw(model, &lines, layout.log, buffer);
    details::draw(model, layout.details, buffer, now);
    if let Some(first) = model.help {
        cover(model, "Keys", &help::lines(), first, buffer);
    } else if let Some(first) = model.messages_shown {
        let none = ["nothing was said".to_owned()];
        let messages = if model.messages.is_empty() {
            &none[..]
        } else {
            &model.messages
        };
        cover(model, "Messages", messages, first, buffer);
    }
    foot::draw(model, layout.foot, buffer);
}

/// Draws lines over all but the last row.
fn cover(model: &Model, title: &str, lines: &[String], first: u16, buffer: &mut Buffer) {
    let mut area = *buffer.area();
    area.height -= u16::from(area.height >= 3);
    clear(area, buffer);
    let room = usize::from(area.height.saturating_sub(1));
    let most = lines.len().saturating_sub(room);
    let first = usize::from(first).min(most);
    let title = if most == 0 {
        title.to_owned()
    } else {
        format!("{title}, from line {} of {}", first + 1, lines.len())
    };
    put(
        buffer,
        Rect { height: 1, ..area },
        &Line::styled(title, look::of(model.style, Tone::Strong)),
    );
    for (row, line) in (area.y + 1..area.bottom()).zip(&lines[first..]) {
        let place = Rect {
            y: row,
            height: 1,
            ..area
        };
        put(buffer, place, &Line::raw(line.as_str()));
    }
}

/// Draws one line into the first row of an area, and nothing beyond it.
fn put(buffer: &mut Buffer, area: Rect, line: &Line<'_>) {
    let area = area.intersection(*buffer.area());
    if !area.is_empty() {
        buffer.set_line(area.x, area.y, line, area.width);
    }
}

fn clear(area: Rect, buffer: &mut Buffer) {
    for position in area.intersection(*buffer.area()).positions() {
        if let Some(cell) = buffer.cell_mut(position) {
            cell.reset();
        }
    }
}

/// Returns a row with something at its left and something at its right end, and a rule in between.
fn rule<'t>(
    model: &Model,
    left: Vec<Span<'t>>,
    right: Vec<Span<'t>>,
    width: u16,
    is_focused: bool,
) -> Line<'t> {
    let sign = match (model.style.has_unicode(), is_focused) {
        (true, true) => "━",
        (true, false) => "─",
        (false, true) => "=",
        (false, false) => "-",
    };
    let taken: usize = left.iter().chain(&right).map(Span::width).sum();
    let gap = usize::from(width).saturating_sub(taken + 2);
    let mut spans = vec![Span::styled(sign, quiet(model))];
    spans.extend(left);
    spans.push(Span::styled(sign.repeat(gap), quiet(model)));
    spans.extend(right);
    spans.push(Span::styled(sign, quiet(model)));
    Line::from(spans)
}

fn quiet(model: &Model) -> Look {
    look::of(model.style, Tone::Quiet)
}

/// Returns whether the keys are for this part.
fn is_focused(model: &Model, focus: Focus) -> bool {
    model.focus == focus && model.question.is_none()
}

#[cfg(test)]
mod tests;
