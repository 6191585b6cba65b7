//! Prepares everything the tests need, and runs them.
//!
//! Container tests need an engine, which starts before them and ends with them. With `RUNWRIGHT_TEST_DOCKER` set,
//! they use that engine, which must have the same images. At the end, the tests that depend on the engine's transport
//! run twice more: over TLS and over ssh.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::path::{self, Path, PathBuf};
use std::process::Command;
use std::{env, thread};

use anyhow::{Context, bail};

use crate::agent::{self, SharedAgent};
use crate::debian::{self, BATCH_TOOLS, ENGINE_TOOLS, GUEST_TOOLS, NODE_TOOLS, TOOLS};
use crate::docker::{self, Daemon, Over, Way};
use crate::kubernetes::Node;
use crate::skipped::Skipped;
use crate::workspace::{PREFIX, Workspace};
use crate::{built, guest, kubernetes, python, rounds, run, stop};

/// The variable with the number of tests that a test program runs at once.
const THREADS: &str = "RUST_TEST_THREADS";

/// Runs the tests with these extra arguments for cargo test: the whole workspace, unless they select a package.
///
/// # Errors
///
/// Fails when a tool is missing and cannot be installed, or when a test fails.
pub(crate) fn run(workspace: &Workspace, args: &[String]) -> anyhow::Result<()> {
    run_sample(workspace, args, None)
}

/// Like [`run()`], with a sample of the test cases that support one; the text selects the sample.
///
/// # Errors
///
/// As [`run()`].
pub(crate) fn run_sample(
    workspace: &Workspace,
    args: &[String],
    sample: Option<&str>,
) -> anyhow::Result<()> {
    debian::provide(TOOLS)?;
    if chosen(args).is_none_or(|package| package == "driver-toolkit") {
        debian::provide(BATCH_TOOLS)?;
    }
    let (engine, python, guest, built) = thread::scope(|scope| {
        // The engine's start waits for the network and the disk, so it can overlap with the build.
        let building = scope.spawn(|| build(workspace, args));
        // The engine ends when this function returns, and with the thread that started it.
        let engine = engine(workspace, args);
        let guest = guest(workspace, args);
        (engine, python(workspace, args), guest, building.join())
    });
    let built = built.unwrap_or_else(|panic| resume_unwind(panic))?;
    let shared = built.as_deref().map(SharedAgent::of).transpose()?;
    let agent = shared.as_ref().map(SharedAgent::program);
    let engine = engine?;
    let way = way(engine.as_ref(), Over::Socket)?;
    let skipped = Skipped::new(&workspace.target_directory);
    let mut command = cargo(workspace, built.as_deref());
    tell_agent(&mut command, agent.as_deref());
    skipped.collect(&mut command);
    if let Some(sample) = sample {
        println!(
            "test: a sample, chosen by {sample}: a third of the fail points, half of the tests of QEMU and of transports; `cargo xtask test` runs all"
        );
        command.env(SAMPLE, sample);
    }
    if let Some(way) = &way {
        way.tell(&mut command)?;
    }
    if let Some(python) = &python {
        command.env(python::VARIABLE, python);
    }
    if let Some(guest) = guest? {
        command.env(guest::VARIABLE, guest);
    }
    // It ends when this function returns. The run of all tests does without it, since its programs take four minutes to build.
    let node = match chosen(args) {
        Some("executor-kubernetes") => Some(node(workspace)?),
        _ => None,
    };
    if let Some(node) = &node {
        node.tell(&mut command);
    }
    if let Some(driver) = vm_driver(workspace, args)? {
        command.env(VM_DRIVER, driver);
    }
    let outcome = run::run(command.args(words(args)));
    skipped.print("on this machine");
    outcome?;
    if !args.is_empty() {
        return Ok(());
    }
    // The other half of the crate, built without the feature that the tests' fail points need.
    run::run(run::cargo().args(["test", "--quiet", "--package", "runwright-fail-point"]))?;
    let Some(engine) = &engine else {
        println!(
            "NOT TESTED: an engine over TLS and ssh, because RUNWRIGHT_TEST_DOCKER names the engine and the way to it"
        );
        return Ok(());
    };
    let builder = cargo(workspace, built.as_deref());
    let tests = built::tests(builder, workspace, "executor-docker")?;
    for filter in TRANSPORT {
        tests.expect_some(filter)?;
    }
    let ways: &[Over] = match sample.and_then(|sample| sample.bytes().last()) {
        None => &[Over::Tls, Over::Ssh],
        Some(byte) if byte % 2 == 0 => &[Over::Tls],
        Some(_) => &[Over::Ssh],
    };
    rounds::run(engine, ways, &workspace.target_directory, || {
        let mut command = tests.command();
        command.args(TRANSPORT);
        set_threads(&mut command);
        tell_agent(&mut command, agent.as_deref());
        command
    })
}

/// The environment variable with a text that selects a sample of many cases.
const SAMPLE: &str = "RUNWRIGHT_TEST_SAMPLE";

