//! The agent of a pod that answers.

use crate::agent::{Found, PodAgent};
use crate::cluster::ANSWER;
use crate::config::NAME;
use crate::created::Created;
use executor_core::{BuildError, Cancellation, JobTrace};
use std::sync::Arc;
use std::time::Duration;
use steps::agent::Agent;
use steps::{ClientOptions, StepsClient};

/// The client of an agent, and the way to it.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) agent: Arc<PodAgent>,
    pub(crate) client: StepsClient,
    pub(crate) found: Found,
}

impl Link {
    /// Connects with the agent of a pod that runs, after sending it unless it is there. Each connection creates `directories`.
    ///
    /// As long as the agent waits for a client, which is `lost_after`, the client comes back.
    pub(crate) async fn open(
        created: &Created,
        directories: &[&str],
        trace: Option<Arc<dyn JobTrace>>,
        program: Option<Agent>,
        lost_after: Duration,
        cancellation: &Cancellation,
    ) -> Result<Self, BuildError> {
        let agent = created.agent(directories, trace)?;
        let found = agent.start(program, cancellation).await?;
        Self::of(agent, found, lost_after, cancellation).await
    }

    /// Returns the client of an agent that listens.
    pub(crate) async fn of(
        agent: PodAgent,
        found: Found,
        lost_after: Duration,
        cancellation: &Cancellation,
    ) -> Result<Self, BuildError> {
        let agent = Arc::new(agent);
        let options = ClientOptions {
            // The API server may ask for a pause, or a login be read again.
            connect_timeout: ANSWER,
            lost_after,
            ..ClientOptions::default()
        };
        let client = StepsClient::new(Arc::clone(&agent) as Arc<_>, options);
        client.hello(cancellation).await?;
        Ok(Self {
            agent,
            client,
            found,
        })
    }
}

/// Returns the program of the agent.
pub(crate) async fn program() -> Result<Agent, BuildError> {
    match tokio::task::spawn_blocking(steps::agent::find).await {
        Ok(Ok(agent)) => Ok(agent),
        Ok(Err(error)) => Err(BuildError::config(executor_core::chain(&error))),
        Err(error) => Err(BuildError::system(NAME, "find the agent", error)),
    }
}
