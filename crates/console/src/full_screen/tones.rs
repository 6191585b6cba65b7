//! The ratatui style of each tone, and the sign and tone of each status. Without colours, weight alone distinguishes tones.

use crate::model::JobState;
use crate::text::{Mark, Style, Tone};
use ratatui::style::{Color, Modifier, Style as CellStyle};
use scheduler::Status;

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

/// Returns the sign for where a job stands, and its tone. Each sign is another one, so no colour is
/// needed to tell them apart.
pub(super) fn sign(job: &JobState, style: Style) -> (&'static str, Tone) {
    let other = |sign, word| if style.has_unicode() { sign } else { word };
    match job.status {
        Status::Success => (style.mark(Mark::Success), Tone::Good),
        Status::Failed if job.may_fail => (style.mark(Mark::Allowed), Tone::Warning),
        Status::Failed => (style.mark(Mark::Failure), Tone::Bad),
        Status::Canceled => (style.mark(Mark::Canceled), Tone::Warning),
        Status::Manual => (style.mark(Mark::Manual), Tone::Strong),
        Status::Running => (other("•", "run"), Tone::Good),
        Status::Canceling => (other("◌", "end"), Tone::Warning),
        Status::Skipped => (other("-", "skip"), Tone::Quiet),
        Status::Pending | Status::WaitingForResource | Status::Scheduled => {
            (other("·", ".."), Tone::Quiet)
        }
        Status::Created => (" ", Tone::Quiet),
    }
}

/// Returns how many columns signs take.
pub(super) fn sign_width(style: Style) -> usize {
    if style.has_unicode() { 1 } else { 4 }
}
