//! Connections to the agent in a container.

use crate::job::container::agent_place;
use crate::job::container::exec_stream::ExecStream;
use crate::job::container::execs::{ExecPlan, Execs};
use crate::job::container::watch::ContainerEnd;
use executor_core::ability::{Connection, StepsConnector};
use executor_core::{BuildError, Cancellation};
use std::path::PathBuf;
use tokio::sync::watch;

/// Connects to the agent's socket on this host, or else by an exec of the agent's proxy.
#[derive(Debug, Clone)]
pub(crate) struct AgentConnector {
    pub(crate) execs: Execs,
    /// The command of the proxy.
    pub(crate) command: Vec<String>,
    /// The agent's socket on this host, if there is one.
    pub(crate) socket: Option<PathBuf>,
    pub(crate) end: watch::Receiver<Option<ContainerEnd>>,
}

#[async_trait::async_trait]
impl StepsConnector for AgentConnector {
    async fn connect(
        &self,
        cancellation: &Cancellation,
    ) -> Result<Box<dyn Connection>, BuildError> {
        let lost = self
            .end
            .borrow()
            .as_ref()
            .map(|end| end.error(&self.execs.name));
        if let Some(lost) = lost {
            return Err(BuildError::from(lost).given_up());
        }
        if let Some(socket) = &self.socket {
            match agent_place::connect(socket).await {
                Ok(stream) => return Ok(Box::new(stream)),
                Err(error) => tracing::debug!(%error, "The agent's socket cannot be used."),
            }
        }
        let plan = ExecPlan {
            command: self.command.clone(),
            with_input: true,
            ..ExecPlan::default()
        };
        tokio::select! {
            started = self.execs.start(plan) => {
                Ok(Box::new(ExecStream::new(started?, Vec::new())))
            }
            cause = cancellation.canceled() => Err(cause.into()),
        }
    }
}
