use super::{is_focused, put, quiet, rule};
use crate::full_screen::state::{Focus, LogLines, ScreenState};
use crate::full_screen::tones;
use crate::model::JobState;
use crate::text::{Tone, clock, columns, counted, fit};
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
    state: &ScreenState,
    lines: &LogLines,
    area: Rect,
    buffer: &mut Buffer,
    now: Instant,
) {
    let (Some(job), Some(view)) = (state.job(), state.view()) else {
        put(
            buffer,
            area,
            &rule(state, vec![], vec![], area.width, false),
        );
        return;
    };
    let (sign, tone) = tones::sign(job, state.style);
    let mut right = Vec::new();
    if let Some(hits) = lines.hits {
        let search = state.search.as_ref().map_or("", |search| search.title());
        let current = hits
            .current
            .map_or_else(|| "-".to_owned(), |at| at.to_string());
        let more = if hits.is_running { "+" } else { "" };
        right.push(format!("{search:?} {current}/{}{more}", hits.total));
    }
    let pager = view.pager;
    let (shown, before) = view.log.shown(pager.cursor);
    if shown > 0 {
        right.push(if pager.follows {
            let shown = usize::try_from(shown).unwrap_or(usize::MAX);
            format!("{}, follows", counted(shown, "line"))
        } else {
            format!("line {} of {shown}", before + 1)
        });
        if pager.shift > 0 && !state.wraps {
            right.push(format!("from column {}", pager.shift + 1));
        }
    }
    let mut right = right.join("  ");
    if usize::from(area.width) < columns(&right) + NAME {
        right.clear();
    }
    let room = usize::from(area.width).saturating_sub(columns(&right) + 8);
    let mut words = vec![job.name.clone(), outcome(state, job, now)];
    words.retain(|word| !word.is_empty());
    let mut text = fit(&words.join("  "), room, state.style.ellipsis());
    text.truncate(text.trim_end().len());
    let focused = is_focused(state, Focus::Log);
    let mut name = tones::style_of(state.style, Tone::Strong);
    if focused {
        name = name.add_modifier(Modifier::REVERSED);
    }
    let left = vec![
        Span::raw(" "),
        Span::styled(sign, tones::style_of(state.style, tone)),
        Span::raw(" "),
        Span::styled(text, name),
        Span::raw(" "),
    ];
    let right = if right.is_empty() {
        Vec::new()
    } else {
        vec![Span::styled(format!(" {right} "), quiet(state))]
    };
    put(buffer, area, &rule(state, left, right, area.width, focused));
}

/// Returns the state of a job in a few words.
fn outcome(state: &ScreenState, job: &JobState, now: Instant) -> String {
    match (job.status, &job.outcome) {
        (Status::Running | Status::Canceling, _) => {
            let time = clock(job.elapsed(now).unwrap_or_default());
            let activity = job.runner_stage.as_deref().unwrap_or_default();
            format!("{time}  {}", activity.replace('_', " "))
        }
        (status, Some(outcome)) if status.is_final() => outcome.words(crate::text::Style::PLAIN),
        (Status::Manual, _) => "p starts it".to_owned(),
        (status, _) if status.is_final() => status.to_string(),
        _ => state.run.wait_reason(job),
    }
}

/// Draws the lines in view.
pub(super) fn draw(state: &ScreenState, lines: &LogLines, area: Rect, buffer: &mut Buffer) {
    let (Some(job), Some(view)) = (state.job(), state.view()) else {
        return;
    };
    let focused = is_focused(state, Focus::Log) && !view.pager.follows;
    for (y, (number, line)) in (area.y..area.bottom()).zip(&lines.lines) {
        let place = Rect {
            y,
            height: 1,
            ..area
        };
        put(buffer, place, line);
        if focused && *number == view.pager.cursor {
            buffer.set_style(
                place,
                tones::style_of(state.style, Tone::Plain).add_modifier(Modifier::UNDERLINED),
            );
        }
    }
    if lines.lines.is_empty() {
        let text = match job.status {
            Status::Manual => "a manual job: p starts it, P with variables".to_owned(),
            Status::Running => String::new(),
            status if status.is_final() => format!("{status}, without output"),
            _ => state.run.wait_reason(job),
        };
        put(buffer, area, &Line::styled(text, quiet(state)));
    }
}
