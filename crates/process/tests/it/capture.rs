//! Short tool calls.

use std::time::Duration;

use executor_core::{CancelCause, Cancellation};
use process::{CaptureLimits, NeverStop, ProcessError};

use crate::support::{BOTH, sh, tree};

#[tokio::test]
async fn both_streams_are_captured_up_to_a_limit() {
    let tree = tree(BOTH[0]);
    let limits = CaptureLimits {
        max_bytes: 10,
        ..CaptureLimits::default()
    };
    let command = sh("echo 0123456789abc; echo short >&2; exit 4");
    let captured = tree.output(&command, &limits, &NeverStop).await.unwrap();
    assert_eq!(captured.stdout, b"0123456789");
    assert_eq!(captured.stderr, b"short\n");
    assert!(captured.truncated);
    assert_eq!(captured.outcome.status.shell_code(), 4);
}

#[tokio::test]
async fn deadline_kills() {
    for containment in BOTH {
        let tree = tree(containment);
        let limits = CaptureLimits {
            deadline: Duration::from_millis(50),
            ..Default::default()
        };
        let command = sh("trap '' TERM; while :; do sleep 1; done");
        let error = tree
            .output(&command, &limits, &NeverStop)
            .await
            .unwrap_err();
        assert!(matches!(error, ProcessError::Deadline { .. }), "{error:?}");
        tree.close().await.unwrap();
    }
}

#[tokio::test]
async fn stop_kills() {
    let tree = tree(BOTH[0]);
    let asked = Cancellation::new();
    asked.cancel(CancelCause::User);
    let command = sh("trap '' TERM; while :; do sleep 1; done");
    let limits = CaptureLimits::default();
    let error = tree.output(&command, &limits, &asked).await.unwrap_err();
    assert!(matches!(error, ProcessError::Stopped { .. }), "{error:?}");
    tree.close().await.unwrap();
}
