//! Cancel and abort.

use std::fs;
use std::time::Duration;

use executor_core::{CancelCause, Cancellation, StopLevel};
use process::{Ended, ExitStatus, ProcessTree, Stream, Timing};

use crate::support::{BOTH, PATIENCE, lives, noted, sh, tree, until};

/// Timeouts that are long enough for any process.
fn patient() -> Timing {
    Timing {
        terminate_grace: PATIENCE,
        ..Timing::default()
    }
}

/// Runs a script and requests a level once it has printed something.
async fn stopped_at(
    tree: &ProcessTree,
    script: &str,
    level: StopLevel,
    timing: &Timing,
) -> process::Outcome {
    let asked = Cancellation::new();
    let ask = asked.clone();
    let mut sink = move |_: Stream, _: &[u8]| match level {
        StopLevel::None => {}
        StopLevel::Cancel => ask.cancel(CancelCause::User),
        StopLevel::Abort => ask.abort(CancelCause::User),
    };
    let process = tree.spawn(&sh(script)).unwrap();
    process.run(&mut sink, &asked, timing).await.unwrap()
}

#[tokio::test]
async fn terminate_lets_the_script_exit() {
    for containment in BOTH {
        let tree = tree(containment);
        let script = "trap 'exit 7' TERM; echo ready; while :; do sleep 0.01; done";
        let outcome = stopped_at(&tree, script, StopLevel::Cancel, &patient()).await;
        assert_eq!(outcome.status, ExitStatus::Exited(7));
        let expected = Ended::Stopped {
            level: StopLevel::Cancel,
            killed: false,
        };
        assert_eq!(outcome.ended, expected);
        tree.close().await.unwrap();
    }
}

#[tokio::test]
async fn suspended_process_is_terminated_too() {
    for containment in BOTH {
        let tree = tree(containment);
        let script = "trap 'exit 7' TERM; kill -STOP $$; while :; do sleep 0.01; done";
        let process = tree.spawn(&sh(script)).unwrap();
        let stat = format!("/proc/{}/stat", process.id());
        let asked = Cancellation::new();
        let (mut sink, timing) = (|_: Stream, _: &[u8]| {}, patient());
        let ask = async {
            until("it to be stopped", || {
                fs::read_to_string(&stat).unwrap().contains(") T ")
            })
            .await;
            asked.cancel(CancelCause::User);
        };
        let (outcome, ()) = tokio::join!(process.run(&mut sink, &asked, &timing), ask);
        assert_eq!(outcome.unwrap().status, ExitStatus::Exited(7));
        tree.close().await.unwrap();
    }
}

#[tokio::test]
async fn process_that_ignores_sigterm_is_killed() {
    for containment in BOTH {
        let tree = tree(containment);
        let timing = Timing {
            terminate_grace: Duration::from_millis(100),
            ..Timing::default()
        };
        let script = "trap '' TERM; echo ready; while :; do sleep 0.01; done";
        let outcome = stopped_at(&tree, script, StopLevel::Cancel, &timing).await;
        assert_eq!(
            outcome.status,
            ExitStatus::Signaled {
                signal: 9,
                core_dumped: false
            }
        );
        let expected = Ended::Stopped {
            level: StopLevel::Cancel,
            killed: true,
        };
        assert_eq!(outcome.ended, expected);
        tree.close().await.unwrap();
    }
}

#[tokio::test]
async fn kill_does_not_wait() {
    for containment in BOTH {
        let tree = tree(containment);
        let timing = Timing {
            terminate_grace: Duration::MAX,
            ..Timing::default()
        };
        let script = "trap '' TERM; echo ready; sleep 600";
        let outcome = stopped_at(&tree, script, StopLevel::Abort, &timing).await;
        assert_eq!(
            outcome.status,
            ExitStatus::Signaled {
                signal: 9,
                core_dumped: false
            }
        );
        let expected = Ended::Stopped {
            level: StopLevel::Abort,
            killed: true,
        };
        assert_eq!(outcome.ended, expected);
        tree.close().await.unwrap();
    }
}

#[tokio::test]
async fn kill_of_the_tree_ends_every_wait() {
    for containment in BOTH {
        let tree = tree(containment);
        let killer = tree.clone();
        let mut sink = move |_: Stream, _: &[u8]| killer.kill();
        let process = tree.spawn(&sh("echo ready; sleep 600")).unwrap();
        let outcome = process
            .run(&mut sink, &process::NeverStop, &Timing::default())
            .await
            .unwrap();
        assert_eq!(
            outcome.status,
            ExitStatus::Signaled {
                signal: 9,
                core_dumped: false
            }
        );
        tree.close().await.unwrap();
        let refused = tree.spawn(&sh("")).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "contain processes: the process tree is closed"
        );
    }
}

#[tokio::test]
async fn dropped_wait_kills() {
    for containment in BOTH {
        let directory = tempfile::tempdir().unwrap();
        let pids = directory.path().join("pids");
        let script = format!(
            "setsid sh -c 'echo $$ >> {0}; sleep 600' & echo $$ >> {0}; sleep 600",
            pids.display()
        );
        let tree = tree(containment);
        let process = tree.spawn(&sh(&script).env("PIDS", &pids)).unwrap();
        {
            let mut sink = |_: Stream, _: &[u8]| {};
            let timing = Timing::default();
            let wait = process.run(&mut sink, &process::NeverStop, &timing);
            tokio::select! {
                _ = wait => panic!("the script sleeps"),
                () = until("both processes", || noted(&pids).len() == 2) => {}
            }
        }
        until("their death", || {
            noted(&pids).iter().all(|pid| !lives(*pid, &pids))
        })
        .await;
        tree.close().await.unwrap();
    }
}
