//! Brings what the tests need, and runs them.
//!
//! The tests of containers need an engine, which is started for them and ends with them. Who has set
//! `RUNWRIGHT_TEST_DOCKER` has one already, with the same images.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

use crate::agent;
use crate::docker::{self, Daemon};
use crate::workspace::Workspace;
use crate::{python, run};

/// A program that tests call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Tool {
    program: &'static str,
    /// The Debian package that brings it.
    package: &'static str,
    /// What is not tested without it; none when the tests fail without it.
    optional: Option<&'static str>,
}

const TOOLS: &[Tool] = &[
    Tool {
        program: "git",
        package: "git",
        optional: None,
    },
    Tool {
        program: "bash",
        package: "bash",
        optional: None,
    },
    Tool {
        program: "dash",
        package: "dash",
        optional: None,
    },
    Tool {
        program: "busybox",
        package: "busybox-static",
        optional: None,
    },
    Tool {
        program: "perl",
        package: "perl-base",
        optional: None,
    },
    Tool {
        program: "tmux",
        package: "tmux",
        optional: None,
    },
    Tool {
        program: "ssh",
        package: "openssh-client",
        optional: None,
    },
    Tool {
        program: "sshd",
        package: "openssh-server",
        optional: None,
    },
    Tool {
        program: "git-lfs",
        package: "git-lfs",
        optional: Some("sources with Git LFS"),
    },
    Tool {
        program: "zip",
        package: "zip",
        optional: Some("archives that Info-ZIP packs"),
    },
    Tool {
        program: "unzip",
        package: "unzip",
        optional: Some("archives that Info-ZIP unpacks"),
    },
    Tool {
        program: "zstd",
        package: "zstd",
        optional: Some("archives that tar and zstd pack and unpack"),
    },
    Tool {
        program: "faketime",
        package: "faketime",
        optional: Some("a clock that is set while jobs run"),
    },
    Tool {
        program: "mkfs.btrfs",
        package: "btrfs-progs",
        optional: Some("snapshots that share blocks"),
    },
    Tool {
        program: "docker-registry",
        package: "docker-registry",
        optional: None,
    },
];

/// What an engine for tests is started and filled with.
const ENGINE_TOOLS: &[Tool] = &[
    Tool {
        program: "dockerd",
        package: "docker.io",
        optional: None,
    },
    Tool {
        program: "docker",
        package: "docker.io",
        optional: None,
    },
    Tool {
        program: "iptables",
        package: "iptables",
        optional: None,
    },
    Tool {
        program: "ip",
        package: "iproute2",
        optional: None,
    },
    Tool {
        program: "debootstrap",
        package: "debootstrap",
        optional: None,
    },
];

/// Runs the tests with these further arguments for cargo test: all of the workspace, unless they choose a package.
///
/// # Errors
///
/// Fails when a tool is missing and cannot be installed, or when a test fails.
pub(crate) fn run(workspace: &Workspace, args: &[String]) -> anyhow::Result<()> {
    provide(TOOLS)?;
    // It ends when this function does, whatever comes of the tests.
    let engine = engine(workspace, args)?;
    let agent = agent(workspace, args)?;
    let python = python(workspace, args);
    let in_workspace = |words: &[&str]| {
        let mut command = run::cargo();
        if let Some(engine) = &engine {
            command.env(docker::ADDRESS, engine.address());
        }
        if let Some(agent) = &agent {
            command.env(agent::VARIABLE, agent);
        }
        if let Some(python) = &python {
            command.env(python::VARIABLE, python);
        }
        run::run(command.current_dir(&workspace.root).args(words))
    };
    in_workspace(&words(args))?;
    if args.is_empty() {
        FAULTS.iter().try_for_each(|words| in_workspace(words))?;
    }
    Ok(())
}

/// Runs a command that finds an engine and the agent where the tests do.
///
/// # Errors
///
/// Fails when there is no engine and none can be started, and when the command fails.
pub(crate) fn run_with_engine(workspace: &Workspace, words: &[String]) -> anyhow::Result<()> {
    let (program, args) = words.split_first().context("no command is given")?;
    // It ends when this function does, whatever comes of the command.
    let engine = engine(workspace, &[])?;
    let agent = agent(workspace, &[])?;
    let mut command = Command::new(program);
    command.args(args);
    if let Some(engine) = &engine {
        command.env(docker::ADDRESS, engine.address());
    }
    if let Some(agent) = &agent {
        command.env(agent::VARIABLE, agent);
    }
    run::run(&mut command)
}

