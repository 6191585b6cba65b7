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
    /// Each stage is a start of a container.
    Attach,
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
        (EngineChoice::Attach, _) => return Ok((Tactic::Attach, None)),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::ImageReference;
    use bollard::models::ImageInspect;

    fn check(choice: EngineChoice, expect: Result<(&str, Option<&str>), &str>) {
        let reference = ImageReference::parse("app:1").unwrap();
        let image = ImageInfo::of(&reference, ImageInspect::default());
        match (choose(choice, Err(AgentError::Absent), &image), expect) {
            (Ok((tactic, fallback)), Ok((name, reason))) => {
                assert!(format!("{tactic:?}").starts_with(name), "{tactic:?}");
                let fallback = fallback.map(|Fallback(reason)| reason);
                let said = fallback.as_deref().zip(reason);
                assert_eq!(fallback.is_some(), reason.is_some(), "{choice:?}");
                assert!(
                    said.is_none_or(|(said, part)| said.contains(part)),
                    "{said:?}"
                );
            }
            (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{error}"),
            (found, _) => panic!("{choice:?} gave {found:?}"),
        }
    }

    #[test]
    fn without_an_agent_only_who_asks_for_it_is_refused() {
        check(EngineChoice::Auto, Ok(("Exec", Some("RUNWRIGHT_AGENT"))));
        check(EngineChoice::Exec, Ok(("Exec", None)));
        check(EngineChoice::Attach, Ok(("Attach", None)));
        check(EngineChoice::Agent, Err("engine = \"agent\" cannot be"));
    }
}
