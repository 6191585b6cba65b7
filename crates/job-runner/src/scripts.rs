use crate::limit::{Expired, Limit, within};
use crate::stages::{Stages, environment_is_lost};
use executor_core::job::{Step, StepWhen};
use executor_core::trace::JobTraceExt;
use executor_core::{BuildError, BuildStage, CancelCause, Cancellation, HumanDuration, StopLevel};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

impl Stages<'_, '_> {
    /// Runs the user's steps and then `after_script`, also after a failure.
    ///
    /// # Errors
    ///
    /// The error of the first failed step; one of `after_script` only when the job asks for it.
    ///
    /// # Cancellation
    ///
    /// After a cancel, the script is stopped and `after_script` runs; after an abort it does not.
    pub(crate) async fn scripts(&mut self) -> Result<(), BuildError> {
        let result = self.steps().await;
        if let Err(error) = &result {
            self.visit_failure(error).await;
        }
        if self.build.cancellation.is_aborted() {
            return result;
        }
        if environment_is_lost(&result) {
            // In a resumed job it may have run already.
            if self.build.has_after_script() && !self.build.is_resumed() {
                let warning = "after_script does not run: the environment of the job is lost";
                self.build.log.warning_line(warning);
            }
            return result;
        }
        match self.after_script(&result).await {
            Ok(()) => result,
            Err(error) if result.is_ok() && self.after_script_counts() => Err(error),
            Err(error) => {
                let warning = format!("after_script failed: {}", error.chain());
                self.build.log.warning_line(&warning);
                result
            }
        }
    }

    /// Runs these commands as the job's script, and nothing else.
    pub(crate) async fn run_instead(&mut self, commands: Vec<String>) -> Result<(), BuildError> {
        let step = Step {
            name: Step::SCRIPT.to_owned(),
            script: commands,
            timeout: 0,
            when: StepWhen::OnSuccess,
            allow_failure: false,
        };
        self.scripts.steps = vec![step.clone()];
        let scripts = self.build.cancellation.child();
        let own = scripts.child();
        let limits = self.script_limits(step.timeout, Instant::now(), &scripts, &own);
        within(self.script_stage(BuildStage::script(), &own), limits).await
    }

    async fn steps(&mut self) -> Result<(), BuildError> {
        let scripts = self.build.cancellation.child();
        let started = Instant::now();
        let attempts = self.attempts("EXECUTOR_JOB_SECTION_ATTEMPTS");
        let mut failure = None;
        let job = Arc::clone(&self.build.job);
        if !job.run.is_empty() {
            let own = scripts.child();
            let limits = self.script_limits(0, started, &scripts, &own);
            let ran = within(
                self.step_with_reattempts(&BuildStage::StepRun, attempts, &own),
                limits,
            )
            .await;
            self.note_early_stop(ran.as_ref().err());
            return ran;
        }
        for step in job
            .steps
            .iter()
            .filter(|step| step.name != Step::AFTER_SCRIPT)
        {
            let due = match step.when {
                StepWhen::OnSuccess => failure.is_none(),
                StepWhen::OnFailure => failure.is_some(),
                StepWhen::Always => true,
            };
            if !due {
                continue;
            }
            if let Some(cause) = scripts.cause() {
                failure.get_or_insert(BuildError::Canceled(cause));
                break;
            }
            let own = scripts.child();
            let limits = self.script_limits(step.timeout, started, &scripts, &own);
            let stage = BuildStage::Step(step.name.clone());
            let ran = within(self.step_with_reattempts(&stage, attempts, &own), limits).await;
            let Err(error) = ran else {
                continue;
            };
            if step.allow_failure && matches!(error, BuildError::Script { .. }) {
                let warning = format!("step {} failed, which it may: {}", step.name, error.chain());
                self.build.log.warning_line(&warning);
                continue;
            }
            failure.get_or_insert(error);
        }
        self.note_early_stop(failure.as_ref());
        failure.map_or(Ok(()), Err)
    }

