//! The errors after which the next provider is tried.

use executor_core::{AcquireError, BuildError, CancelCause, Retryability};

/// Returns whether another provider may succeed after this error of `prepare`.
///
/// It cannot when the job or its settings are at fault, or when the job was stopped.
pub(super) fn another_provider_may_succeed(error: &BuildError) -> bool {
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

/// Takes the error to report out of the refusals of all providers, in their order.
///
/// A busy provider makes the worker retry, so its refusal counts; otherwise the first one does.
pub(super) fn verdict(refusals: &mut Vec<AcquireError>) -> AcquireError {
    let is_broken = |refusal: &AcquireError| matches!(refusal, AcquireError::Provider(_));
    if refusals.is_empty() || !refusals.iter().all(is_broken) {
        return AcquireError::NoFreeExecutor;
    }
    refusals.remove(0)
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

    #[test]
    fn busy_provider_decides_the_error() {
        let broken = |text: &str| AcquireError::Provider(text.into());
        let withdrawn = AcquireError::Canceled(CancelCause::EnvironmentLost);
        let check = |mut refusals: Vec<_>, expect: &str, untold: usize| {
            let verdict = verdict(&mut refusals);
            assert_eq!(executor_core::chain(&verdict), expect);
            assert_eq!(refusals.len(), untold);
        };
        let full = || AcquireError::NoFreeExecutor;
        let first = "acquire an executor: first";
        check(vec![broken("first"), broken("second")], first, 1);
        check(vec![broken("first"), full()], "no free executor", 2);
        check(vec![withdrawn], "no free executor", 1);
        check(vec![], "no free executor", 0);
    }
}
