//! Runs a stage by the transport of its job.

use crate::job::container::ended;
use crate::job::container::execs::Execs;
use crate::job::container::watch::ContainerEnd;
use crate::job::stage::agent::AgentRunner;
use crate::job::stage::attach::AttachRunner;
use crate::job::stage::exec::ExecRunner;
use crate::job::stage::helper::Helper;
use crate::job::stage::stage_run::{KILLED, SAME_KILL, SOON, Stage, Timing, seen_within};
use crate::job::stage::status;
use executor_core::{
    BuildError, BuildStage, ExitCode, JobTraceExt, Placement, StageResult, StageStatus,
};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

/// The exit code of a process that could not be started.
const NOT_STARTED: ExitCode = ExitCode(126);

/// How long before a container's end the kernel may have killed the process that ended it.
const RECENT: Duration = Duration::from_secs(10);

/// Runs stages by one of the transports.
#[derive(Debug)]
pub(crate) enum StageRunner {
    /// Through the agent.
    Agent(AgentRunner),
    /// Each stage is an exec.
    Exec(ExecRunner),
    /// Each stage is a start of a container.
    Attach(Box<AttachRunner>),
}

impl StageRunner {
    /// Runs a stage to its end.
    pub(crate) async fn run(
        &mut self,
        stage: Stage<'_>,
        timing: Timing,
    ) -> Result<StageResult, BuildError> {
        if stage.command.stage == BuildStage::StepRun
            && let Some(reason) = self.reason_without_agent()
        {
            return Err(BuildError::config(format!(
                "the steps of `run` need the agent in the container: {reason}"
            )));
        }
        let begun = Instant::now();
        let end = self.end();
        let had_ended = end.as_ref().is_some_and(|end| end.borrow().is_some());
        let ran = match self {
            Self::Agent(engine) => {
                engine.timing = timing;
                engine.run(stage).await
            }
            Self::Exec(engine) => {
                engine.timing = timing;
                engine.run(stage).await
            }
            Self::Attach(engine) => {
                engine.timing = timing;
                // The container ends with each stage.
                return engine.run(stage).await;
            }
        };
        let mut result = match ran {
            Ok(result) => result,
            Err(error) => {
                if had_ended || stage.cancellation.is_canceled() {
                    return Err(error);
                }
                tracing::debug!(error = %error.chain(), "The stage may have died with its container.");
                if ran_out_of_memory(end, stage.container, begun).await {
                    return Ok(out_of_memory(begun.elapsed()));
                }
                return self.ended_by_script(&stage, begun).await.ok_or(error);
            }
        };
        if result.status.exit_code() == KILLED
            && let Some(died) = self.explain_kill(&mut result, &stage, begun).await
        {
            let result = self.ended_by_script(&stage, begun).await;
            return result.ok_or_else(|| lost(&died, stage.container));
        }
        if result.oom_killed {
            // If the container died, the next stage must find it dead.
            ran_out_of_memory(end, stage.container, begun).await;
        }
        // The engine starts nothing in a container that is gone.
        if result.status.exit_code() == NOT_STARTED
            && let Some(died) = seen_within(Duration::ZERO, stage.container, |_| true).await
        {
            return Err(lost(&died, stage.container));
        }
        Ok(result)
    }

    /// Finds out why a stage was killed: records it if the memory ran out, or returns the end of its container.
    async fn explain_kill(
        &self,
        result: &mut StageResult,
        stage: &Stage<'_>,
        begun: Instant,
    ) -> Option<ContainerEnd> {
        let Execs {
            engine, container, ..
        } = stage.container;
        let probe = status::probe(stage.container, self.shell()).await;
        let may_be_memory = probe.is_none_or(|probe| probe.has_oom_kills);
        if !result.oom_killed && may_be_memory {
            result.oom_killed = status::ran_out_of_memory(engine, container, begun).await;
        }
        // The death of the container kills the stage too, which is then not the stage's own end. The engine may notice the
        // container's end a little later. One that was restarted runs again.
        let runs = probe.is_some() && !status::container_has_died(stage.container, begun).await;
        let patience = if runs || result.oom_killed {
            Duration::ZERO
        } else {
            SAME_KILL
        };
        let mut end = self.end()?;
        let died = tokio::select! {
            died = timeout(patience, ended(&mut end)) => died.ok()?,
            _ = stage.cancellation.canceled() => return None,
        };
        result.oom_killed |= died.is_out_of_memory();
        Some(died).filter(|died| !died.is_out_of_memory())
    }

