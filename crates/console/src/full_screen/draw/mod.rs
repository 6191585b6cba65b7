//! The full screen as a picture: a pure function of the state, the size and the time.

mod cells;
mod details;
mod foot;
mod graph;
mod head;
mod help;
mod log;

pub(super) use cells::cells;

use super::state::{Focus, ScreenState};
use super::tones;
use crate::text::Tone;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style as Look;
use ratatui::text::{Line, Span};
use std::time::Instant;

/// Draws all of the state into the buffer.
pub(super) fn draw(state: &mut ScreenState, buffer: &mut Buffer, now: Instant) {
    let area = *buffer.area();
    state.lay_out(area.width, area.height);
    let lines = state.log_lines();
    let state = &*state;
    let layout = state.layout;
    head::draw(state, layout.head, buffer, now);
    graph::draw(state, buffer, now);
    log::title(state, &lines, layout.title, buffer, now);
    log::draw(state, &lines, layout.log, buffer);
    details::draw(state, layout.details, buffer, now);
    if let Some(first) = state.help {
        cover(state, "Keys", &help::lines(), first, buffer);
    } else if let Some(first) = state.messages_shown {
        let none = ["nothing was said".to_owned()];
        let messages = if state.messages.is_empty() {
            &none[..]
        } else {
            &state.messages
        };
        cover(state, "Messages", messages, first, buffer);
    }
    foot::draw(state, layout.foot, buffer);
}

/// Draws lines over all but the last row.
fn cover(state: &ScreenState, title: &str, lines: &[String], first: u16, buffer: &mut Buffer) {
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
        &Line::styled(title, tones::style_of(state.style, Tone::Strong)),
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
    state: &ScreenState,
    left: Vec<Span<'t>>,
    right: Vec<Span<'t>>,
    width: u16,
    is_focused: bool,
) -> Line<'t> {
    let sign = match (state.style.has_unicode(), is_focused) {
        (true, true) => "━",
        (true, false) => "─",
        (false, true) => "=",
        (false, false) => "-",
    };
    let taken: usize = left.iter().chain(&right).map(Span::width).sum();
    let gap = usize::from(width).saturating_sub(taken + 2);
    let mut spans = vec![Span::styled(sign, quiet(state))];
    spans.extend(left);
    spans.push(Span::styled(sign.repeat(gap), quiet(state)));
    spans.extend(right);
    spans.push(Span::styled(sign, quiet(state)));
    Line::from(spans)
}

fn quiet(state: &ScreenState) -> Look {
    tones::style_of(state.style, Tone::Quiet)
}

/// Returns whether the keys are for this part.
fn is_focused(state: &ScreenState, focus: Focus) -> bool {
    state.focus == focus && state.question.is_none()
}

#[cfg(test)]
mod tests;
