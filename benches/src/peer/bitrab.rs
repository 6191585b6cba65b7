//! bitrab, from PyPI.

use process::Command;

use super::installation::{Installation, require};
use crate::{Bench, Tool};

pub(super) const NAME: &str = "bitrab";

const VERSION: &str = "0.5.0";

pub(super) async fn install(bench: &Bench) -> anyhow::Result<Tool> {
    require("python3", "bitrab is installed with it and runs on it")?;
    let installation = Installation::make(bench, &format!("{NAME}-{VERSION}"), |directory| {
        let environment = Command::new("python3").args(["-m", "venv"]).arg(directory);
        let package = Command::new(directory.join("bin/python"))
            .args([
                "-m",
                "pip",
                "install",
                "--quiet",
                "--retries",
                "1",
                "--disable-pip-version-check",
            ])
            .arg(format!("{NAME}=={VERSION}"));
        vec![environment, package]
    })
    .await?;
    Ok(Tool::new(NAME, installation.path("bin/bitrab"))
        .run_with(&["run", "--no-tui", "--yes"])
        .list_with(&["list"]))
}
