//! Runs a real pipeline on this machine: about ten jobs that check, compile, test and package the small
//! project in `../word-count/`.
//!
//! ```console
//! $ cargo run --release --example local-pipeline            # the project beside this file
//! $ cargo run --release --example local-pipeline -- DIR     # a repository of your own
//! ```
//!
//! It shows how a program embeds Runwright: find the project, prepare a run with an executor, watch the
//! events, read the report.

#![expect(clippy::print_stdout, reason = "an example prints what it shows")]

use anyhow::Context;
use console::{Console, SummaryHints, View, summary};
use process::{CaptureLimits, Command, NeverStop, Settings, Supervisor};
use runwright::Cancellation;
use runwright::shell::ShellConfig;
use runwright::{LocalProject, LocalRun, PipelineOptions, StateDir};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    let scratch = tempfile::tempdir()?;
    let directory = match std::env::args_os().nth(1) {
        Some(directory) => PathBuf::from(directory),
        None => copy_of_word_count(scratch.path()).await?,
    };

    let project = LocalProject::find(&directory, None)?;
    let (pipeline, warnings) = project.read(&PipelineOptions::default())?.into_result()?;
    print!("{warnings}");

    let state = StateDir::at(scratch.path().join("state"));
    let shell = ShellConfig {
        login: false,
        ..ShellConfig::default()
    };
    let run = LocalRun::builder(&pipeline)
        .state(state)
        .executor(shell)
        .prepare()
        .await?;

    let view = View::of_stdout();
    let console = Arc::new(Console::start(view, std::io::stdout())?);
    let sink = Arc::clone(&console);
    let report = run.execute(sink, &Cancellation::new()).await?;
    let hints = SummaryHints {
        // The logs are removed with the scratch directory when this program ends.
        log: &|_pipeline, _job| None,
        again: &|job| format!("runwright run {job}"),
        play: &|_pipeline, job| format!("runwright run --manual {job}"),
        // Without earlier runs there are no usual durations.
        times: false,
    };
    console.write(&summary(&report, view.style, &hints));
    console.finish()?;
    Ok(ExitCode::from(report.exit.code()))
}

/// Copies the project beside this file into a repository of its own. Jobs see the commit they run for, and
/// the original lies in the repository of Runwright.
async fn copy_of_word_count(scratch: &Path) -> anyhow::Result<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../word-count");
    let target = scratch.join("word-count");
    copy(&source, &target).with_context(|| format!("copy {}", source.display()))?;
    git(&target, &["init", "--quiet", "--initial-branch=main"]).await?;
    git(&target, &["add", "--all"]).await?;
    git(&target, &["commit", "--quiet", "--message=Count words"]).await?;
    Ok(target)
}

fn copy(source: &Path, target: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(target)?;
    for entry in std::fs::read_dir(source)? {
        let entry = entry?;
        let to = target.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &to)?;
        } else {
            std::fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}

async fn git(directory: &Path, arguments: &[&str]) -> anyhow::Result<()> {
    let supervisor = Supervisor::start(Settings::default())?;
    let command = Command::new("git")
        .args([
            "-c",
            "user.name=Example",
            "-c",
            "user.email=example@example.com",
        ])
        .args(["-c", "commit.gpgsign=false"])
        .args(arguments)
        .envs(std::env::vars_os())
        .current_dir(directory);
    let tree = supervisor.tree();
    let done = tree
        .output(&command, &CaptureLimits::default(), &NeverStop)
        .await?;
    let complaint = String::from_utf8_lossy(&done.stderr);
    anyhow::ensure!(done.outcome.success(), "git {arguments:?}: {complaint}");
    tree.close().await?;
    Ok(supervisor.shutdown().await?)
}
