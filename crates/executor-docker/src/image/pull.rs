use crate::engine::Engine;
use crate::error::DockerError;
use crate::image::fault::PullFault;
use crate::image::progress::PullProgress;
use crate::image::retry::PullRetry;
use bollard::auth::DockerCredentials;
use bollard::errors::Error;
use bollard::query_parameters::CreateImageOptionsBuilder;
use executor_core::{JobTrace, JobTraceExt, Retryability};
use fail_point::fail_point;
use futures_util::StreamExt;
use registry::ImageReference;
use std::pin::pin;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// Why a pull failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PullFailure {
    pub(crate) fault: PullFault,
    pub(crate) message: String,
    /// Whether all retries were used.
    pub(crate) given_up: bool,
}

impl PullFailure {
    pub(crate) fn new(fault: PullFault, message: impl Into<String>) -> Self {
        Self {
            fault,
            message: message.into(),
            given_up: false,
        }
    }

    pub(crate) fn into_error(self, reference: &ImageReference) -> DockerError {
        let retry = match (self.fault.is_temporary(), self.given_up) {
            (false, _) => Retryability::Permanent,
            (true, true) => Retryability::GivenUp,
            (true, false) => Retryability::Temporary,
        };
        let image = reference.to_string();
        if self.fault == PullFault::Refused {
            return DockerError::config(format!("pull image {image}: {}", self.message));
        }
        DockerError::ImagePull {
            image,
            fault: self.fault,
            message: self.message,
            retry,
        }
    }

    fn of(reference: &ImageReference, error: Error) -> Self {
        let (status, message) = match error {
            Error::DockerResponseServerError {
                status_code,
                message,
            } => (status_code, message),
            Error::DockerStreamError { error } => (500, error),
            error => {
                let words = executor_core::chain(&error);
                return Self::new(PullFault::EngineLost, words);
            }
        };
        let fault = PullFault::of(reference, status, &message);
        Self::new(fault, message.trim())
    }
}

impl From<std::io::Error> for PullFailure {
    fn from(error: std::io::Error) -> Self {
        Self::new(PullFault::EngineLost, error.to_string())
    }
}

/// Pulls an image once, with one login or none.
pub(crate) async fn pull(
    engine: &Engine,
    reference: &ImageReference,
    platform: Option<&str>,
    login: Option<DockerCredentials>,
    retry: &PullRetry,
    trace: &dyn JobTrace,
) -> Result<(), PullFailure> {
    let options = CreateImageOptionsBuilder::default()
        .from_image(&reference.exact())
        .platform(platform.unwrap_or_default())
        .build();
    // The engine responds only when the registry does, which can take longer than other requests.
    let api = engine
        .api()
        .clone()
        .with_timeout(retry.stall.max(Duration::from_secs(1)));
    let pulled = async {
        let mut steps = pin!(api.create_image(Some(options), None, login));
        let mut progress = PullProgress::default();
        let mut stalls_at = Instant::now() + retry.stall;
        let mut report_at = Instant::now() + retry.report;
        loop {
            match timeout_at(report_at.min(stalls_at), steps.next()).await {
                Ok(None) => return Ok(()),
                Ok(Some(Err(Error::RequestTimeoutError))) => return Err(stalled(retry)),
                Ok(Some(Err(error))) => return Err(PullFailure::of(reference, error)),
                Ok(Some(Ok(step))) => {
                    progress.note(&step);
                    stalls_at = Instant::now() + retry.stall;
                }
                Err(_) if Instant::now() >= stalls_at => return Err(stalled(retry)),
                Err(_) => {
                    trace.system_line(&format!("Still pulling {reference}: {progress}"));
                    report_at = Instant::now() + retry.report;
                }
            }
        }
    };
    fail_point!("executor_docker::image::pull", pulled.await)
}

fn stalled(retry: &PullRetry) -> PullFailure {
    let stall = executor_core::HumanDuration(retry.stall);
    let message = format!("there was no progress for {stall}");
    PullFailure::new(PullFault::Registry, message)
}
