//! Images for the node, as archives in the form of `docker save`.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Context;
use serde_json::json;

use crate::docker::busybox;
use crate::run;

/// Writes the images of the tests into a directory, one archive for each.
///
/// # Errors
///
/// When a program that makes them fails.
pub(super) fn make(directory: &Path) -> anyhow::Result<()> {
    let scratch = directory.join("scratch");
    let root = busybox(&scratch.join("root"))?;
    let layer = scratch.join("layer.tar");
    run::run(
        Command::new("tar")
            .arg("-C")
            .arg(&root)
            .args(["--owner=0", "--group=0", "--mtime=2026-01-01", "-cf"])
            .arg(&layer)
            .arg(".")
            .stdin(Stdio::null()),
    )?;
    let digest = Command::new("sha256sum").arg(&layer).output()?;
    let digest = String::from_utf8_lossy(&digest.stdout).into_owned();
    let digest = digest.split(' ').next().context("read a digest")?;
    let pause = json!({ "Entrypoint": ["/bin/sleep", "infinity"] });
    let shell = json!({ "Env": ["PATH=/bin"], "Cmd": ["sh"] });
    let user = json!({ "Env": ["PATH=/bin"], "User": "1000:1000", "WorkingDir": "/tmp" });
    for (name, config) in [("pause", pause), ("busybox", shell), ("nonroot", user)] {
        let architecture = if cfg!(target_arch = "x86_64") {
            "amd64"
        } else {
            "arm64"
        };
        let config = json!({
            "architecture": architecture,
            "os": "linux",
            "config": config,
            "rootfs": { "type": "layers", "diff_ids": [format!("sha256:{digest}")] },
        });
        let manifest = json!([{
            "Config": "config.json",
            "RepoTags": [format!("runwright.test/{name}:1")],
            "Layers": ["layer.tar"],
        }]);
        fs::write(scratch.join("config.json"), config.to_string())?;
        fs::write(scratch.join("manifest.json"), manifest.to_string())?;
        run::run(
            Command::new("tar")
                .arg("-C")
                .arg(&scratch)
                .arg("-cf")
                .arg(directory.join(format!("{name}.tar")))
                .args(["manifest.json", "config.json", "layer.tar"])
                .stdin(Stdio::null()),
        )?;
    }
    fs::remove_dir_all(&scratch).context("remove the parts of the images")
}
