use process::{Containment, ProcessError, ProcessTree, Settings, Supervisor};
use std::path::PathBuf;

/// The processes of git for one or several calls.
///
/// Git stays in its process group, so no cgroup is needed to end it.
#[derive(Debug)]
pub struct GitProcesses {
    supervisor: Supervisor,
    tree: ProcessTree,
}

impl GitProcesses {
    /// Prepares to start git. Call it inside a tokio runtime.
    ///
    /// With `state_dir`, a guardian ends git should this program be killed: git waits for a silent server without limit.
    /// Git that only reads files of this machine needs none, since it ends by itself.
    ///
    /// # Errors
    ///
    /// Fails if the journal in `state_dir` cannot be written.
    pub fn start(state_dir: Option<PathBuf>) -> Result<Self, ProcessError> {
        let settings = Settings {
            containment: Containment::ProcessGroup,
            state_dir,
            ..Settings::default()
        };
        let supervisor = Supervisor::start(settings)?;
        let tree = supervisor.tree();
        Ok(Self { supervisor, tree })
    }

    /// Returns the tree that git's processes belong to.
    pub fn tree(&self) -> &ProcessTree {
        &self.tree
    }

    /// Ends what still runs. A failure is logged: the caller has its output already.
    pub async fn close(self) {
        let closed = async {
            self.tree.close().await?;
            self.supervisor.shutdown().await
        };
        if let Err(error) = closed.await {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, "Processes of git may remain.");
        }
    }
}
