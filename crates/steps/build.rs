//! Builds the agent that the feature `embedded-agent` puts into the library: static, for containers of this machine.
//!
//! Only in release builds: it takes longer than the rest of this crate, and a development build finds its agent through
//! `RUNWRIGHT_AGENT`. Without one the library works, so whatever prevents the build is a warning.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What cargo sets when the feature is on.
const FEATURE: &str = "CARGO_FEATURE_EMBEDDED_AGENT";

/// The variable with the path of an agent to embed instead; empty for none.
const EMBEDDED: &str = "RUNWRIGHT_EMBEDDED_AGENT";

/// The settings of the agent's build, which a package from a registry does not have as a profile: for size.
const PROFILE: [(&str, &str); 6] = [
    ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "z"),
    ("CARGO_PROFILE_RELEASE_LTO", "fat"),
    ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "1"),
    ("CARGO_PROFILE_RELEASE_DEBUG", "false"),
    ("CARGO_PROFILE_RELEASE_STRIP", "symbols"),
    ("CARGO_PROFILE_RELEASE_PANIC", "unwind"),
];

fn main() {
    println!("cargo::rustc-check-cfg=cfg(has_embedded_agent)");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed={EMBEDDED}");
    if env::var_os(FEATURE).is_none() {
        return;
    }
    let agent = match env::var_os(EMBEDDED) {
        Some(named) if named.is_empty() => return,
        Some(named) => {
            let named = PathBuf::from(named);
            assert!(
                named.is_absolute() && named.is_file(),
                "{EMBEDDED} is not the absolute path of a file: {}",
                named.display()
            );
            named
        }
        None if variable("PROFILE") != "release" => return,
        None => match build() {
            Ok(agent) => agent,
            Err(reason) => {
                for line in reason.lines() {
                    println!("cargo::warning={line}");
                }
                return;
            }
        },
    };
    println!("cargo::rerun-if-changed={}", agent.display());
    println!("cargo::rustc-cfg=has_embedded_agent");
    println!("cargo::rustc-env=RUNWRIGHT_AGENT_FILE={}", agent.display());
}

/// Builds the agent with the cargo that runs this script, and returns its path; or why there is none.
#[expect(
    clippy::disallowed_methods,
    reason = "a build script needs only the cargo that runs it"
)]
fn build() -> Result<PathBuf, String> {
    let target = variable("TARGET");
    if !target.contains("-linux-") {
        return Err(format!(
            "no agent for containers is built for {target}; {EMBEDDED} can name one"
        ));
    }
    let folder = Path::new(&variable("OUT_DIR")).join("agent");
    let mut flags = env::var_os("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    if !flags.is_empty() {
        flags.push("\x1f");
    }
    // With an explicit target, cargo applies these flags to the program and not to build scripts.
    flags.push("-Ctarget-feature=+crt-static");
    let manifest = Path::new(&variable("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    let cargo = env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let built = Command::new(cargo)
        .args(["build", "--quiet", "--release", "--bin", "runwright-agent"])
        .args(["--target", &target, "--target-dir"])
        .arg(&folder)
        .arg("--manifest-path")
        .arg(manifest)
        .env("CARGO_ENCODED_RUSTFLAGS", flags)
        // Else the script would see the feature again, and build an agent for the agent.
        .env_remove(FEATURE)
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .envs(PROFILE)
        .output()
        .map_err(|error| format!("cargo cannot be started to build the agent: {error}"))?;
    let directory = folder.join(&target).join("release");
    watch_sources(&directory.join("runwright-agent.d"));
    if !built.status.success() {
        let text = String::from_utf8_lossy(&built.stderr);
        return Err(format!(
            "the agent for containers cannot be built, so jobs run there through exec: {text}"
        ));
    }
    Ok(directory.join("runwright-agent"))
}

/// Makes cargo run this script again when a source file of the agent changes; `list` is in the format of make.
fn watch_sources(list: &Path) {
    let text = fs::read_to_string(list).unwrap_or_default();
    let sources = text.split_once(": ").map_or("", |(_, sources)| sources);
    for source in sources.trim_end().replace("\\ ", "\0").split(' ') {
        println!("cargo::rerun-if-changed={}", source.replace('\0', " "));
    }
    if sources.is_empty() {
        println!("cargo::rerun-if-changed=src");
    }
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_default()
}
