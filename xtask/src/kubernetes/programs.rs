//! The programs of a node.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context;

use crate::run;

/// The version, as in `go.mod`.
const VERSION: &str = "1.33.4";

const PROGRAMS: [&str; 5] = [
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kubelet",
    "kubectl",
];

/// Builds the programs below the target folder, unless they are there, and returns their directory. It takes some minutes the first time.
///
/// # Errors
///
/// When a module cannot be fetched, or does not compile.
pub(super) fn build(root: &Path, target: &Path) -> anyhow::Result<PathBuf> {
    let directory = target.join(format!("kubernetes-{VERSION}"));
    for program in PROGRAMS {
        if directory.join(program).is_file() {
            continue;
        }
        println!("test: building {program} {VERSION}");
        std::fs::create_dir_all(&directory).context("create a directory for the programs")?;
        // A build that is interrupted leaves no program under its name.
        let unfinished = directory.join(format!("{program}.new"));
        let variables = ["k8s.io/component-base/version", "k8s.io/client-go/pkg/version"]
            .map(|package| {
                format!("-X {package}.gitVersion=v{VERSION} -X {package}.gitMajor=1 -X {package}.gitMinor=33")
            })
            .join(" ");
        let mut go = Command::new("go");
        go.current_dir(root.join("xtask/kubernetes"))
            .args([
                "build",
                "-trimpath",
                "-ldflags",
                &format!("-s -w {variables}"),
                "-o",
            ])
            .arg(&unfinished)
            .arg(format!("k8s.io/kubernetes/cmd/{program}"))
            // The modules are pinned by go.sum.
            .env("GOSUMDB", "off")
            .env("GOFLAGS", "-mod=readonly -buildvcs=false")
            .env("CGO_ENABLED", "0")
            .stdin(Stdio::null());
        run::run(&mut go)?;
        std::fs::rename(&unfinished, directory.join(program)).context("name the program")?;
    }
    Ok(directory)
}
