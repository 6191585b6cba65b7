//! How tones look on the full screen. Without colours, weight alone tells them apart.

use crate::{Style, Tone};
use ratatui::style::{Color, Modifier, Style as Look};

/// Returns the look of a tone.
pub(super) fn of(style: Style, tone: Tone) -> Look {
    let colour = |colour| {
        if style.has_colours() {
            Look::new().fg(colour)
        } else {
            Look::new()
        }
    };
    match tone {
        Tone::Plain | Tone::Job(_) => Look::new(),
        Tone::Good => colour(Color::Green),
        Tone::Bad => colour(Color::Red).add_modifier(Modifier::BOLD),
        Tone::Warning => colour(Color::Yellow),
        Tone::Quiet => Look::new().add_modifier(Modifier::DIM),
        Tone::Strong => Look::new().add_modifier(Modifier::BOLD),
    }
}

/// Returns the look of what is chosen; it works without colours too.
pub(super) fn chosen(is_focused: bool) -> Look {
    if is_focused {
        Look::new().add_modifier(Modifier::REVERSED)
    } else {
        Look::new().add_modifier(Modifier::UNDERLINED | Modifier::BOLD)
    }
}
