//! Every check, cheapest first, each with its duration.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use crate::tool::Tool;
use crate::workspace::{Package, Workspace};
use crate::{acceptance, book, commits, run, test, tidy};

/// A check with its name.
type Step = (&'static str, fn(&Workspace) -> anyhow::Result<()>);

const STEPS: &[Step] = &[
    ("lock file", lock_file),
    ("format", format),
    ("tidy", tidy::run),
    ("acceptance", |workspace| {
        acceptance::run(workspace, &acceptance::Options::default())
    }),
    ("package", package),
    ("clippy", clippy),
    ("alone", alone),
    ("test", |workspace| {
        test::run_sample(workspace, &[], commits::head(workspace).as_deref())
    }),
    ("docs", docs),
    ("book", book::run),
    ("deny", deny),
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
    format!("{:.1}s", time.as_secs_f64())
}

/// Checks that the lock file matches the manifests. It runs first because every later cargo would update it silently.
fn lock_file(_workspace: &Workspace) -> anyhow::Result<()> {
    run::run(run::cargo().args(["fetch", "--locked"]))
}

fn format(_workspace: &Workspace) -> anyhow::Result<()> {
    run::run(run::cargo().args(["fmt", "--all", "--check"]))
        .context("run `cargo fmt --all` (is it missing? `rustup component add rustfmt`)")
}

fn clippy(_workspace: &Workspace) -> anyhow::Result<()> {
    run::run(run::cargo().args([
        "clippy",
        "--workspace",
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ]))
    .context("see above (is it missing? `rustup component add clippy`)")
}

/// Checks that crates build by themselves. In a workspace build a crate may rely on a dependency's feature that only
/// another crate enables; a program that embeds the crate alone does not compile.
///
/// Checking each takes minutes, because each has its own features. So this covers of the published crates those that users depend on,
/// those whose manifest changed recently, and a quarter of the others that varies by commit.
fn alone(workspace: &Workspace) -> anyhow::Result<()> {
    let changed = commits::changed_manifests(workspace);
    let commit = commits::head(workspace);
    let is_chosen = |name: &str| {
        ENTRY_POINTS.contains(&name)
            || changed
                .as_ref()
                .is_none_or(|changed| changed.iter().any(|folder| folder == name))
            || commit
                .as_ref()
                .is_none_or(|commit| is_of_quarter(name, commit))
    };
    let published = |package: &&Package| package.publish.as_ref().is_none_or(|it| !it.is_empty());
    for package in workspace
        .packages
        .iter()
        .filter(published)
        .filter(|package| is_chosen(package.folder_name()))
    {
        println!("ci: {} alone", package.folder_name());
        run::run(run::cargo().args(["check", "--quiet", "--package", &package.name]))
            .with_context(|| {
                format!(
                    "crate {} does not build without its neighbours",
                    package.name
                )
            })?;
    }
    // What a build of the workspace never has: the features that are off by default.
    run::run(run::cargo().args([
        "test",
        "--quiet",
        "--package",
        "runwright",
        "--test",
        "default_features",
    ]))?;
    few_crates(workspace)?;
    no_fail_points(workspace)
}

/// The crates that a program builds to run local pipelines by the shell, with `runwright` itself.
const MAX_EMBEDDED_CRATES: usize = 121;

/// Checks that a program that embeds `runwright` does not build more crates than we have agreed to.
fn few_crates(workspace: &Workspace) -> anyhow::Result<()> {
    let words = [
        "--package",
        "runwright",
        "--edges",
        "normal",
        "--prefix",
        "none",
    ];
    let tree = tree(workspace, &words)?;
    let names = tree.lines().filter_map(|line| line.split(' ').next());
    let count = names.collect::<BTreeSet<_>>().len();
    if count > MAX_EMBEDDED_CRATES {
        bail!(
            "a program that embeds `runwright` builds {count} crates, more than {MAX_EMBEDDED_CRATES}"
        );
    }
    Ok(())
}

/// Returns what `cargo tree` prints.
fn tree(workspace: &Workspace, words: &[&str]) -> anyhow::Result<String> {
    let mut cargo = run::cargo();
    cargo.arg("tree").args(words).current_dir(&workspace.root);
    let tree = cargo.output().context("start cargo tree")?;
    if !tree.status.success() {
        bail!(
            "cargo tree fails: {}",
            String::from_utf8_lossy(&tree.stderr)
        );
    }
    Ok(String::from_utf8_lossy(&tree.stdout).into_owned())
}

/// The crates that other programs usually depend on directly.
const ENTRY_POINTS: [&str; 3] = ["executor-core", "runwright", "cli"];

/// Returns whether a name belongs to the quarter of names that a commit selects.
fn is_of_quarter(name: &str, commit: &str) -> bool {
    let sum = |text: &str| text.bytes().map(usize::from).sum::<usize>();
    (sum(name) + sum(commit)) % 4 == 0
}

/// Checks that users get no fail points: only tests enable the feature that adds them.
fn no_fail_points(workspace: &Workspace) -> anyhow::Result<()> {
    let words = [
        "--package",
        "runwright-cli",
        "--edges",
        "features,no-dev",
        "--invert",
        "runwright-fail-point",
    ];
    let features = tree(workspace, &words)?;
    if !features.contains("fail-point feature \"default\"") {
        bail!("cargo tree does not say which features of fail-point the program has");
    }
    if features.contains("fail-point feature \"enabled\"") {
        bail!("the program that users build has fail points:\n{features}");
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

const CARGO_DENY: Tool = Tool {
    name: "cargo-deny",
    version: "0.20.2",
    features: None,
};

/// Checks the dependencies.
///
/// # Errors
///
/// Fails when cargo-deny cannot be built or reports an error.
pub(crate) fn deny(workspace: &Workspace) -> anyhow::Result<()> {
    println!("ADVISORIES NOT CHECKED: no advisory database can be fetched here");
    let mut command = Command::new(CARGO_DENY.program(workspace)?);
    command.current_dir(&workspace.root).stdin(Stdio::null());
    // Duplicate versions of a crate are a warning that readers of this output cannot act on; `cargo deny check` shows
    // them.
    run::run(command.args([
        "--log-level",
        "error",
        "check",
        "bans",
        "licenses",
        "sources",
    ]))
}

/// Packs every published crate, with its readme and only its own files. It builds nothing: that takes as long as all
/// tests, and `cargo package --workspace` does it before a release.
///
/// # Errors
///
/// Fails when a manifest lacks a field that the registry requires, or a file cannot be packed.
pub(crate) fn package(workspace: &Workspace) -> anyhow::Result<()> {
    let mut command = run::cargo();
    command
        .args([
            "package",
            "--workspace",
            "--no-verify",
            "--quiet",
            "--allow-dirty",
        ])
        .current_dir(&workspace.root);
    let inner = workspace.packages.iter().filter(|it| !it.is_published());
    for package in inner {
        command.args(["--exclude", &package.name]);
    }
    run::run(&mut command)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::atomic::{AtomicUsize, Ordering};

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
