//! The output of jobs, on its way to events and reports.

mod coverage;
mod log_observer;

pub(crate) use coverage::without_colours;
pub(crate) use log_observer::LogObserver;
