use crate::fallback::layer::FallbackTrigger;
use crate::fallback::members::Members;
use crate::forward::forward_executor;
use async_trait::async_trait;
use executor_core::ability::Abilities;
use executor_core::{
    AcquireError, BuildError, CancelCause, Cancellation, Executor, ExecutorData, FeaturesInfo,
    JobOutcome, JobTraceExt, PrepareOptions, PreparedEnvironment, Retryability, StageCell,
    StageCommand, StageResult,
};
use std::sync::Arc;

/// An executor that `prepare` may replace with another provider's.
#[derive(Debug)]
pub struct FallbackExecutor {
    /// The executor of the member that currently has the job.
    inner: Box<dyn Executor>,
    members: Arc<Members>,
    trigger: FallbackTrigger,
    data: ExecutorData,
    advertised: FeaturesInfo,
    /// Follows the current executor, for readers that took the cell earlier.
    stage: StageCell,
}

impl FallbackExecutor {
    pub(super) fn new(
        inner: Box<dyn Executor>,
        members: Arc<Members>,
        trigger: FallbackTrigger,
        data: ExecutorData,
    ) -> Self {
        let stage = StageCell::new();
        stage.follow(inner.stage_cell());
        Self {
            inner,
            // A provider that can no longer report its features advertises none.
            advertised: members.features().unwrap_or_default(),
            members,
            trigger,
            data,
            stage,
        }
    }

    fn falls_back_after(&self, error: &BuildError) -> bool {
        self.trigger == FallbackTrigger::AcquireOrPrepare && another_provider_may_succeed(error)
    }

    /// Replaces the failed executor with that of the next member with capacity.
    ///
    /// # Errors
    ///
    /// `failure`, when no further member has capacity.
    async fn fall_back(
        &mut self,
        failure: BuildError,
        options: &PrepareOptions,
        cancellation: &Cancellation,
    ) -> Result<(), BuildError> {
        let Some(all) = self.members.held(&self.data) else {
            return Err(failure);
        };
        let Some(failed) = all.current() else {
            return Err(failure);
        };
        let config = &options.config;
        let next = self
            .members
            .acquire_from(failed.provider + 1, config, cancellation);
        let next = match next.await {
            Ok(next) => next,
            Err(AcquireError::Canceled(cause)) => return Err(BuildError::Canceled(cause)),
            Err(_) => return Err(failure),
        };
        options.trace.warning_line(&format!(
            "failed to prepare, trying provider {} of {} next: {}",
            next.provider + 1,
            self.members.len(),
            failure.chain()
        ));
        // Recorded first, so that it is always released.
        all.add(next);
        if let Err(error) = self.inner.cleanup().await {
            let text = format!("failed to clean up: {}", error.chain());
            options.trace.warning_line(&text);
        }
        while let Some(failed) = all.take_failed() {
            self.members.release(config, failed).await;
        }
        self.inner = self.members.create(&self.data)?;
        self.stage.follow(self.inner.stage_cell());
        Ok(())
    }
}

#[deny(clippy::missing_trait_methods)]
#[async_trait]
impl Executor for FallbackExecutor {
    forward_executor!(inner: shell);

    async fn prepare(
        &mut self,
        options: PrepareOptions,
        cancellation: &Cancellation,
    ) -> Result<PreparedEnvironment, BuildError> {
        loop {
            match self.inner.prepare(options.clone(), cancellation).await {
                Err(error) if self.falls_back_after(&error) && !cancellation.is_canceled() => {
                    self.fall_back(error, &options, cancellation).await?;
                }
                prepared => return prepared,
            }
        }
    }

    async fn run(
        &mut self,
        command: StageCommand,
        cancellation: &Cancellation,
    ) -> Result<StageResult, BuildError> {
        self.inner.run(command, cancellation).await
    }

    async fn finish(&mut self, outcome: &JobOutcome) {
        self.inner.finish(outcome).await;
    }

    async fn cleanup(&mut self) -> Result<(), BuildError> {
        self.inner.cleanup().await
    }

    forward_executor!(inner: current_stage, set_current_stage);

    fn stage_cell(&self) -> StageCell {
        self.stage.clone()
    }

    fn abilities(&self) -> Abilities {
        self.inner.abilities().limited_to(&self.advertised)
    }
}

/// Returns whether another provider may succeed after this error of `prepare`.
///
/// It cannot when the job or its settings are at fault, or when the job was stopped.
fn another_provider_may_succeed(error: &BuildError) -> bool {
    match error {
        BuildError::System { .. }
        | BuildError::ExternalDependency { .. }
        | BuildError::Timeout { .. }
        | BuildError::Canceled(CancelCause::EnvironmentLost) => true,
        // An image that does not exist is the job's fault.
        BuildError::ImagePull { retry, .. } => *retry != Retryability::Permanent,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use executor_core::ExitCode;
    use std::time::Duration;

    #[test]
    fn system_errors_allow_another_provider() {
        let check = |error: BuildError, expect| {
            assert_eq!(another_provider_may_succeed(&error), expect, "{error:?}");
        };
        let timeout = BuildError::Timeout {
            phase: "prepare",
            limit: Duration::ZERO,
        };
        let pull = |retry| BuildError::ImagePull {
            image: "ruby".to_owned(),
            source: None,
            retry,
        };
        let exit_code = ExitCode(1);
        check(BuildError::system("docker", "connect", "refused"), true);
        check(
            BuildError::system("docker", "connect", "refused").given_up(),
            true,
        );
        check(timeout, true);
        check(pull(Retryability::Temporary), true);
        check(pull(Retryability::GivenUp), true);
        check(pull(Retryability::Permanent), false);
        check(BuildError::config("no such user"), false);
        check(BuildError::Script { exit_code }, false);
        check(BuildError::Canceled(CancelCause::User), false);
        check(BuildError::Canceled(CancelCause::EnvironmentLost), true);
    }
}
