//! What starts the processes of a run, and ends what dead runs have left.

use crate::local::error::LocalError;
use crate::local::state::StateDir;
use process::{Settings, Supervisor};

/// Ends what dead runs have left. What cannot be removed now waits for the next run.
pub(super) async fn recover(state: StateDir) -> Result<(), LocalError> {
    // Without a journal there is nothing to wait for, and a thread for it would cost more.
    let journals = state.path().join("journal");
    if std::fs::read_dir(journals).is_ok_and(|mut found| found.next().is_none()) {
        return Ok(());
    }
    let recovered = tokio::task::spawn_blocking(move || process::recover(state.path())).await;
    for run in recovered.unwrap_or_else(|_| Ok(Vec::new()))? {
        tracing::info!(?run, "Removed what an earlier run left.");
        for failure in &run.failures {
            tracing::warn!(
                run = run.run,
                failure,
                "Something of an earlier run is left for now."
            );
        }
    }
    Ok(())
}

pub(super) fn supervise(state: &StateDir) -> Result<Supervisor, LocalError> {
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
