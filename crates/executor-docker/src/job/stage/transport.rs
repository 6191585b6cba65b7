//! Chooses how the stages of a job reach its container.

use crate::config::EngineChoice;
use crate::error::DockerError;
use crate::image::ImageInfo;
use crate::job::stage::mark::new_mark;
use steps::agent::{Agent, AgentError, READY};

/// How stages get into the container.
#[derive(Debug, Clone)]
pub(crate) enum StageTransport {
    /// The main process is this agent.
    Agent(Agent),
    /// Each stage is an exec.
    Exec,
    /// Each stage is a start of a container.
    Attach,
}

impl StageTransport {
    /// Returns the text that the container's main process prints when it is ready.
    pub(crate) fn new_mark(&self) -> String {
        match self {
            Self::Agent(_) => READY.to_owned(),
            Self::Exec | Self::Attach => new_mark(),
        }
    }
}

/// The transport of a job.
#[derive(Debug)]
pub(crate) struct TransportChoice {
    pub(crate) transport: StageTransport,
    /// Why an automatic choice is not the agent.
    pub(crate) agent_unavailable: Option<String>,
}

impl From<StageTransport> for TransportChoice {
    fn from(transport: StageTransport) -> Self {
        Self {
            transport,
            agent_unavailable: None,
        }
    }
}

/// Chooses the transport for an image.
///
/// # Errors
///
/// When the settings require the agent and it cannot run.
pub(crate) fn choose(
    choice: EngineChoice,
    agent: Result<Agent, AgentError>,
    image: &ImageInfo,
) -> Result<TransportChoice, DockerError> {
    let refused = match (choice, agent) {
        (EngineChoice::Exec, _) => return Ok(StageTransport::Exec.into()),
        (EngineChoice::Attach, _) => return Ok(StageTransport::Attach.into()),
        (_, Ok(agent)) => {
            // An image that does not say what it is for is tried.
            let known = !image.os.is_empty() && !image.architecture.is_empty();
            if !known || agent.runs_on(&image.os, &image.architecture) {
                return Ok(StageTransport::Agent(agent).into());
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
            "engine = \"agent\" is not possible: {refused}"
        ))),
        _ => Ok(TransportChoice {
            transport: StageTransport::Exec,
            agent_unavailable: Some(refused),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::ImageReference;
    use bollard::models::ImageInspect;

    fn check(choice: EngineChoice, expect: Result<(&str, Option<&str>), &str>) {
        let reference = ImageReference::parse("app:1").unwrap();
        let image = ImageInfo::of(&reference, ImageInspect::default());
        match (choose(choice, Err(AgentError::Absent), &image), expect) {
            (Ok(chosen), Ok((name, reason))) => {
                let transport = format!("{:?}", chosen.transport);
                assert!(transport.starts_with(name), "{transport}");
                let found = chosen.agent_unavailable;
                assert_eq!(found.is_some(), reason.is_some(), "{choice:?}");
                if let (Some(found), Some(part)) = (found, reason) {
                    assert!(found.contains(part), "{found:?}");
                }
            }
            (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{error}"),
            (found, _) => panic!("{choice:?} gave {found:?}"),
        }
    }

    #[test]
    fn without_an_agent_only_an_explicit_choice_of_it_is_refused() {
        check(EngineChoice::Auto, Ok(("Exec", Some("RUNWRIGHT_AGENT"))));
        check(EngineChoice::Exec, Ok(("Exec", None)));
        check(EngineChoice::Attach, Ok(("Attach", None)));
        check(
            EngineChoice::Agent,
            Err("engine = \"agent\" is not possible"),
        );
    }
}
