//! Programs that the tests call, and the Debian packages that contain them.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::bail;

use crate::run;

/// A program that the tests call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tool {
    program: &'static str,
    /// The Debian package that contains it.
    package: &'static str,
    /// What stays untested without it; `None` when the tests fail without it.
    optional: Option<&'static str>,
}

/// The programs that the tests call.
pub(crate) const TOOLS: &[Tool] = &[
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
        program: "tinyproxy",
        package: "tinyproxy-bin",
        optional: Some("requests through a real proxy"),
    },
    Tool {
        program: "dot",
        package: "graphviz",
        optional: Some("plans that Graphviz draws"),
    },
    Tool {
        program: "docker-registry",
        package: "docker-registry",
        optional: None,
    },
    Tool {
        program: "skopeo",
        package: "skopeo",
        optional: None,
    },
];

/// The programs that start the test engine and create its images.
pub(crate) const ENGINE_TOOLS: &[Tool] = &[
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

/// The programs that a Kubernetes node needs beside its own.
pub(crate) const NODE_TOOLS: &[Tool] = &[
    Tool {
        program: "etcd",
        package: "etcd-server",
        optional: None,
    },
    Tool {
        program: "containerd",
        package: "containerd",
        optional: None,
    },
    Tool {
        program: "runc",
        package: "runc",
        optional: None,
    },
    Tool {
        program: "/usr/lib/cni/bridge",
        package: "containernetworking-plugins",
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
        program: "conntrack",
        package: "conntrack",
        optional: None,
    },
    Tool {
        program: "docker-registry",
        package: "docker-registry",
        optional: None,
    },
    Tool {
        program: "socat",
        package: "socat",
        optional: None,
    },
];

/// The programs that make and start virtual machines.
pub(crate) const GUEST_TOOLS: &[Tool] = &[
    Tool {
        program: "qemu-system-x86_64",
        package: "qemu-system-x86",
        optional: None,
    },
    Tool {
        program: "qemu-img",
        package: "qemu-utils",
        optional: None,
    },
    Tool {
        program: "mmdebstrap",
        package: "mmdebstrap",
        optional: None,
    },
];

/// The programs of a batch system with one node.
pub(crate) const BATCH_TOOLS: &[Tool] = &[
    Tool {
        program: "sbatch",
        package: "slurm-client",
        optional: None,
    },
    Tool {
        program: "slurmctld",
        package: "slurmctld",
        optional: None,
    },
    Tool {
        program: "slurmd",
        package: "slurmd",
        optional: None,
    },
    Tool {
        program: "munged",
        package: "munge",
        optional: None,
    },
];

/// Checks that the tools are present, and installs missing ones where possible.
///
/// # Errors
///
/// Fails when a tool is missing that the tests require.
pub(crate) fn provide(tools: &[Tool]) -> anyhow::Result<()> {
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

/// Returns the directories of programs. On Debian, system programs are not in every user's search path.
fn folders(search: &OsStr) -> Vec<PathBuf> {
    let system = ["/usr/local/sbin", "/usr/sbin", "/sbin"].map(PathBuf::from);
    env::split_paths(search).chain(system).collect()
}

/// Installs the tools with apt-get where possible. A failure is not fatal here; the caller checks again.
fn install(tools: &[Tool]) {
    let packages: Vec<_> = tools.iter().map(|tool| tool.package).collect();
    install_packages(&packages);
}

/// Installs Debian packages when running as root with apt-get present, and prints failures.
pub(crate) fn install_packages(packages: &[&str]) {
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

/// Returns a line for each feature that stays untested.
fn untested(missing: &[Tool]) -> Vec<String> {
    let optional = missing
        .iter()
        .filter_map(|tool| tool.optional.map(|what| (tool, what)));
    optional
        .map(|(tool, what)| format!("NOT TESTED: {what}, because `{}` is missing", tool.program))
        .collect()
}

/// Fails when a tool is missing that the tests require.
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
    fn present_tools_are_sufficient() {
        provide(&[SHELL]).unwrap();
    }

    #[test]
    fn system_programs_are_found_for_every_user() {
        let folders = folders(OsStr::new("/opt/bin:/bin"));
        let folders: Vec<_> = folders.iter().filter_map(|it| it.to_str()).collect();
        assert_eq!(
            folders,
            ["/opt/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin"]
        );
    }

    #[test]
    fn missing_tool_is_refused_with_help() {
        let error = refuse(&[NEEDED]).unwrap_err().to_string();
        assert!(
            error.contains("apt-get install no-such-package-here"),
            "{error}"
        );
    }

    #[test]
    fn missing_optional_tool_is_only_reported() {
        refuse(&[USEFUL]).unwrap();
        assert_eq!(
            untested(&[USEFUL, NEEDED]),
            ["NOT TESTED: the moon, because `no-such-program-here` is missing"]
        );
    }
}