/// Starts a Docker Engine, unless there is one or the chosen tests have no use for it.
fn engine(workspace: &Workspace, args: &[String]) -> anyhow::Result<Option<Daemon>> {
    if env::var_os(docker::ADDRESS).is_some() || !wants_engine(args) {
        return Ok(None);
    }
    provide(ENGINE_TOOLS)?;
    docker::start(&workspace.target_directory)
        .context("the tests need a Docker Engine, and here is none")
        .map(Some)
}

/// Builds the agent that the tests put into containers, unless one is named or they start none.
fn agent(workspace: &Workspace, args: &[String]) -> anyhow::Result<Option<PathBuf>> {
    if env::var_os(agent::VARIABLE).is_some() || !wants_engine(args) {
        return Ok(None);
    }
    agent::build(workspace).map(Some)
}

/// Makes a Python with gRPC, unless one is named or the chosen tests have no use for it. Without one, the test that
/// needs it fails, and all others tell what they can.
fn python(workspace: &Workspace, args: &[String]) -> Option<PathBuf> {
    let wanted = chosen(args).is_none_or(|package| package == "steps");
    if env::var_os(python::VARIABLE).is_some() || !wanted {
        return None;
    }
    let provided = python::provide(&workspace.target_directory, |package| {
        install_packages(&[package]);
    });
    provided
        .inspect_err(|error| println!("test: NO PYTHON CLIENT, its test will fail: {error:#}"))
        .ok()
}

/// The packages whose tests start containers.
const USES_ENGINE: [&str; 4] = ["cli", "executor-docker", "runwright", "steps"];

/// Whether tests that are chosen so may start containers.
fn wants_engine(args: &[String]) -> bool {
    chosen(args).is_none_or(|package| USES_ENGINE.contains(&package))
}

/// Returns the package whose tests are chosen, if one is.
fn chosen(args: &[String]) -> Option<&str> {
    let at = args
        .iter()
        .position(|arg| arg.starts_with("-p") || arg.starts_with("--package"))?;
    if matches!(args[at].as_str(), "-p" | "--package") {
        return Some(args.get(at + 1).map_or("", String::as_str));
    }
    let inline = args[at].trim_start_matches("--package=");
    Some(inline.trim_start_matches("-p"))
}

/// Tests of builds with fail points, apart from all others, which test what people get.
const FAULTS: [&[&str]; 3] = [
    &["test", "--package", "fail-point", "--features", "enabled"],
    &[
        "test",
        "--package",
        "includes",
        "--features",
        "fail-points",
        "--test",
        "it",
        "fail_points::",
    ],
    &[
        "test",
        "--package",
        "cli",
        "--features",
        "fail-points",
        "--test",
        "it",
        "fail_points::",
    ],
];

/// Returns what cargo is told.
fn words(args: &[String]) -> Vec<&str> {
    let chooses = args
        .iter()
        .any(|arg| arg.starts_with("-p") || arg.starts_with("--package"));
    let scope = if chooses { None } else { Some("--workspace") };
    // Without --no-fail-fast the first broken crate would hide what else is broken.
    let fixed = ["test", "--no-fail-fast"].into_iter().chain(scope);
    fixed.chain(args.iter().map(String::as_str)).collect()
}

/// Makes sure that the tools are there.
fn provide(tools: &[Tool]) -> anyhow::Result<()> {
    let search = env::var_os("PATH").unwrap_or_default();
    let folders = folders(&search);
    let is_there = |tool: &&Tool| {
        folders
            .iter()
            .any(|folder| folder.join(tool.program).is_file())
    };
    let wanting: Vec<Tool> = tools
        .iter()
        .filter(|tool| !is_there(tool))
        .copied()
        .collect();
    if !wanting.is_empty() {
        install(&wanting);
    }
    let missing: Vec<Tool> = wanting
        .iter()
        .filter(|tool| !is_there(tool))
        .copied()
        .collect();
    for line in untested(&missing) {
        println!("{line}");
    }
    refuse(&missing)
}

