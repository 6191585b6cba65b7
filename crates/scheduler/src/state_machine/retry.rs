use executor_core::job::RetryDefinition;

/// Failure reasons for which a retry cannot help.
const PERMANENT: [&str; 5] = [
    "ci_quota_exceeded",
    "no_matching_runner",
    "missing_dependency_failure",
    "forward_deployment_failure",
    "environment_creation_failure",
];

/// How often GitLab retries by itself after a failure of its own scheduler.
const SCHEDULER_RETRIES: u32 = 2;

/// Returns the total number of retries of a job that failed in this way.
pub fn allowed(
    retry: Option<&RetryDefinition>,
    reason: Option<&str>,
    exit_code: Option<i32>,
) -> u32 {
    if reason.is_some_and(|reason| PERMANENT.contains(&reason)) {
        return 0;
    }
    if let Some(retry) = retry {
        let by_reason = match &retry.when {
            Some(reasons) => reasons.iter().any(|known| {
                known == "always" || reason.is_some_and(|reason| covers(known, reason))
            }),
            // With exit codes alone, only they are retried.
            None => retry.exit_codes.is_none(),
        };
        let codes = retry.exit_codes.iter().flatten();
        let by_code = codes.copied().any(|code| Some(code) == exit_code);
        if by_reason || by_code {
            return retry.max.unwrap_or(0);
        }
    }
    if reason == Some("scheduler_failure") {
        SCHEDULER_RETRIES
    } else {
        0
    }
}

/// Returns whether a word of `retry:when` covers this failure reason.
///
/// Runners distinguish reasons that older GitLabs have one word for; both words are understood.
fn covers(word: &str, reason: &str) -> bool {
    let older = match reason {
        "image_pull_failure" | "runner_external_dependency_failure" => "runner_system_failure",
        "runner_configuration_error" => "script_failure",
        "runner_interrupted" => "unknown_failure",
        reason => reason,
    };
    word == reason || word == older
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(when: Option<&[&str]>, codes: Option<&[i32]>, reason: &str, code: i32, expect: u32) {
        let retry = RetryDefinition {
            max: Some(2),
            when: when.map(|when| when.iter().map(|&word| word.to_owned()).collect()),
            exit_codes: codes.map(<[i32]>::to_vec),
        };
        assert_eq!(
            allowed(Some(&retry), Some(reason), Some(code)),
            expect,
            "{retry:?}"
        );
    }

    #[test]
    fn reasons_and_exit_codes_decide() {
        check(None, None, "script_failure", 1, 2);
        check(Some(&["always"]), None, "job_execution_timeout", 1, 2);
        check(Some(&["script_failure"]), None, "script_failure", 1, 2);
        check(
            Some(&["script_failure"]),
            None,
            "runner_system_failure",
            1,
            0,
        );
        check(
            Some(&["runner_system_failure"]),
            None,
            "image_pull_failure",
            1,
            2,
        );
        check(None, Some(&[137]), "script_failure", 137, 2);
        check(None, Some(&[137]), "script_failure", 1, 0);
        check(
            Some(&["runner_system_failure"]),
            Some(&[3]),
            "script_failure",
            3,
            2,
        );
        check(None, None, "missing_dependency_failure", 1, 0);
        assert_eq!(allowed(None, Some("script_failure"), Some(1)), 0);
        assert_eq!(allowed(None, Some("scheduler_failure"), None), 2);
    }
}
