use crate::model::JobState;
use crate::text::{Mark, Style, Tone};
use scheduler::Status;

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
pub(super) fn width(style: Style) -> usize {
    if style.has_unicode() { 1 } else { 4 }
}
