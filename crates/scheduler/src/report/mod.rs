//! How a pipeline ended, and files that tell it to others.

mod ending;
mod format;
mod json;
mod junit;
mod pipeline_report;
mod text;
mod time_report;
mod xml;

pub use format::ReportFormat;
pub use json::REPORT_VERSION;
pub(crate) use pipeline_report::exit_of;
pub use pipeline_report::{ChildReport, JobReport, PipelineReport, RunExit};
pub use time_report::{CriticalStep, SlowerJob, TimeReport};

#[cfg(test)]
mod tests;
