//! The tests that could not run on this machine, as they report it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The variable with the file to which each skipped test adds a line: see `executor_testkit::not_tested`.
const VARIABLE: &str = "RUNWRIGHT_TEST_SKIPPED";

/// Collects the skipped tests of one round until it is dropped.
#[derive(Debug)]
pub(crate) struct Skipped {
    file: PathBuf,
}

impl Skipped {
    /// Starts an empty list.
    pub(crate) fn new(target: &Path) -> Self {
        let file = target.join(format!("test-skipped-{}", std::process::id()));
        let _ = fs::remove_file(&file);
        Self { file }
    }

    /// Makes the tests that a command runs report to this list.
    pub(crate) fn collect(&self, command: &mut Command) {
        command.env(VARIABLE, &self.file);
    }

    /// Prints how many tests were skipped, and each distinct one.
    pub(crate) fn print(&self, round: &str) {
        for line in listed(&fs::read_to_string(&self.file).unwrap_or_default()) {
            println!("NOT TESTED {round}: {line}");
        }
    }
}

impl Drop for Skipped {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.file);
    }
}

/// Returns the number of lines and the distinct lines.
fn listed(text: &str) -> Vec<String> {
    let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
    lines.sort();
    lines.dedup();
    if !lines.is_empty() {
        lines.insert(0, format!("{} tests", lines.len()));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skipped_tests_are_counted_and_listed_once() {
        assert_eq!(
            listed("b: socket\na: socket\nb: socket\n"),
            ["2 tests", "a: socket", "b: socket"]
        );
        assert!(listed("").is_empty());
    }
}
