use super::{is_focused, put, quiet, rule, status};
use crate::clean::shown_name;
use crate::time::clock;
use crate::tui::look;
use crate::tui::model::{Focus, LogLines, Model};
use crate::width::{columns, fit};
use crate::{Tone, counted};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};
use scheduler::Status;
use std::time::Instant;

/// Where less is left for the name of the job, nothing stands beside it.
const NAME: usize = 24;

/// Draws whose log it is, and where one is in it.
pub(super) fn title(
    model: &Model,
    lines: &LogLines,
    area: Rect,
    buffer: &mut Buffer,
    now: Instant,
) {
    let Some(job) = model.job() else {
        put(
            buffer,
            area,
            &rule(model, vec![], vec![], area.width, false),
        );
        return;
    };
    let known = &model.board.jobs()[model.chosen];
    let (sign, tone) = status::sign(known, model.style);
    let mut right = Vec::new();
    if let Some(hits) = lines.hits {
        let search = model.search.as_ref().map_or("", |search| search.title());
        let current = hits
            .current
            .map_or_else(|| "-".to_owned(), |at| at.to_string());
        let more = if hits.goes_on { "+" } else { "" };
        right.push(format!("{search:?} {current}/{}{more}", hits.total));
    }
    let pager = job.pager;
    let (shown, before) = job.log.shown(pager.cursor);
    if shown > 0 {
        right.push(if pager.follows {
            let shown = usize::try_from(shown).unwrap_or(usize::MAX);
            format!("{}, follows", counted(shown, "line"))
        } else {
            format!("line {} of {shown}", before + 1)
        });
        if pager.shift > 0 && !model.wraps {
            right.push(format!("from column {}", pager.shift + 1));
        }
    }
    let mut right = right.join("  ");
    if usize::from(area.width) < columns(&right) + NAME {
        right.clear();
    }
    let room = usize::from(area.width).saturating_sub(columns(&right) + 8);
    let mut words = vec![shown_name(&known.name), outcome(model, now)];
    words.retain(|word| !word.is_empty());
    let mut text = fit(&words.join("  "), room, model.style.ellipsis());
    text.truncate(text.trim_end().len());
    let focused = is_focused(model, Focus::Log);
    let mut name = look::of(model.style, Tone::Strong);
    if focused {
        name = name.add_modifier(Modifier::REVERSED);
    }
    let left = vec![
        Span::raw(" "),
        Span::styled(sign, look::of(model.style, tone)),
        Span::raw(" "),
        Span::styled(text, name),
        Span::raw(" "),
    ];
    let right = if right.is_empty() {
        Vec::new()
    } else {
        vec![Span::styled(format!(" {right} "), quiet(model))]
    };
    put(buffer, area, &rule(model, left, right, area.width, focused));
}

/// Returns how the chosen job stands, in a few words.
fn outcome(model: &Model, now: Instant) -> String {
    let (Some(job), Some(known)) = (model.job(), model.board.jobs().get(model.chosen)) else {
        return String::new();
    };
    match (known.status, &job.outcome) {
        (Status::Running | Status::Canceling, _) => {
            let since = known
                .since
                .map(|since| now.saturating_duration_since(since));
            let step = job.step.as_deref().unwrap_or_default().replace('_', " ");
            format!("{}  {step}", clock(since.unwrap_or_default()))
        }
        (status, Some(outcome)) if status.is_final() => outcome.words(crate::Style::PLAIN),
        (Status::Manual, _) => "p starts it".to_owned(),
        (status, _) if status.is_final() => status.to_string(),
        _ => model.board.reason(known),
    }
}

/// Draws the lines in view.
pub(super) fn draw(model: &Model, lines: &LogLines, area: Rect, buffer: &mut Buffer) {
    let Some(job) = model.job() else {
        return;
    };
    let focused = is_focused(model, Focus::Log) && !job.pager.follows;
    for (y, (number, line)) in (area.y..area.bottom()).zip(&lines.lines) {
        let place = Rect {
            y,
            height: 1,
            ..area
        };
        put(buffer, place, line);
        if focused && *number == job.pager.cursor {
            buffer.set_style(
                place,
                look::of(model.style, Tone::Plain).add_modifier(Modifier::UNDERLINED),
            );
        }
    }
    if lines.lines.is_empty() {
        let known = model.board.jobs().get(model.chosen);
        let text = known.map_or_else(String::new, |known| match known.status {
            Status::Manual => "it waits for you: p starts it, P with variables".to_owned(),
            Status::Running => String::new(),
            status if status.is_final() => format!("{status}, and it wrote nothing"),
            _ => model.board.reason(known),
        });
        put(buffer, area, &Line::styled(text, quiet(model)));
    }
}
