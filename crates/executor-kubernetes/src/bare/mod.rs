//! Jobs without the agent: each stage is a command of its own in the pod.

mod files;
mod stage;

pub(crate) use stage::BareStage;

use crate::agent::Found;
use crate::created::Created;
use crate::error::KubernetesError;
use crate::exec::PodExec;
use crate::pod::AGENT;
use executor_core::Cancellation;
use executor_core::ability::FileTransfer;
use files::TarFiles;
use shells::quote_sh;
use std::sync::Arc;
use std::time::Duration;

/// How long the first command in a container may take.
const OPEN_WITHIN: Duration = Duration::from_secs(30);

/// The commands in the container of a job.
#[derive(Debug)]
pub(crate) struct BarePod {
    pub(crate) exec: PodExec,
    pub(crate) found: Found,
}

impl BarePod {
    /// Keeps the container of a running pod alive without an agent, and creates `directories`.
    pub(crate) async fn open(
        created: &Created,
        directories: &[&str],
        cancellation: &Cancellation,
    ) -> Result<Self, KubernetesError> {
        let mut script = "mkdir -p --".to_owned();
        for directory in directories {
            let word = quote_sh(directory);
            let word = word.map_err(|error| KubernetesError::Config(error.to_string()))?;
            script.extend([" ", &word]);
        }
        let alive = alive_file();
        script.extend([
            " || exit 1\n: >",
            &alive,
            " || exit 1\ncommand -v bash || :",
        ]);
        let pod = created.agent(&[""; 0], None)?;
        let exec = pod.exec.clone();
        let bash = tokio::select! {
            bash = pod.again(|| exec.run(&script, &[], OPEN_WITHIN)) => bash?,
            cause = cancellation.canceled() => return Err(KubernetesError::Canceled(cause)),
        };
        let bash = bash.trim().to_owned();
        let found = Found { bash };
        Ok(Self { exec, found })
    }

    pub(crate) fn files(&self) -> Arc<dyn FileTransfer> {
        Arc::new(TarFiles(self.exec.clone()))
    }
}

/// Returns the file without which the container ends. The runner creates it, and a stage whose connection broke removes it.
pub(crate) fn alive_file() -> String {
    format!("{AGENT}/alive")
}
