//! Every check, in the order of its price, each with the time it took.

use std::time::{Duration, Instant};

use anyhow::Context;

use crate::workspace::Workspace;
use crate::{acceptance, book, deny, run, test, tidy};

/// A check with its name.
type Step = (&'static str, fn(&Workspace) -> anyhow::Result<()>);

const STEPS: &[Step] = &[
    ("lock file", lock_file),
    ("format", format),
    ("tidy", tidy::run),
    ("acceptance", |workspace| {
        acceptance::run(workspace, &acceptance::Options::default())
    }),
    ("clippy", clippy),
    ("alone", alone),
    ("test", |workspace| test::run(workspace, &[])),
    ("docs", docs),
    ("book", book::run),
    ("deny", deny::run),
];

/// Runs every check and stops at the first that fails.
///
/// # Errors
///
/// Fails with the name of the check that failed.
pub(crate) fn run(workspace: &Workspace) -> anyhow::Result<()> {
    run_steps(workspace, STEPS)
}

fn run_steps(workspace: &Workspace, steps: &[Step]) -> anyhow::Result<()> {
    let mut times = Vec::new();
    for (index, (name, check)) in steps.iter().enumerate() {
        println!("ci: [{}/{}] {name} ...", index + 1, steps.len());
        let started = Instant::now();
        let outcome = check(workspace);
        let taken = started.elapsed();
        let word = if outcome.is_ok() { "passed" } else { "FAILED" };
        println!(
            "ci: [{}/{}] {name} {word} in {}",
            index + 1,
            steps.len(),
            shown(taken)
        );
        outcome.with_context(|| format!("ci stopped at step `{name}`"))?;
        times.push(format!("{name} {}", shown(taken)));
    }
    println!(
        "ci: all {} steps passed ({})",
        steps.len(),
        times.join(", ")
    );
    Ok(())
}

fn shown(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

/// The lock file fits the manifests. It comes first because every later cargo would mend it silently.
fn lock_file(_workspace: &Workspace) -> anyhow::Result<()> {
    run::run(run::cargo().args(["fetch", "--locked"]))
}

fn format(_workspace: &Workspace) -> anyhow::Result<()> {
    run::run(run::cargo().args(["fmt", "--all", "--check"]))
        .context("run `cargo fmt --all` (is it missing? `rustup component add rustfmt`)")
}

fn clippy(_workspace: &Workspace) -> anyhow::Result<()> {
    // The other build is that of the tests which fail each step.
    for scope in [
        &["--workspace"][..],
        &[
            "--package",
            "includes",
            "--package",
            "cli",
            "--features",
            "includes/fail-points,cli/fail-points",
        ],
    ] {
        let mut command = run::cargo();
        command.arg("clippy").args(scope);
        run::run(command.args(["--all-targets", "--", "-D", "warnings"]))
            .context("see above (is it missing? `rustup component add clippy`)")?;
    }
    Ok(())
}

/// Every crate builds by itself. In a build of the workspace a crate may live on a feature of a dependency that only
/// its neighbour asked for, and who embeds the crate alone finds out.
fn alone(workspace: &Workspace) -> anyhow::Result<()> {
    for package in &workspace.packages {
        run::run(run::cargo().args(["check", "--quiet", "--package", &package.name]))
            .with_context(|| {
                format!(
                    "crate {} does not build without its neighbours",
                    package.name
                )
            })?;
    }
    Ok(())
}

fn docs(_workspace: &Workspace) -> anyhow::Result<()> {
    run::run(
        run::cargo()
            .args(["doc", "--workspace", "--no-deps"])
            .env("RUSTDOCFLAGS", "-D warnings"),
    )
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use anyhow::bail;

    use super::*;

    fn workspace() -> Workspace {
        Workspace {
            root: PathBuf::new(),
            target_directory: PathBuf::new(),
            packages: Vec::new(),
        }
    }

    #[test]
    fn the_first_failure_stops_the_run_and_is_named() {
        static LATER: AtomicUsize = AtomicUsize::new(0);
        let steps: [Step; 3] = [
            ("good", |_| Ok(())),
            ("bad", |_| bail!("reason")),
            ("later", |_| {
                LATER.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }),
        ];
        let error = run_steps(&workspace(), &steps).unwrap_err();
        assert_eq!(format!("{error:#}"), "ci stopped at step `bad`: reason");
        assert_eq!(LATER.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn all_steps_run_when_none_fails() {
        static CALLS: AtomicUsize = AtomicUsize::new(0);
        let step: Step = ("good", |_| {
            CALLS.fetch_add(1, Ordering::Relaxed);
            Ok(())
        });
        run_steps(&workspace(), &[step, step]).unwrap();
        assert_eq!(CALLS.load(Ordering::Relaxed), 2);
    }
}