    /// Returns the result of a script whose container has ended, unless something outside of the container ended it.
    async fn ended_by_script(&self, stage: &Stage<'_>, begun: Instant) -> Option<StageResult> {
        let mut end = self.end()?;
        let of_user = stage.command.placement == Placement::User;
        let end = timeout(SOON, ended(&mut end)).await.ok()?;
        let ContainerEnd::Ended { code, .. } = end else {
            return None;
        };
        if !of_user || !status::has_ended_by_itself(stage.container, begun).await {
            return None;
        }
        stage.trace.warning_line(&format!(
            "the main process of the container ended with exit code {code} during the script, and nothing outside of \
             the container ended it"
        ));
        let code = if code == 0 { KILLED.0.into() } else { code };
        Some(status::result_of(code, begun.elapsed(), [0, 0]))
    }

    /// Returns the receiver of the container's end; none where it ends with each stage.
    fn end(&self) -> Option<watch::Receiver<Option<ContainerEnd>>> {
        match self {
            Self::Agent(engine) => Some(engine.end.clone()),
            Self::Exec(engine) => Some(engine.end.clone()),
            Self::Attach(_) => None,
        }
    }

    /// Returns why there is no agent; `None` if there is one.
    fn reason_without_agent(&self) -> Option<String> {
        let by_setting = |engine: &str| {
            format!(
                "the setting engine = \"{engine}\" runs scripts without it; use \"auto\" or \"agent\""
            )
        };
        match self {
            Self::Agent(_) => None,
            Self::Exec(engine) => {
                let reason = engine.agent_unavailable.clone();
                Some(reason.unwrap_or_else(|| by_setting("exec")))
            }
            Self::Attach(_) => Some(by_setting("attach")),
        }
    }

    /// Returns the shell of the container.
    fn shell(&self) -> &str {
        match self {
            Self::Agent(engine) => &engine.shell,
            Self::Exec(engine) => &engine.shell,
            Self::Attach(_) => "sh",
        }
    }

    /// Returns the helper container, if there is one.
    pub(crate) fn helper(&mut self) -> Option<&mut Helper> {
        match self {
            Self::Attach(engine) => Some(&mut engine.helper),
            Self::Agent(_) | Self::Exec(_) => None,
        }
    }

    /// Returns whether it writes file variables itself.
    pub(crate) fn writes_files(&self) -> bool {
        matches!(self, Self::Agent(_))
    }
}

/// Returns whether the container ends because the memory ran out: then the stage failed, not its environment. The
/// connection may break a little before.
async fn ran_out_of_memory(
    end: Option<watch::Receiver<Option<ContainerEnd>>>,
    container: &Execs,
    begun: Instant,
) -> bool {
    let Some(mut end) = end else {
        return false;
    };
    match timeout(SOON, ended(&mut end)).await {
        Ok(end) if end.is_out_of_memory() => true,
        // The engine may report the reason after the end. An old kill is not the reason.
        Ok(ContainerEnd::Ended { code: 137, .. }) => {
            let recently = Instant::now().checked_sub(RECENT);
            let since = recently.map_or(begun, |recently| recently.max(begun));
            status::ran_out_of_memory(&container.engine, &container.container, since).await
        }
        Ok(_) | Err(_) => false,
    }
}

fn lost(end: &ContainerEnd, container: &Execs) -> BuildError {
    BuildError::from(end.error(&container.name)).given_up()
}

/// Returns the result of a stage that died with its container.
fn out_of_memory(duration: Duration) -> StageResult {
    StageResult {
        oom_killed: true,
        duration,
        ..StageResult::new(StageStatus::Exited(KILLED))
    }
}
