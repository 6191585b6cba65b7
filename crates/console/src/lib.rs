//! Shows a running pipeline on a terminal, and prints what the commands of `cli` report.
//!
//! Besides the examples, this is the only place of the project that prints.
//!
//! # Rooms
//!
//! | module | content |
//! |---|---|
//! | `model` | the state of a running pipeline, changed by its events alone |
//! | `log` | a job's log between its events and a view |
//! | `lines` | the view as lines: [`Console`], with a live region at the bottom |
//! | [`full_screen`] | the view on the full screen |
//! | [`reports`] | what commands print: summaries, tables, explanations |
//! | [`terminal`] | the terminal while a shell or a question has it, and its signals |
//! | `text` | cleaning, width, colours, units |
//!
//! # One model, two views
//!
//! ```text
//! PipelineEvent -> RunModel::apply -> Change -> Console: text, and the live region below it
//!                                          \\-> FullScreen: a picture
//! ```
//!
//! Each view owns a `RunModel` and hands it every event; the model returns what changed. The logs of
//! jobs are not in the model, because the views keep them in different forms: lines that wait for the
//! end of their job, or rows to scroll and search.
//!
//! # Lines
//!
//! ```text
//! JobLog pieces -> LineJoiner: whole lines -> Entry -> Fold: the lines worth showing -> Printer: clean text
//!                                               \\-> Spill, until the job ends (group, live)
//! ```
//!
//! [`Layout::Prefix`] prints a job's log as it comes, each line behind the name of its job. In
//! [`Layout::Group`] and [`Layout::Live`] a log waits for the end of its job in a `Spill`, which keeps
//! little in memory and the rest in an unnamed file. `Live` shows the logs of failed jobs only; the log
//! of a pipeline's only job is printed as it comes.
//!
//! [`SharedWriter`] takes text at once, and a thread of its own writes it. For `Live`, that thread
//! draws a footer below the text: `region` computes its lines, `Screen` the bytes. A frame is one write
//! that starts where the footer started: new text, then the footer again. There are at most ten frames
//! a second, one a second when nothing happens, and none per line.
//!
//! The terminal stays as it was: no raw mode, no hidden cursor, no alternate screen, so nothing has to
//! be restored however the program ends. Footer lines end before the last column. Of a job's control
//! sequences only colours pass, and they end with their line.

#[cfg(feature = "full-screen")]
pub mod full_screen;
mod lines;
mod log;
mod model;
mod progress;
pub mod reports;
mod streams;
#[cfg(feature = "full-screen")]
pub mod terminal;
mod text;

pub use lines::{Console, JsonLines, SharedWriter};
pub use model::CHILD_SEPARATOR;
pub use progress::{Layout, ProgressConflict, ProgressMode, ProgressView, Tee, View};
pub use reports::{
    SummaryHints, diagnostics_text, explained_variables, explanation, in_file_order,
    print_diagnostics, print_notes, print_skipped, refusal_text, refused_jobs_text, sarif, summary,
    variables, variables_head,
};
pub use streams::{
    ErrorStream, ErrorView, clear_screen, error_line, print, show_errors_directly, show_errors_on,
};
pub use text::{
    Mark, OutputFeatures, Row, Style, Tone, age, announcement, columns, counted, fit, grid,
    is_direction, is_variable_name, shell_argument, shell_quoted, shown_name, size, strip_controls,
};