/// The tests of `executor-docker` that depend on the engine's transport.
const TRANSPORT: [&str; 7] = [
    "conformance::agent_in_busybox",
    "conformance::exec_in_busybox",
    "engine::",
    "faults::cut::",
    "run::",
    "ssh::",
    "terminal::",
];

/// Builds the agent, if the selected tests use it, and all tests, unless some are selected. Returns the agent's path.
fn build(workspace: &Workspace, args: &[String]) -> anyhow::Result<Option<PathBuf>> {
    let agent = agent(workspace, args)?;
    // Selected tests may belong to a package that does not build alone.
    if args.is_empty() {
        let mut command = cargo(workspace, agent.as_deref());
        run::run(command.arg("test").args(built::ALL).arg("--no-run"))?;
    }
    Ok(agent)
}

/// Returns a cargo command that embeds this agent into programs that want one.
fn cargo(workspace: &Workspace, agent: Option<&Path>) -> Command {
    let mut command = run::cargo();
    command.current_dir(&workspace.root);
    if let Some(agent) = agent {
        command.env(agent::EMBEDDED, agent);
    }
    set_threads(&mut command);
    command
}

/// Passes the path of the agent to the tests.
fn tell_agent(command: &mut Command, agent: Option<&Path>) {
    if let Some(agent) = agent {
        command.env(agent::VARIABLE, agent);
    }
}

/// Sets how many tests of a program run at once, unless the caller did.
fn set_threads(command: &mut Command) {
    if env::var_os(THREADS).is_none() {
        let processors = thread::available_parallelism().map_or(1, NonZero::get);
        command.env(THREADS, at_once(processors).to_string());
    }
}

/// Returns how many tests run at once. Most of them wait: for a container, a program or a deadline.
fn at_once(processors: usize) -> usize {
    (processors * 4).min(8).max(processors)
}

/// Opens a transport to the engine, if one was started.
fn way(engine: Option<&Daemon>, over: Over) -> anyhow::Result<Option<Way<'_>>> {
    engine.map(|daemon| Way::open(daemon, over)).transpose()
}

/// Runs a command that finds an engine and the agent as the tests do.
///
/// # Errors
///
/// Fails when no engine exists or can be started, and when the command fails.
pub(crate) fn run_with_engine(
    workspace: &Workspace,
    over: Over,
    words: &[String],
) -> anyhow::Result<()> {
    let (program, args) = words.split_first().context("no command is given")?;
    // The engine ends when this function returns, even if the command fails.
    let engine = engine(workspace, &[])?;
    if engine.is_none() && over != Over::Socket {
        bail!(
            "{} names an engine, so the way to it is chosen already",
            docker::ADDRESS
        );
    }
    let way = way(engine.as_ref(), over)?;
    let built = agent(workspace, &[])?;
    let shared = built.as_deref().map(SharedAgent::of).transpose()?;
    let mut command = Command::new(program);
    command.args(args);
    if let Some(way) = &way {
        way.tell(&mut command)?;
    }
    if let Some(shared) = &shared {
        command.env(agent::VARIABLE, shared.program());
    }
    stop::check()?;
    run::run(&mut command)
}

/// Runs a command that finds a Kubernetes node and the agent as the tests do.
///
/// # Errors
///
/// When no node can be started, and when the command fails.
pub(crate) fn run_with_node(workspace: &Workspace, words: &[String]) -> anyhow::Result<()> {
    let (program, args) = words.split_first().context("no command is given")?;
    let node = node(workspace)?;
    let built = agent(workspace, &[])?;
    let mut command = Command::new(program);
    command.args(args);
    node.tell(&mut command);
    tell_agent(&mut command, built.as_deref());
    stop::check()?;
    run::run(&mut command)
}

/// Starts a Kubernetes node.
fn node(workspace: &Workspace) -> anyhow::Result<Node> {
    stop::listen()?;
    debian::provide(NODE_TOOLS)?;
    kubernetes::start(&workspace.root, &workspace.target_directory)
        .context("the tests need a Kubernetes node, and here is none")
}

/// Starts a Docker Engine, unless one exists or the selected tests do not use it.
fn engine(workspace: &Workspace, args: &[String]) -> anyhow::Result<Option<Daemon>> {
    if env::var_os(docker::ADDRESS).is_some() || !wants_engine(args) {
        return Ok(None);
    }
    stop::listen()?;
    debian::provide(ENGINE_TOOLS)?;
    docker::start(&workspace.target_directory)
        .context("the tests need a Docker Engine, and here is none")
        .map(Some)
}

/// Returns the agent for the tests, if they start containers: an existing one from the environment, or a new build.
fn agent(workspace: &Workspace, args: &[String]) -> anyhow::Result<Option<PathBuf>> {
    if let Some(named) = env::var_os(agent::VARIABLE) {
        let named = path::absolute(&named);
        return named.context("find the agent that is named").map(Some);
    }
    let remote = ["executor-kubernetes", "executor-ssh"];
    if !wants_engine(args) && !chosen(args).is_some_and(|it| remote.contains(&it)) {
        return Ok(None);
    }
    agent::build(workspace).map(Some)
}

