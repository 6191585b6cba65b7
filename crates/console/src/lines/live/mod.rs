//! The live region: a few lines below the text, for the jobs that run and wait.
//!
//! ratatui's inline viewport does not fit here. It asks the terminal for the position of the cursor and
//! reads the answer from standard input, which jobs and the user's typing share. Its height is fixed
//! when it is created, while this region has as many lines as jobs run. Text above it passes through a
//! buffer of cells, which breaks long lines, so a line copied from the scrollback would have hard line
//! breaks, and colours would be parsed and written anew for each byte of a log. Terminals that became
//! narrower have wrapped the old region into more rows; `Screen` counts those and wipes them.

mod footer;
mod region;
mod screen;

pub(super) use footer::LiveFooter;
pub(super) use region::WIDEST_NAME;
