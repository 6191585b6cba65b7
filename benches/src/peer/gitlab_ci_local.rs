//! gitlab-ci-local, from npm.

use anyhow::ensure;
use process::Command;

use super::installation::{Installation, require};
use crate::{Bench, Tool};

pub(super) const NAME: &str = "gitlab-ci-local";

const VERSION: &str = "4.75.1";

/// It crashes with older versions, which many systems have.
const NODE: &str = "22";

/// Jobs run as processes in the working tree: its fastest mode, and the closest to ours.
const FLAGS: [&str; 2] = ["--force-shell-executor", "--no-shell-isolation"];

pub(super) async fn install(bench: &Bench) -> anyhow::Result<Tool> {
    install_with(bench, &FLAGS).await
}

/// Jobs run in containers of this local image, which also replaces the image of its helpers.
pub(super) async fn install_docker(bench: &Bench, image: &str) -> anyhow::Result<Tool> {
    let flags = [
        "--shell-executor-no-image=false",
        "--default-image",
        image,
        "--helper-image",
        image,
        "--pull-policy",
        "if-not-present",
    ];
    install_with(bench, &flags).await
}

async fn install_with(bench: &Bench, flags: &[&str]) -> anyhow::Result<Tool> {
    require("npm", "gitlab-ci-local is installed with it")?;
    require("rsync", "gitlab-ci-local calls it, whatever it is told")?;
    let directory = format!("{NAME}-{VERSION}-node-{NODE}");
    let installation = Installation::make(bench, &directory, |directory| {
        let npm = Command::new("npm")
            .args([
                "install",
                "--no-audit",
                "--no-fund",
                "--fetch-retries",
                "1",
                "--prefix",
            ])
            .arg(directory)
            .args([format!("{NAME}@{VERSION}"), format!("node@{NODE}")]);
        vec![npm]
    })
    .await?;
    let node = installation.path("node_modules/node/bin/node");
    // The package downloads Node.js in an install script, which a user's npm may forbid.
    ensure!(node.is_file(), "npm installed no Node.js {NODE}");
    let program = installation.path("node_modules/gitlab-ci-local/dist/index.js");
    let list: Vec<_> = [program.as_os_str(), "--list".as_ref()].into();
    let run: Vec<_> = std::iter::once(program.as_os_str())
        .chain(flags.iter().map(AsRef::as_ref))
        .collect();
    Ok(Tool::new(NAME, node).run_with(&run).list_with(&list))
}