    /// Runs a step, and runs it again when its environment failed, not its script.
    async fn step_with_reattempts(
        &mut self,
        stage: &BuildStage,
        attempts: u32,
        own: &Cancellation,
    ) -> Result<(), BuildError> {
        let mut attempt = 1;
        loop {
            let ran = if *stage == BuildStage::StepRun {
                let steps = self.build.job.run.clone();
                self.text_stage(stage.clone(), steps, own).await
            } else {
                self.script_stage(stage.clone(), own).await
            };
            match ran {
                Err(error) if error.is_temporary() && attempt < attempts => {
                    self.pause_after_failure(attempt, "run the step", &error, own)
                        .await;
                }
                other => return other,
            }
            own.check()?;
            attempt += 1;
        }
    }

    /// Returns the limits of a script; `seconds` is the timeout of its step, 0 for none.
    fn script_limits(
        &self,
        seconds: u64,
        started: Instant,
        scripts: &Cancellation,
        own: &Cancellation,
    ) -> Vec<Limit> {
        let cancel = |at, stops: &Cancellation, phase, limit| Limit {
            at,
            stops: stops.clone(),
            level: StopLevel::Cancel,
            expired: Expired { phase, limit },
        };
        let timeouts = &self.settings.timeouts;
        let deadlines = &self.settings.deadlines;
        let job = cancel(deadlines.work_ends(), scripts, "execution", timeouts.job);
        let kill = deadlines.script_killed_at().map(|at| Limit {
            at,
            level: StopLevel::Abort,
            ..job.clone()
        });
        let script = timeouts
            .script
            .map(|limit| cancel(started + limit, scripts, "script", limit));
        let step = (seconds > 0).then(|| {
            let limit = Duration::from_secs(seconds).min(timeouts.job);
            cancel(Instant::now() + limit, own, "step", limit)
        });
        [Some(job), kill, script, step]
            .into_iter()
            .flatten()
            .collect()
    }

    /// Logs why a script was stopped before the job's timeout.
    fn note_early_stop(&self, failure: Option<&BuildError>) {
        let Some(BuildError::Timeout {
            phase: "execution",
            limit,
        }) = failure
        else {
            return;
        };
        let left = self
            .settings
            .deadlines
            .end()
            .saturating_duration_since(Instant::now());
        if !left.is_zero() {
            self.build.log.warning_line(&format!(
                "the script was stopped: the rest of the job's {} is reserved for the stages after it",
                HumanDuration(*limit)
            ));
        }
    }

    async fn after_script(&mut self, result: &Result<(), BuildError>) -> Result<(), BuildError> {
        self.set_status(status_word(result))?;
        let finalisation = self.build.cancellation.child_for_finalisation();
        let own = self.settings.timeouts.after_script;
        let limit = |at, level| Limit {
            at,
            stops: finalisation.clone(),
            level,
            expired: Expired {
                phase: "after_script",
                limit: own,
            },
        };
        let deadlines = self.settings.deadlines;
        let limits = vec![
            limit(Instant::now() + own, StopLevel::Cancel),
            limit(deadlines.after_script_ends(), StopLevel::Cancel),
            limit(deadlines.end(), StopLevel::Abort),
        ];
        let script = self.script_stage(BuildStage::AfterScript, &finalisation);
        within(script, limits).await
    }

    fn after_script_counts(&self) -> bool {
        let ignore = self
            .expanded
            .get("AFTER_SCRIPT_IGNORE_ERRORS")
            .unwrap_or_default();
        matches!(ignore, "0" | "f" | "F" | "false" | "False" | "FALSE")
    }
}

/// Returns the value of `CI_JOB_STATUS` for `after_script`.
fn status_word(result: &Result<(), BuildError>) -> &'static str {
    match result {
        Ok(()) => "success",
        Err(BuildError::Timeout { .. } | BuildError::Canceled(CancelCause::Timeout)) => "timedout",
        Err(BuildError::Canceled(_)) => "canceled",
        Err(_) => "failed",
    }
}
