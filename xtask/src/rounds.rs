//! The tests of containers once more, over each way to the engine that is not its socket.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use crate::docker::{Daemon, Over, Way};
use crate::run;

/// The variable with the file in which a test that is about the socket alone says so. It is not run then, and listed.
const SKIPPED: &str = "RUNWRIGHT_TEST_SKIPPED";

/// Runs the rounds, each by a command that is told the way.
///
/// # Errors
///
/// Fails with all rounds that failed, after all of them.
pub(crate) fn run(
    daemon: &Daemon,
    target: &Path,
    tests: impl Fn() -> Command,
) -> anyhow::Result<()> {
    let mut failures = Vec::new();
    for over in [Over::Tls, Over::Ssh] {
        let begun = Instant::now();
        let way = match Way::open(daemon, over) {
            Ok(way) => way,
            Err(error) => {
                failures.push(format!("{over}: {error:#}"));
                continue;
            }
        };
        let skipped = target.join(format!("test-skipped-{}", std::process::id()));
        let _ = fs::remove_file(&skipped);
        println!("test: once more, {over}");
        let mut command = tests();
        command.env(SKIPPED, &skipped);
        way.tell(&mut command)?;
        if let Err(error) = run::run(&mut command) {
            failures.push(format!("{over}: {error:#}"));
        }
        let took = begun.elapsed().as_secs();
        for line in listed(&fs::read_to_string(&skipped).unwrap_or_default()) {
            println!("NOT TESTED {over}: {line}");
        }
        let _ = fs::remove_file(&skipped);
        println!("test: {over} it took {took} s");
    }
    if failures.is_empty() {
        return Ok(());
    }
    anyhow::bail!("{}", failures.join("\n"))
}

/// Returns how many tests were skipped, and which, each once.
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
    fn what_was_skipped_is_counted_and_listed_once() {
        assert_eq!(
            listed("b: socket\na: socket\nb: socket\n"),
            ["2 tests", "a: socket", "b: socket"]
        );
        assert!(listed("").is_empty());
    }
}
