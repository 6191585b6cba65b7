//! The supervisor of a run's processes, and the leftovers of dead runs.

use crate::error::LocalError;
use crate::history::state::StateDir;
use fail_point::fail_point;
use process::{ProcessError, Recovered, Settings, Supervisor};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Ends the processes of dead runs and removes their directories. What cannot be removed now is left for
/// the next run.
///
/// The leftovers of the run in the directory `resumed` stay. No other process removes them while the
/// result lives.
pub(crate) async fn recover(
    state: StateDir,
    resumed: Option<PathBuf>,
) -> Result<Vec<Recovered>, LocalError> {
    // Without a journal there is nothing to recover, and a thread for it would cost time.
    let journals = state.path().join("journal");
    if std::fs::read_dir(journals).is_ok_and(|mut found| found.next().is_none()) {
        return Ok(Vec::new());
    }
    let recover = move || -> Result<Vec<Recovered>, ProcessError> {
        let mut recovered = process::recover(state.path())?;
        for run in &mut recovered {
            // A spared run is forgotten later, and what could not be removed must not be forgotten.
            if !is_of(run, resumed.as_deref()) || !run.failures.is_empty() {
                run.remove_kept();
            }
        }
        Ok(recovered)
    };
    let recovered = tokio::task::spawn_blocking(recover).await;
    let mut spared = Vec::new();
    for run in recovered.unwrap_or_else(|_| Ok(Vec::new()))? {
        log(&run);
        if !run.kept.is_empty() {
            spared.push(run);
        } else if run.failures.is_empty() && run.others.is_empty() {
            run.forget()?;
        }
    }
    Ok(spared)
}

/// How long the guardian of a killed run may take.
const GUARDIAN: Duration = Duration::from_secs(30);

/// Waits until the guardians of killed runs have done their work, and does the work of those that were killed too. The state
/// directory is that of one run at a time; its directories may have the names of earlier ones.
///
/// # Errors
///
/// When the state directory cannot be read.
pub fn succeed_killed_run(state: &StateDir) -> Result<(), LocalError> {
    if let Err(error) = process::wait_for_guardians(state.path(), GUARDIAN) {
        let error = &error as &dyn std::error::Error;
        tracing::warn!(error, "The clean-up after a killed run may not be over.");
    }
    end_orphans(state).map(drop)
}

/// Ends the processes of killed runs whose guardians were killed too, and returns the number of these runs. What a
/// resumed run takes over stays. Blocks while processes end.
///
/// # Errors
///
/// When the journals of runs cannot be read.
pub fn end_orphans(state: &StateDir) -> Result<usize, LocalError> {
    let recovered = process::recover(state.path())?;
    recovered.iter().for_each(log);
    let had_processes = |run: &&Recovered| run.killed > 0 || !run.cgroups.is_empty();
    Ok(recovered.iter().filter(had_processes).count())
}

fn log(run: &Recovered) {
    tracing::info!(
        run = run.run,
        processes = run.killed,
        directories = run.directories.len(),
        "Removed the leftovers of an earlier run."
    );
    for failure in &run.failures {
        tracing::warn!(
            run = run.run,
            failure,
            "A leftover of an earlier run cannot be removed now."
        );
    }
}

/// Returns whether the leftovers of a dead run are those of the run in this directory.
fn is_of(run: &Recovered, directory: Option<&Path>) -> bool {
    let mut left = run.kept.iter();
    left.any(|path| directory.is_some() && path.parent() == directory)
}

/// Records the leftovers of a dead run as this run's own, and returns the directories.
pub(super) fn adopt_leftovers(
    spared: Vec<Recovered>,
    supervisor: &Supervisor,
) -> Result<Vec<PathBuf>, LocalError> {
    let mut adopted = Vec::new();
    for run in spared {
        for path in &run.kept {
            if let Some(journal) = supervisor.journal() {
                journal.record_kept(path)?;
            }
            adopted.push(path.clone());
        }
        run.forget()?;
    }
    Ok(adopted)
}

/// Removes adopted leftovers at the end of the run.
pub(super) async fn remove_leftovers(leftovers: &[PathBuf], supervisor: &Supervisor) {
    for path in leftovers {
        let step = process::remove_tree_off_thread(path).await;
        let removed = fail_point!("workstation::supervision::remove_left", step);
        match (removed, supervisor.journal()) {
            (Ok(()), Some(journal)) => {
                // If this fails, a later run looks for a directory that is gone, without harm.
                let _ = journal.forget_kept(path);
            }
            (Ok(()), None) => {}
            (Err(error), _) => {
                let path = path.display();
                tracing::warn!(%path, %error, "A build directory stays for the next run to remove.");
            }
        }
    }
}

/// Starts the supervisor of a run. If this process is killed, a guardian ends the processes and removes the directories.
///
/// # Errors
///
/// When the journal in the state directory cannot be written.
pub fn supervise(state: &StateDir) -> Result<Supervisor, LocalError> {
    let settings = Settings {
        state_dir: Some(state.path().to_owned()),
        ..Settings::default()
    };
    Ok(Supervisor::start(settings)?)
}

/// Ends the processes of a run.
pub(super) async fn shut_down(supervisor: Supervisor) {
    if let Err(error) = supervisor.shutdown().await {
        tracing::warn!(
            error = &error as &dyn std::error::Error,
            "Processes of the run are left to its guardian."
        );
    }
}
