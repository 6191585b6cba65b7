//! Repeats the transport tests of the engine over each transport except its socket.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use crate::docker::{Daemon, Over, Way};
use crate::run;
use crate::skipped::Skipped;

/// Runs the rounds, each with a command set up for its transport.
///
/// # Errors
///
/// Fails with all failed rounds, after running every round.
pub(crate) fn run(
    daemon: &Daemon,
    ways: &[Over],
    target: &Path,
    tests: impl Fn() -> Command,
) -> anyhow::Result<()> {
    let mut failures = Vec::new();
    for over in ways.iter().copied() {
        let started = Instant::now();
        let way = match Way::open(daemon, over) {
            Ok(way) => way,
            Err(error) => {
                failures.push(format!("{over}: {error:#}"));
                continue;
            }
        };
        let skipped = Skipped::new(target);
        println!("test: the tests of transport once more, {over}");
        let mut command = tests();
        skipped.collect(&mut command);
        way.tell(&mut command)?;
        if let Err(error) = run::run(&mut command) {
            failures.push(format!("{over}: {error:#}"));
        }
        skipped.print(&over.to_string());
        println!("test: {over} it took {}s", started.elapsed().as_secs());
    }
    if failures.is_empty() {
        return Ok(());
    }
    anyhow::bail!("{}", failures.join("\n"))
}
