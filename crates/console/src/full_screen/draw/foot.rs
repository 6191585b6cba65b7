use super::{put, quiet};
use crate::full_screen::state::{Focus, ScreenState};
use crate::full_screen::tones;
use crate::text::{Tone, columns};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};

/// The keys in the last row, the most useful first.
const FOR_JOBS: [&str; 11] = [
    "? help",
    "q quit",
    "Tab log",
    "r retry",
    "p play",
    "c cancel",
    "s shell",
    "n next failed",
    "/ filter",
    "d details",
    "z zoom",
];

const FOR_LOG: [&str; 10] = [
    "? help",
    "q quit",
    "Tab jobs",
    "/ search",
    "n N hits",
    "G follow",
    "Enter fold",
    "e errors",
    "w wrap",
    "z zoom",
];

/// Draws a question, a line that is typed, what was said last, or else the keys.
pub(super) fn draw(state: &ScreenState, area: Rect, buffer: &mut Buffer) {
    let look = |tone| tones::style_of(state.style, tone);
    let line = if let Some(question) = &state.question {
        Line::styled(
            question.text(),
            look(Tone::Warning).add_modifier(Modifier::BOLD),
        )
    } else if let Some(input) = &state.input {
        let prompt = input.prompt();
        // The end of the typed text is visible.
        let room = usize::from(area.width).saturating_sub(columns(prompt) + 1);
        let mut text = input.text.as_str();
        while columns(text) > room {
            let mut rest = text.chars();
            rest.next();
            text = rest.as_str();
        }
        Line::from(vec![
            Span::styled(prompt, look(Tone::Strong)),
            Span::raw(text),
            Span::styled(" ", look(Tone::Plain).add_modifier(Modifier::REVERSED)),
        ])
    } else if let Some(note) = &state.note {
        Line::styled(note.0.as_str(), look(Tone::Warning))
    } else if state.help.is_some() || state.messages_shown.is_some() {
        Line::styled("any other key cancels", quiet(state))
    } else {
        let keys: &[&str] = match state.focus {
            Focus::Jobs => &FOR_JOBS,
            Focus::Log => &FOR_LOG,
        };
        Line::styled(fitting(keys, usize::from(area.width)), quiet(state))
    };
    put(buffer, area, &line);
}

/// Returns as many of the keys as fit.
fn fitting(keys: &[&str], width: usize) -> String {
    let mut text = String::new();
    for key in keys {
        let gap = if text.is_empty() { "" } else { "  " };
        if columns(&text) + gap.len() + columns(key) > width {
            break;
        }
        text.push_str(gap);
        text.push_str(key);
    }
    text
}
