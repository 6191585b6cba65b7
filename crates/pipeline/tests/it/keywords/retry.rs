use super::{accept, refuse, refuse_file};
use serde_json::json;

#[test]
fn retries_are_a_number_or_settings() {
    // R-GLCI-159
    accept("retry: 0", "retry", &json!({"max": 0}));
    accept(
        "retry: {when: script_failure}",
        "retry",
        &json!({"when": ["script_failure"]}),
    );
    accept(
        "retry: {max: 1, exit_codes: 3}",
        "retry",
        &json!({"max": 1, "exit_codes": [3]}),
    );
    accept(
        "retry: {max: 2, when: [job_token_expired, runner_interrupted]}",
        "retry",
        &json!({"max": 2, "when": ["job_token_expired", "runner_interrupted"]}),
    );
    accept("retry:", "retry", &json!(null));
}

#[test]
fn invalid_retries_are_refused_without_the_name_of_the_job() {
    // R-GLCI-159
    refuse("retry: -1", "retry config must be between 0 and 2", "-1");
    refuse(
        "retry: 1.5",
        "retry config has to be either an integer or a hash",
        "1.5",
    );
    refuse(
        "retry: '1'",
        "retry config has to be either an integer or a hash",
        "'1'",
    );
    refuse("retry: {max: '1'}", "retry max should be an integer", "'1'");
    let codes = "retry exit_codes should be an integer or an array of integers";
    refuse("retry: {exit_codes: [1, a]}", codes, "[1, a]");
    refuse(
        "retry: {when: 1}",
        "retry when should be an array of strings or a string",
        "1",
    );
    let text = "default: {retry: 5}\njob: {script: x, retry: {when: [always, scripts, sleep]}}";
    refuse_file(
        text,
        &[
            ("retry config must be between 0 and 2", "5"),
            ("retry when names the unknown failure `scripts`", "scripts"),
            ("retry when names the unknown failure `sleep`", "sleep"),
        ],
    );
}
