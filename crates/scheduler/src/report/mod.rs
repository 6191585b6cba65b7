//! The result of a pipeline, and its report files.

mod ending;
mod format;
mod json;
mod junit;
mod pipeline_report;
mod text;
mod xml;

pub use format::ReportFormat;
pub use json::REPORT_VERSION;
pub(crate) use pipeline_report::exit_of;
pub use pipeline_report::{
    ChildReport, CriticalStep, JobReport, PipelineReport, RunExit, SlowerJob, TimeReport,
};

#[cfg(test)]
mod tests;