/// Prepares a Python with gRPC, unless the environment names one or the selected tests do not use it. Without Python
/// only the test that needs it fails.
fn python(workspace: &Workspace, args: &[String]) -> Option<PathBuf> {
    let wanted = chosen(args).is_none_or(|package| package == "steps");
    if env::var_os(python::VARIABLE).is_some() || !wanted {
        return None;
    }
    let provided = python::provide(&workspace.target_directory, |package| {
        debian::install_packages(&[package]);
    });
    provided
        .inspect_err(|error| println!("test: NO PYTHON CLIENT, its test will fail: {error:#}"))
        .ok()
}

/// Makes an image for virtual machines, unless the environment names one or the selected tests do not use it.
fn guest(workspace: &Workspace, args: &[String]) -> anyhow::Result<Option<PathBuf>> {
    let wanted = chosen(args).is_none_or(|package| matches!(package, "cli" | "vm-driver"));
    if env::var_os(guest::VARIABLE).is_some() || !wanted {
        return Ok(None);
    }
    debian::provide(GUEST_TOOLS)?;
    guest::provide(&workspace.root, &workspace.target_directory).map(Some)
}

/// The environment variable with the path of the driver for virtual machines, which tests of `cli` check.
const VM_DRIVER: &str = "RUNWRIGHT_TEST_VM_DRIVER";

/// Returns the driver for virtual machines, unless the environment names one or the selected tests do not use it. It is built here if the
/// tests of its package are not.
fn vm_driver(workspace: &Workspace, args: &[String]) -> anyhow::Result<Option<PathBuf>> {
    let package = chosen(args);
    if env::var_os(VM_DRIVER).is_some() || package.is_some_and(|package| package != "cli") {
        return Ok(None);
    }
    if package.is_some() {
        let mut build = run::cargo();
        build.args(["build", "--quiet", "--package", "runwright-vm-driver"]);
        run::run(build.current_dir(&workspace.root))?;
    }
    let program = "debug/runwright-vm-driver";
    Ok(Some(workspace.target_directory.join(program)))
}

/// The packages whose tests start containers.
const USES_ENGINE: [&str; 5] = ["cli", "examples", "executor-docker", "workstation", "steps"];

/// Whether the selected tests may start containers.
fn wants_engine(args: &[String]) -> bool {
    chosen(args).is_none_or(|package| USES_ENGINE.contains(&package))
}

/// Returns the folder of the package whose tests are selected, if any.
fn chosen(args: &[String]) -> Option<&str> {
    let at = args
        .iter()
        .position(|arg| arg.starts_with("-p") || arg.starts_with("--package"))?;
    if matches!(args[at].as_str(), "-p" | "--package") {
        return Some(args.get(at + 1).map_or("", |name| folder_of(name)));
    }
    let inline = args[at].trim_start_matches("--package=");
    Some(folder_of(inline.trim_start_matches("-p")))
}

fn folder_of(package: &str) -> &str {
    package.strip_prefix(PREFIX).unwrap_or(package)
}

/// Returns the arguments for cargo.
fn words(args: &[String]) -> Vec<&str> {
    let chooses = args
        .iter()
        .any(|arg| arg.starts_with("-p") || arg.starts_with("--package"));
    let scope = if chooses { &[][..] } else { &built::ALL[..] };
    // Without --no-fail-fast the first broken crate would hide failures in the others.
    let fixed = ["test", "--no-fail-fast"].into_iter();
    let fixed = fixed.chain(scope.iter().copied());
    fixed.chain(args.iter().map(String::as_str)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_packages_are_tested_by_default() {
        let all = ["test", "--no-fail-fast", "--workspace"];
        assert_eq!(words(&[]), all);
        assert_eq!(
            words(&["masking".to_owned()]),
            [&all[..], &["masking"]].concat()
        );
        assert_eq!(
            words(&["-prunwright-trace".to_owned()]),
            ["test", "--no-fail-fast", "-prunwright-trace"]
        );
    }

    #[test]
    fn few_processors_run_more_tests_than_processors() {
        assert_eq!([1, 2, 4, 16].map(at_once), [4, 8, 8, 16]);
    }

    #[test]
    fn engine_starts_for_packages_that_use_it() {
        let check = |args: &[&str], expect| {
            let args: Vec<_> = args.iter().map(|arg| (*arg).to_owned()).collect();
            assert_eq!(wants_engine(&args), expect, "{args:?}");
        };
        check(&[], true);
        check(&["masking"], true);
        check(&["-p", "runwright-trace"], false);
        check(&["-prunwright-cli", "masking"], true);
        check(&["--package=runwright-pipeline"], false);
        check(&["-p", "examples"], true);
        check(&["--package", "runwright-executor-docker"], true);
    }
}
