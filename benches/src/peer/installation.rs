//! A directory in which a peer is installed once.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use process::Command;

use crate::Bench;

/// The limit for one command of a package manager, including downloads.
const DEADLINE: Duration = Duration::from_mins(3);

/// Written last: a directory without it is incomplete.
const MARKER: &str = "complete";

/// The directory of one peer at one version.
#[derive(Debug)]
pub(super) struct Installation {
    directory: PathBuf,
}

impl Installation {
    /// Runs `commands` in an empty directory, unless all of them succeeded there before.
    ///
    /// The commands inherit the environment of the bench, which configures proxies and mirrors.
    pub(super) async fn make(
        bench: &Bench,
        name: &str,
        commands: impl FnOnce(&Path) -> Vec<Command>,
    ) -> anyhow::Result<Self> {
        let directory = bench.target().join("bench-peers").join(name);
        let marker = directory.join(MARKER);
        if !marker.exists() {
            if directory.exists() {
                fs::remove_dir_all(&directory).context("remove half an installation")?;
            }
            fs::create_dir_all(&directory).context("make a directory for a peer")?;
            for command in commands(&directory) {
                let command = command.envs(std::env::vars_os()).current_dir(&directory);
                let run = bench.run_within(&command, DEADLINE).await;
                run.and_then(crate::Run::succeeded)
                    .with_context(|| format!("install {name} with {}", command.program()))?;
            }
            fs::write(&marker, "")?;
        }
        Ok(Self { directory })
    }

    /// Returns the path of an installed file.
    pub(super) fn path(&self, relative: &str) -> PathBuf {
        self.directory.join(relative)
    }
}

/// Fails with a message for the user if a program is not on `PATH`.
pub(super) fn require(program: &str, reason: &str) -> anyhow::Result<()> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|directory| directory.join(program).is_file());
    anyhow::ensure!(found, "{program} is not on PATH; {reason}");
    Ok(())
}