/// Returns where programs are. Those of the system are not in everybody's search path on Debian.
fn folders(search: &OsStr) -> Vec<PathBuf> {
    let system = ["/usr/local/sbin", "/usr/sbin", "/sbin"].map(PathBuf::from);
    env::split_paths(search).chain(system).collect()
}

/// Installs with apt-get where that can work. A failure is not fatal here: what is still missing decides.
fn install(tools: &[Tool]) {
    let packages: Vec<_> = tools.iter().map(|tool| tool.package).collect();
    install_packages(&packages);
}

fn install_packages(packages: &[&str]) {
    if !is_root() || !Path::new("/usr/bin/apt-get").is_file() {
        return;
    }
    println!("test: installing {}", packages.join(" "));
    let apt = |words: &[&str]| {
        let mut command = Command::new("apt-get");
        command.args(words).env("DEBIAN_FRONTEND", "noninteractive");
        command.stdin(Stdio::null()).stdout(Stdio::null());
        run::run(&mut command)
    };
    let install = [&["install", "--yes", "--no-install-recommends"], packages].concat();
    if let Err(error) = apt(&["update"]).and_then(|()| apt(&install)) {
        println!("test: {error:#}");
    }
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|metadata| metadata.uid() == 0)
}

/// Returns a line for each thing that will not be tested.
fn untested(missing: &[Tool]) -> Vec<String> {
    let optional = missing
        .iter()
        .filter_map(|tool| tool.optional.map(|what| (tool, what)));
    optional
        .map(|(tool, what)| format!("NOT TESTED: {what}, because `{}` is missing", tool.program))
        .collect()
}

/// Fails when a tool is missing that the tests cannot do without.
fn refuse(missing: &[Tool]) -> anyhow::Result<()> {
    let required: Vec<_> = missing
        .iter()
        .filter(|tool| tool.optional.is_none())
        .map(|tool| tool.package)
        .collect();
    if required.is_empty() {
        return Ok(());
    }
    let packages = required.join(" ");
    bail!("the tests need what is not here: {packages}; on Debian: apt-get install {packages}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEEDED: Tool = Tool {
        program: "no-such-program-here",
        package: "no-such-package-here",
        optional: None,
    };
    const USEFUL: Tool = Tool {
        optional: Some("the moon"),
        ..NEEDED
    };
    const SHELL: Tool = Tool {
        program: "sh",
        package: "dash",
        optional: None,
    };

    #[test]
    fn everything_is_tested_unless_a_package_is_chosen() {
        assert_eq!(words(&[]), ["test", "--no-fail-fast", "--workspace"]);
        assert_eq!(
            words(&["masking".to_owned()]),
            ["test", "--no-fail-fast", "--workspace", "masking"]
        );
        assert_eq!(
            words(&["-ptrace".to_owned()]),
            ["test", "--no-fail-fast", "-ptrace"]
        );
    }

    #[test]
    fn an_engine_is_started_for_those_who_use_one() {
        let check = |args: &[&str], expect| {
            let args: Vec<_> = args.iter().map(|arg| (*arg).to_owned()).collect();
            assert_eq!(wants_engine(&args), expect, "{args:?}");
        };
        check(&[], true);
        check(&["masking"], true);
        check(&["-p", "trace"], false);
        check(&["-pcli", "masking"], true);
        check(&["--package=pipeline"], false);
        check(&["--package", "executor-docker"], true);
    }

    #[test]
    fn what_is_there_is_enough() {
        provide(&[SHELL]).unwrap();
    }

    #[test]
    fn programs_of_the_system_are_found_by_everybody() {
        let folders = folders(OsStr::new("/opt/bin:/bin"));
        let folders: Vec<_> = folders.iter().filter_map(|it| it.to_str()).collect();
        assert_eq!(
            folders,
            ["/opt/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin"]
        );
    }

    #[test]
    fn a_missing_tool_is_refused_with_what_to_do() {
        let error = refuse(&[NEEDED]).unwrap_err().to_string();
        assert!(
            error.contains("apt-get install no-such-package-here"),
            "{error}"
        );
    }

    #[test]
    fn a_missing_useful_tool_is_said_loudly_and_not_refused() {
        refuse(&[USEFUL]).unwrap();
        assert_eq!(
            untested(&[USEFUL, NEEDED]),
            ["NOT TESTED: the moon, because `no-such-program-here` is missing"]
        );
    }
}
