use super::error::StepsError;
use super::link::Link;
use super::retry::{After, RetryPolicy};
use crate::wire::INSTANCE;
use crate::wire::v1::step_runner_client::StepRunnerClient;
use executor_core::{BoxError, BuildError, Cancellation};
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use tonic::transport::Channel;
use tonic::{Code, Response, Status};

/// Why a call failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The connection broke or could not be made; another attempt may succeed.
    Gone(BoxError),
    /// The service refused.
    Refused(Status),
}

impl From<Status> for Failure {
    /// An error from the service has no local cause.
    fn from(status: Status) -> Self {
        if status.source().is_some() || status.code() == Code::Unavailable {
            Self::Gone(status.into())
        } else {
            Self::Refused(status)
        }
    }
}

/// Returns whether the service refuses a request for an earlier instance.
pub(crate) fn is_for_another(status: &Status) -> bool {
    status.code() == Code::FailedPrecondition && status.metadata().contains_key(INSTANCE)
}

/// Returns the error for a refusal.
pub(crate) fn refusal(status: &Status, id: &str) -> StepsError {
    if is_for_another(status) {
        return StepsError::Lost {
            since: Duration::ZERO,
            source: "the service was restarted".into(),
        };
    }
    let message = shortened(status.message().to_owned());
    match status.code() {
        Code::NotFound => StepsError::Forgotten { id: id.to_owned() },
        Code::InvalidArgument
        | Code::FailedPrecondition
        | Code::PermissionDenied
        | Code::OutOfRange
        | Code::AlreadyExists
        | Code::Unimplemented => StepsError::Refused { message },
        code => StepsError::Internal {
            message: format!("{message} ({code:?})"),
        },
    }
}

/// Repeats attempts while they may succeed.
#[derive(Debug)]
pub(crate) struct Attempts<'a> {
    link: &'a Link,
    pub(crate) retry: RetryPolicy,
    began: Instant,
}

impl<'a> Attempts<'a> {
    pub(crate) fn new(link: &'a Link) -> Self {
        Self {
            link,
            retry: RetryPolicy::new(link.options()),
            began: Instant::now(),
        }
    }

    /// Makes one attempt of a short call.
    pub(crate) async fn once<T>(
        &self,
        call: impl Future<Output = Result<Response<T>, Status>>,
    ) -> Result<T, Failure> {
        let limit = self.link.options().call_timeout;
        let answer = tokio::time::timeout(limit, call)
            .await
            .map_err(|elapsed| Failure::Gone(elapsed.into()))?;
        match answer.map_err(Failure::from) {
            Err(Failure::Gone(cause)) => Err(Failure::Gone(cause)),
            answer => {
                self.link.note_answer();
                Ok(answer?.into_inner())
            }
        }
    }

    /// Waits before the next attempt, or returns the error if there is none.
    pub(crate) async fn wait(
        &mut self,
        cause: BoxError,
        cancellation: &Cancellation,
    ) -> Result<(), StepsError> {
        let options = self.link.options();
        let limit = if self.link.has_answered() {
            options.lost_after
        } else {
            options.ready_within
        };
        let failure = self.link.failure();
        let permanent = failure.as_ref().is_some_and(|error| !error.is_temporary());
        let now = self.began.elapsed();
        let gone = match self.retry.failed(now, limit) {
            After::GiveUp(gone) => gone,
            After::Retry(_) if permanent => Duration::ZERO,
            After::Retry(pause) => {
                tracing::debug!(error = %executor_core::chain(&*cause), ?pause, "The step-runner does not answer.");
                return tokio::select! {
                    () = tokio::time::sleep(pause) => Ok(()),
                    cause = cancellation.canceled() => Err(StepsError::Canceled(cause)),
                };
            }
        };
        Err(self.given_up(gone, failure, cause, permanent))
    }

    fn given_up(
        &self,
        since: Duration,
        failure: Option<Arc<BuildError>>,
        cause: BoxError,
        permanent: bool,
    ) -> StepsError {
        // The connector's error is more specific than that of the broken call.
        let source = failure.map_or(cause, BoxError::from);
        if self.link.has_answered() {
            StepsError::Lost { since, source }
        } else {
            StepsError::Unreachable { source, permanent }
        }
    }

    /// Repeats a short call until the service answers.
    pub(crate) async fn call<T, F>(
        &mut self,
        id: &str,
        cancellation: &Cancellation,
        mut make: impl FnMut(StepRunnerClient<Channel>) -> F,
    ) -> Result<T, StepsError>
    where
        F: Future<Output = Result<Response<T>, Status>>,
    {
        loop {
            let answer = tokio::select! {
                answer = self.once(make(self.link.service())) => answer,
                cause = cancellation.canceled() => return Err(StepsError::Canceled(cause)),
            };
            match answer {
                Ok(answer) => {
                    self.retry.progressed();
                    return Ok(answer);
                }
                Err(Failure::Refused(status)) => return Err(refusal(&status, id)),
                Err(Failure::Gone(cause)) => self.wait(cause, cancellation).await?,
            }
        }
    }
}

/// The longest message from the other side that is passed on.
const LONGEST: usize = 4096;

/// Shortens a message, since its sender is not trusted.
pub(crate) fn shortened(mut words: String) -> String {
    words.truncate(words.floor_char_boundary(LONGEST));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_messages_are_cut_at_a_character() {
        assert_eq!(shortened("\u{e4}".repeat(5000)).len(), LONGEST);
        assert_eq!(shortened("\u{20ac}".repeat(5000)).len(), LONGEST - 1);
        assert_eq!(shortened("short".to_owned()), "short");
    }
}
