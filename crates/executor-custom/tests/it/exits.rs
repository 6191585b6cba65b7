//! Every exit code in every phase.

use crate::driver::{TestDriver, job};
use FailureReason::{RunnerSystemFailure as System, ScriptFailure as Script};
use executor_core::FailureReason;

/// What a job reports when one call ends in some way.
#[derive(Debug, PartialEq, Eq)]
struct Reported {
    reason: Option<FailureReason>,
    exit_code: Option<i32>,
    /// How often the driver was asked to describe the environment.
    attempts: usize,
}

async fn reported(call: &str, end: &str) -> Reported {
    let driver = TestDriver::new();
    driver.plan(call, end);
    let outcome = driver.run(job().build()).await;
    let names = driver.names();
    let count = |name: &str| names.iter().filter(|it| *it == name).count();
    assert_eq!(
        count("config"),
        count("cleanup"),
        "{call}: {end}: {names:?}"
    );
    driver.assert_nothing_left();
    Reported {
        reason: outcome.failure_reason(),
        exit_code: outcome.exit_code().map(|code| code.0),
        attempts: count("config"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_end_of_a_call_has_its_meaning() {
    // R-EXEC-102
    let noted = |code: &str| format!("printf '{code}' >\"$BUILD_EXIT_CODE_FILE\"; exit 1");
    let ends = [
        ("exit 0".to_owned(), None, Some(0)),
        ("exit 1".to_owned(), Some(Script), Some(1)),
        (noted("3"), Some(Script), Some(3)),
        (noted("3\\nmore\\n"), Some(Script), Some(3)),
        (noted("0"), Some(Script), None),
        (noted("three\\n"), Some(System), None),
        (noted(" 3"), Some(System), None),
        (noted(""), Some(System), None),
        ("exit 2".to_owned(), Some(System), None),
        ("exit 3".to_owned(), Some(System), None),
        ("exit 77".to_owned(), Some(System), None),
        ("exit 127".to_owned(), Some(System), None),
        ("exit 255".to_owned(), Some(System), None),
        ("kill -9 $$".to_owned(), Some(System), None),
        ("kill $$".to_owned(), Some(System), None),
    ];
    for (end, reason, exit_code) in ends {
        let expect = |attempts| Reported {
            reason,
            exit_code,
            attempts,
        };
        for call in ["config", "prepare"] {
            let attempts = if reason == Some(System) { 3 } else { 1 };
            assert_eq!(
                reported(call, &end).await,
                expect(attempts),
                "{call}: {end}"
            );
        }
        for call in ["run.prepare_script", "run.build_script"] {
            assert_eq!(reported(call, &end).await, expect(1), "{call}: {end}");
        }
        for call in ["run.after_script", "run.cleanup_file_variables", "cleanup"] {
            let unharmed = Reported {
                reason: None,
                exit_code: Some(0),
                attempts: 1,
            };
            assert_eq!(reported(call, &end).await, unharmed, "{call}: {end}");
        }
    }
}
