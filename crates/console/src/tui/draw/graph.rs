use super::cells::{Cell, cells};
use super::{is_focused, put, quiet, status};
use crate::Tone;
use crate::clean::shown_name;
use crate::time::clock;
use crate::tui::look;
use crate::tui::model::{Focus, Model};
use crate::width::{columns, fit};
use ratatui::buffer::Buffer;
use ratatui::text::{Line, Span};
use std::time::Instant;

/// Draws the jobs by their stages.
pub(super) fn draw(model: &Model, buffer: &mut Buffer, now: Instant) {
    for cell in cells(model) {
        match cell.job {
            Some(job) => draw_job(model, cell, job, buffer, now),
            None => draw_heading(model, cell, buffer),
        }
    }
    if model.jobs.is_empty() {
        let line = Line::styled("no job runs", quiet(model));
        put(buffer, model.layout.graph, &line);
    }
}

fn draw_heading(model: &Model, cell: Cell, buffer: &mut Buffer) {
    let stage = &model.stages[cell.stage];
    let jobs = model.board.jobs();
    let ended = stage.jobs.iter().filter(|at| jobs[**at].status.is_final());
    let (ended, all) = (ended.count(), stage.jobs.len());
    let count = format!(" {ended}/{all}");
    let room = usize::from(cell.area.width).saturating_sub(count.len() + 1);
    let mut title = fit(&stage.title, room, model.style.ellipsis());
    title.truncate(title.trim_end().len());
    let line = Line::from(vec![
        Span::styled(title, look::of(model.style, Tone::Strong)),
        Span::styled(count, quiet(model)),
    ]);
    put(buffer, cell.area, &line);
}

fn draw_job(model: &Model, cell: Cell, at: usize, buffer: &mut Buffer, now: Instant) {
    let style = model.style;
    let job = &model.board.jobs()[at];
    let (sign, tone) = status::sign(job, style);
    let sign = fit(sign, status::width(style), "");
    let is_running = matches!(
        job.status,
        scheduler::Status::Running | scheduler::Status::Canceling
    );
    let since = job.since.filter(|_| is_running);
    let time = model.jobs[at].time(since, now).map(clock);
    let time = time.unwrap_or_default();
    let width = usize::from(cell.area.width);
    let relation = relation(model, at);
    let taken = columns(relation) + columns(&sign) + 1 + 7;
    // In a narrow cell the name says more than the time.
    let (room, time) = match width.checked_sub(taken + 6) {
        Some(more) => (more + 6, format!("{time:>6} ")),
        None => (width.saturating_sub(taken - 7), String::new()),
    };
    // In a wide one, the time stands not too far from the name.
    let room = room.min(48);
    // The heading says already which job started its pipeline.
    let own_name = shown_name(&model.jobs[at].own_name);
    let name = fit(&own_name, room, style.ellipsis());
    let name_look = if at == model.chosen {
        look::chosen(is_focused(model, Focus::Jobs))
    } else if tone == Tone::Quiet {
        quiet(model)
    } else {
        look::of(style, Tone::Plain)
    };
    let line = Line::from(vec![
        Span::styled(relation, quiet(model)),
        Span::styled(sign, look::of(style, tone)),
        Span::raw(" "),
        Span::styled(name, name_look),
        Span::styled(time, quiet(model)),
    ]);
    put(buffer, cell.area, &line);
}

/// Returns the mark of what the chosen job needs, and of what needs it.
fn relation(model: &Model, at: usize) -> &'static str {
    let jobs = model.board.jobs();
    let needs = |who: usize, whom: usize| {
        let needs = jobs.get(who).and_then(|job| job.needs.as_ref());
        needs.is_some_and(|needs| needs.contains(&whom))
    };
    let (before, after) = if model.style.has_unicode() {
        ("◂", "▸")
    } else {
        ("<", ">")
    };
    if needs(model.chosen, at) {
        before
    } else if needs(at, model.chosen) {
        after
    } else {
        " "
    }
}
