//! Which of the ways to run stages a job gets.

use crate::config::EngineChoice;
use crate::error::DockerError;
use crate::image::ImageInfo;
use steps::agent::{Agent, AgentError};

/// How stages get into the container.
#[derive(Debug, Clone)]
pub(crate) enum Tactic {
    /// The main process is this agent.
    Agent(Agent),
    /// Each stage is an exec.
    Exec,
}

/// Why a job does not get the first choice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fallback(pub(crate) String);

/// Decides, and says why it is not the agent where nobody asked for another.
pub(crate) fn choose(
    choice: EngineChoice,
    agent: Result<Agent, AgentError>,
    image: &ImageInfo,
) -> Result<(Tactic, Option<Fallback>), DockerError> {
    let refused = match (choice, agent) {
        (EngineChoice::Exec, _) => return Ok((Tactic::Exec, None)),
        (EngineChoice::Attach, _) => {
            return Err(DockerError::config(
                "engine = \"attach\" is not there; use \"agent\" or \"exec\"",
            ));
        }
        (_, Ok(agent)) => {
            // An image that does not say what it is for is tried.
            let known = !image.os.is_empty() && !image.architecture.is_empty();
            if !known || agent.runs_on(&image.os, &image.architecture) {
                return Ok((Tactic::Agent(agent), None));
            }
            format!(
                "the agent does not run on {}/{}",
                image.os, image.architecture
            )
        }
        (_, Err(error)) => executor_core::chain(&error),
    };
    match choice {
        EngineChoice::Agent => Err(DockerError::config(format!(
            "engine = \"agent\" cannot be: {refused}"
        ))),
        _ => Ok((Tactic::Exec, Some(Fallback(refused)))),
    }
}
