//! Test reports in JUnit's XML, as the usual tools write it.
//!
//! The shape is what GitLab takes: any depth of `testsuites` and `testsuite`, in them `testcase`,
//! which failed with a `failure`, broke down with an `error`, or was not run with `skipped`.
//! Totals come from the cases alone: the numbers in a suite's attributes are often wrong.

mod case;
mod error;
mod reader;

pub use error::JunitError;
pub use reader::read_junit;

#[cfg(test)]
mod tests;
