use super::cells::{Cell, cells};
use super::{is_focused, put, quiet};
use crate::full_screen::state::{Focus, ScreenState};
use crate::full_screen::tones;
use crate::text::{Tone, clock, columns, fit, shown_name};
use ratatui::buffer::Buffer;
use ratatui::text::{Line, Span};
use std::time::Instant;

/// Draws the jobs by their stages.
pub(super) fn draw(state: &ScreenState, buffer: &mut Buffer, now: Instant) {
    for cell in cells(state) {
        match cell.job {
            Some(job) => draw_job(state, cell, job, buffer, now),
            None => draw_heading(state, cell, buffer),
        }
    }
    if state.run.jobs().is_empty() {
        let line = Line::styled("no job runs", quiet(state));
        put(buffer, state.layout.graph, &line);
    }
}

fn draw_heading(state: &ScreenState, cell: Cell, buffer: &mut Buffer) {
    let stage_column = &state.run.stages()[cell.stage];
    let jobs = state.run.jobs();
    let ended = stage_column
        .jobs
        .iter()
        .filter(|at| jobs[**at].status.is_final());
    let (ended, all) = (ended.count(), stage_column.jobs.len());
    let count = format!(" {ended}/{all}");
    let room = usize::from(cell.area.width).saturating_sub(count.len() + 1);
    let mut title = fit(&stage_column.title, room, state.style.ellipsis());
    title.truncate(title.trim_end().len());
    let line = Line::from(vec![
        Span::styled(title, tones::style_of(state.style, Tone::Strong)),
        Span::styled(count, quiet(state)),
    ]);
    put(buffer, cell.area, &line);
}

fn draw_job(state: &ScreenState, cell: Cell, at: usize, buffer: &mut Buffer, now: Instant) {
    let style = state.style;
    let job = &state.run.jobs()[at];
    let (sign, tone) = tones::sign(job, style);
    let sign = fit(sign, tones::sign_width(style), "");
    let time = job.elapsed(now).map(clock).unwrap_or_default();
    let width = usize::from(cell.area.width);
    let relation = relation(state, at);
    let taken = columns(relation) + columns(&sign) + 1 + 7;
    // In a narrow cell the name says more than the time.
    let (room, time) = match width.checked_sub(taken + 6) {
        Some(more) => (more + 6, format!("{time:>6} ")),
        None => (width.saturating_sub(taken - 7), String::new()),
    };
    // In a wide one, the time stands not too far from the name.
    let room = room.min(48);
    // The heading says already which job started its pipeline.
    let own_name = shown_name(&job.file_name);
    let name = fit(&own_name, room, style.ellipsis());
    let name_look = if at == state.selected {
        tones::selected(is_focused(state, Focus::Jobs))
    } else if tone == Tone::Quiet {
        quiet(state)
    } else {
        tones::style_of(style, Tone::Plain)
    };
    let line = Line::from(vec![
        Span::styled(relation, quiet(state)),
        Span::styled(sign, tones::style_of(style, tone)),
        Span::raw(" "),
        Span::styled(name, name_look),
        Span::styled(time, quiet(state)),
    ]);
    put(buffer, cell.area, &line);
}

/// Returns the mark of what the selected job needs, and of what needs it.
fn relation(state: &ScreenState, at: usize) -> &'static str {
    let jobs = state.run.jobs();
    let needs = |who: usize, whom: usize| {
        let needs = jobs.get(who).and_then(|job| job.needs.as_ref());
        needs.is_some_and(|needs| needs.contains(&whom))
    };
    let (before, after) = if state.style.has_unicode() {
        ("◂", "▸")
    } else {
        ("<", ">")
    };
    if needs(state.selected, at) {
        before
    } else if needs(at, state.selected) {
        after
    } else {
        " "
    }
}
