//! The ratatui style of each tone. Without colours, weight alone distinguishes them.

use crate::text::{Style, Tone};
use ratatui::style::{Color, Modifier, Style as CellStyle};

/// Returns the style of a tone.
pub(super) fn style_of(style: Style, tone: Tone) -> CellStyle {
    let colour = |colour| {
        if style.has_colours() {
            CellStyle::new().fg(colour)
        } else {
            CellStyle::new()
        }
    };
    match tone {
        Tone::Plain | Tone::Job(_) => CellStyle::new(),
        Tone::Good => colour(Color::Green),
        Tone::Bad => colour(Color::Red).add_modifier(Modifier::BOLD),
        Tone::Warning => colour(Color::Yellow),
        Tone::Quiet => CellStyle::new().add_modifier(Modifier::DIM),
        Tone::Strong => CellStyle::new().add_modifier(Modifier::BOLD),
    }
}

/// Returns the style of the selected job, which needs no colours.
pub(super) fn selected(is_focused: bool) -> CellStyle {
    if is_focused {
        CellStyle::new().add_modifier(Modifier::REVERSED)
    } else {
        CellStyle::new().add_modifier(Modifier::UNDERLINED | Modifier::BOLD)
    }
}
