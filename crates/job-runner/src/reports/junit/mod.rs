//! Test reports in JUnit's XML, as common tools write it.
//!
//! GitLab accepts any depth of `testsuites` and `testsuite`, with `testcase` elements, which may have a `failure`,
//! `error` or `skipped`. Totals come from the cases alone, because the attributes of suites are often wrong.

mod case;
mod error;
mod reader;

pub use error::JunitError;
pub use reader::read_junit;

#[cfg(test)]
mod tests;
