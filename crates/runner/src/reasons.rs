//! Failure reasons in the words of older servers.

use executor_core::FailureReason;

/// The reasons that every server knows.
const ALWAYS_KNOWN: [FailureReason; 3] = [
    FailureReason::ScriptFailure,
    FailureReason::RunnerSystemFailure,
    FailureReason::JobExecutionTimeout,
];

/// Returns the name of the reason for a server that knows these ones, besides those that all servers know.
///
/// The substitutes are those of GitLab Runner.
pub(crate) fn name_for_server(reason: FailureReason, known: &[String]) -> &'static str {
    let is_known = |it: FailureReason| {
        ALWAYS_KNOWN.contains(&it) || known.iter().any(|name| name == it.as_str())
    };
    let mut reason = reason;
    while !is_known(reason) {
        reason = match reason {
            FailureReason::RunnerConfigurationError => FailureReason::ScriptFailure,
            FailureReason::RunnerExternalDependencyFailure
            | FailureReason::ImagePullFailure
            | FailureReason::MissingDependencyFailure => FailureReason::RunnerSystemFailure,
            // All others, which the server takes for a failure of unknown cause.
            _ => return FailureReason::UnknownFailure.as_str(),
        };
    }
    reason.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_have_substitutes() {
        use FailureReason as It;
        let check = |reason, known: &[&str], expect| {
            let known: Vec<String> = known.iter().map(|&it| it.to_owned()).collect();
            assert_eq!(name_for_server(reason, &known), expect, "{reason}");
        };
        check(It::ScriptFailure, &[], "script_failure");
        check(It::JobCanceled, &[], "unknown_failure");
        check(It::JobCanceled, &["job_canceled"], "job_canceled");
        check(It::RunnerConfigurationError, &[], "script_failure");
        check(
            It::RunnerConfigurationError,
            &["runner_configuration_error"],
            "runner_configuration_error",
        );
        check(It::ImagePullFailure, &[], "runner_system_failure");
        check(
            It::RunnerExternalDependencyFailure,
            &[],
            "runner_system_failure",
        );
        check(It::RunnerInterrupted, &[], "unknown_failure");
    }
}
