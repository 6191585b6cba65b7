use std::fs::File;
use std::io::{self, Write};

/// The environment variable with the file that collects skipped tests; `cargo xtask test` sets it.
const VARIABLE: &str = "RUNWRIGHT_TEST_SKIPPED";

/// Reports that a test cannot run on this machine; the test then returns.
///
/// `what` names the test or its subject. `cargo xtask test` counts these lines and prints them at its end.
/// Otherwise the line goes directly to standard error, because captured output of a passing test is hidden.
///
/// # Panics
///
/// When the line cannot be written: a skipped test must not pass silently.
pub fn not_tested(what: &str, reason: &str) {
    let line = format!("{what}: {reason}\n");
    let written = match std::env::var_os(VARIABLE) {
        Some(path) => append(&path, &line),
        None => io::stderr().write_all(format!("NOT TESTED: {line}").as_bytes()),
    };
    written.expect("a skipped test must be reported");
}

/// Appends a line in one write, so that lines of several test programs do not mix.
fn append(path: &std::ffi::OsStr, line: &str) -> io::Result<()> {
    let mut file = File::options().append(true).create(true).open(path)?;
    file.write_all(line.as_bytes())
}
