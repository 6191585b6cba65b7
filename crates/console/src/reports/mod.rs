//! What commands print besides a running pipeline: summaries, tables, explanations, diagnostics.

pub mod artifacts;
mod diagnostics;
pub mod environments;
mod explain;
pub mod history;
pub mod plan;
mod results;
mod sarif;
pub mod stored_log;
mod summary;
pub mod times;

pub use diagnostics::{
    diagnostics_text, in_file_order, print_diagnostics, print_notes, print_skipped, refusal_text,
    refused_jobs_text,
};
pub use explain::{explained_variables, explanation, variables, variables_head};
pub use sarif::sarif;
pub use summary::{SummaryHints, summary};
