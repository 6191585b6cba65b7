//! What starts the processes of a run, and ends what dead runs have left.

use crate::error::LocalError;
use crate::history::state::StateDir;
use fail_point::fail_point;
use process::{ProcessError, Recovered, Settings, Supervisor};
use std::path::{Path, PathBuf};

/// Ends what dead runs have left. What cannot be removed now waits for the next run.
///
/// What was left of the run in the directory `resumed` stays, and is nobody else's as long as the result
/// lives.
pub(crate) async fn recover(
    state: StateDir,
    resumed: Option<PathBuf>,
) -> Result<Vec<Recovered>, LocalError> {
    // Without a journal there is nothing to wait for, and a thread for it would cost more.
    let journals = state.path().join("journal");
    if std::fs::read_dir(journals).is_ok_and(|mut found| found.next().is_none()) {
        return Ok(Vec::new());
    }
    let recover = move || -> Result<Vec<Recovered>, ProcessError> {
        let mut recovered = process::recover(state.path())?;
        for run in &mut recovered {
            // What is spared is forgotten there, and what could not be removed must not be.
            if !is_of(run, resumed.as_deref()) || !run.failures.is_empty() {
                run.remove_left();
            }
        }
        Ok(recovered)
    };
    let recovered = tokio::task::spawn_blocking(recover).await;
    let mut spared = Vec::new();
    for run in recovered.unwrap_or_else(|_| Ok(Vec::new()))? {
        tracing::info!(?run, "Removed what an earlier run left.");
        for failure in &run.failures {
            tracing::warn!(
                run = run.run,
                failure,
                "Something of an earlier run is left for now."
            );
        }
        if !run.left.is_empty() {
            spared.push(run);
        } else if run.failures.is_empty() && run.others.is_empty() {
            run.forget()?;
        }
    }
    Ok(spared)
}

/// Returns whether what was left of a dead run is that of the run in this directory.
fn is_of(run: &Recovered, directory: Option<&Path>) -> bool {
    let mut left = run.left.iter();
    left.any(|path| directory.is_some() && path.parent() == directory)
}

/// Makes what was left of a dead run this run's own, and returns the directories.
pub(super) fn take_left(
    spared: Vec<Recovered>,
    supervisor: &Supervisor,
) -> Result<Vec<PathBuf>, LocalError> {
    let mut taken = Vec::new();
    for run in spared {
        for path in &run.left {
            if let Some(journal) = supervisor.journal() {
                journal.record_left(path)?;
            }
            taken.push(path.clone());
        }
        run.forget()?;
    }
    Ok(taken)
}

/// Removes what was left, now that nobody needs it any more.
pub(super) async fn remove_left(left: &[PathBuf], supervisor: &Supervisor) {
    for path in left {
        let step = process::remove_tree_off_thread(path).await;
        let removed = fail_point!("runwright::supervision::remove_left", step);
        match (removed, supervisor.journal()) {
            (Ok(()), Some(journal)) => {
                // Should this fail, there is one more directory to look for that is gone.
                let _ = journal.forget_left(path);
            }
            (Ok(()), None) => {}
            (Err(error), _) => {
                let path = path.display();
                tracing::warn!(%path, %error, "A build directory stays for the next run to remove.");
            }
        }
    }
}

pub(crate) fn supervise(state: &StateDir) -> Result<Supervisor, LocalError> {
    let settings = Settings {
        state_dir: Some(state.path().to_owned()),
        ..Settings::default()
    };
    Ok(Supervisor::start(settings)?)
}

pub(super) async fn end(supervisor: Supervisor) {
    if let Err(error) = supervisor.shutdown().await {
        tracing::warn!(
            error = &error as &dyn std::error::Error,
            "Processes of the run are left to its guardian."
        );
    }
}
