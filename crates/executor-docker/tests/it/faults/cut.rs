//! The connection to the engine breaks or stalls.

use super::faulty_socket::{FaultySocket, SocketFault};
use crate::support::in_time;
use crate::support::runner::{BUSYBOX, Run, job, log_text, settings};
use executor_core::prelude::*;
use executor_core::{CancelCause, FailureReason};
use executor_docker::config::{DockerConfig, EngineChoice};
use executor_testkit::CommandBuilder;
use std::time::Duration;

const BOTH: [EngineChoice; 2] = [EngineChoice::Exec, EngineChoice::Agent];

/// Writes numbered lines, slowly and long enough to be cut often.
const NUMBERS: &str = "i=0; while [ $i -lt 2000 ]; do i=$((i + 1)); echo line $i; \
                       [ $((i % 400)) = 0 ] && sleep 0.3; done; exit 7";

fn run_behind(faulty: &FaultySocket, engine: EngineChoice) -> Run {
    Run::new(DockerConfig {
        host: Some(faulty.address()),
        engine,
        ..settings()
    })
}

/// Returns a run that reaches its agent only by exec: the socket is in the container, not on this host.
fn agent_behind(faulty: &FaultySocket) -> Run {
    Run::remote(DockerConfig {
        host: Some(faulty.address()),
        engine: EngineChoice::Agent,
        ..settings()
    })
}

fn numbers() -> String {
    let lines: Vec<_> = (1..=2000)
        .map(|number| format!("line {number}\n"))
        .collect();
    lines.concat()
}

async fn refused(fault: &str, when: SocketFault, choice: EngineChoice) {
    let faulty = FaultySocket::new();
    let run = run_behind(&faulty, choice);
    faulty.inject(fault, when, 1);
    let Err((error, mut executor, _)) = run.try_open(job(BUSYBOX)).await else {
        panic!("{fault} {when:?}: it was prepared");
    };
    assert_eq!(faulty.remaining_faults(), 0, "{fault}");
    assert!(error.is_temporary(), "{fault} {when:?}: {}", error.chain());
    assert_eq!(error.failure_reason(), FailureReason::RunnerSystemFailure);
    executor.cleanup().await.unwrap();
    assert_eq!(
        run.leftovers().await,
        Vec::<String>::new(),
        "{fault} {when:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_container_is_created_it_is_retried_and_nothing_is_left() {
    for when in [SocketFault::Before, SocketFault::After] {
        refused("POST /containers/create", when, EngineChoice::Exec).await;
        refused("POST /start", when, EngineChoice::Agent).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn while_a_stage_is_started_exec_fails() {
    for fault in ["POST /containers/", "POST /exec/"] {
        for when in [SocketFault::Before, SocketFault::After] {
            let faulty = FaultySocket::new();
            let run = run_behind(&faulty, EngineChoice::Exec);
            let mut opened = run.open(job(BUSYBOX)).await;
            faulty.inject(fault, when, 1);
            let ran = opened
                .run(CommandBuilder::new("true").working_dir("/"))
                .await;
            let error = ran.unwrap_err();
            assert!(!error.is_temporary(), "{fault} {when:?}: {}", error.chain());
            assert!(
                error.chain().contains("run a command in container")
                    || error.chain().contains("the output of the stage"),
                "{fault} {when:?}: {}",
                error.chain()
            );
            opened.executor.cleanup().await.unwrap();
            assert_eq!(run.leftovers().await, Vec::<String>::new());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn while_a_stage_is_started_attach_fails_without_effect_on_the_next_stage() {
    // R-EXEC-63
    let faulty = FaultySocket::new();
    let run = run_behind(&faulty, EngineChoice::Attach);
    let mut opened = run.open(job(BUSYBOX)).await;
    for fault in ["POST /attach", "POST /start"] {
        for when in [SocketFault::Before, SocketFault::After] {
            faulty.inject(fault, when, 1);
            let command = CommandBuilder::new("echo broken").working_dir("/");
            let error = opened.run(command).await.unwrap_err();
            assert_eq!(faulty.remaining_faults(), 0, "{fault} {when:?}");
            assert!(!error.is_temporary(), "{fault} {when:?}: {}", error.chain());
            let printed = opened.print("echo after").await;
            assert_eq!(printed, "after\n", "{fault} {when:?}");
        }
    }
    opened.executor.cleanup().await.unwrap();
    assert_eq!(run.leftovers().await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn while_a_stage_is_started_the_agent_is_asked_again() {
    for fault in ["POST /containers/", "POST /exec/"] {
        for when in [SocketFault::Before, SocketFault::After] {
            let faulty = FaultySocket::new();
            let run = agent_behind(&faulty);
            let mut opened = run.open(job(BUSYBOX)).await;
            faulty.inject(fault, when, 1);
            faulty.cut();
            let command = CommandBuilder::new("echo once; exit 7").working_dir("/");
            opened.trace.clear();
            let result = opened.run(command).await.unwrap();
            assert_eq!(faulty.remaining_faults(), 0, "{fault}");
            assert_eq!(result.status.exit_code(), ExitCode(7), "{fault} {when:?}");
            assert_eq!(opened.trace.text(TraceStream::STDOUT), "once\n");
            opened.executor.cleanup().await.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn in_mid_output_the_agent_resumes() {
    // R-STEP-44
    let faulty = FaultySocket::new();
    let run = agent_behind(&faulty);
    let mut opened = run.open(job(BUSYBOX)).await;
    opened.trace.clear();
    let trace = opened.trace.clone();
    let cuts = async {
        for line in ["line 1\n", "line 500\n", "line 1100\n"] {
            trace.wait_for(TraceStream::STDOUT, line).await;
            faulty.cut();
        }
    };
    let command = CommandBuilder::new(NUMBERS).working_dir("/");
    let (ran, ()) = tokio::join!(opened.run(command), cuts);
    assert_eq!(ran.unwrap().status.exit_code(), ExitCode(7));
    assert_eq!(trace.text(TraceStream::STDOUT), numbers());
    opened.executor.cleanup().await.unwrap();
    assert_eq!(run.leftovers().await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn in_mid_output_exec_and_attach_fail_and_end_the_script() {
    let silent = "sleep 300; exit 0";
    // The engine reports an exit code of its own when it can write to neither stream.
    let printing = "while :; do echo more; echo more >&2; sleep 0.1; done; sleep 300";
    tokio::join!(
        cut(EngineChoice::Exec, silent),
        cut(EngineChoice::Exec, printing),
        cut(EngineChoice::Attach, silent)
    );
}

async fn cut(choice: EngineChoice, script: &str) {
    let faulty = FaultySocket::new();
    let run = run_behind(&faulty, choice);
    let mut opened = run.open(job(BUSYBOX)).await;
    let trace = opened.trace.clone();
    let cut = async {
        trace.wait_for(TraceStream::STDOUT, "begun").await;
        if choice == EngineChoice::Attach {
            // Even the request to end it does not get through.
            faulty.inject("POST /kill", SocketFault::Before, 1);
        }
        faulty.cut();
    };
    let script = format!("echo begun; {script}");
    let command = CommandBuilder::new(script).working_dir("/");
    let (ran, ()) = tokio::join!(in_time(opened.run(command)), cut);
    let error = ran.unwrap_err();
    assert!(!error.is_temporary(), "{error:?}");
    assert!(
        error.chain().contains("the output of the stage"),
        "{choice:?}: {}",
        error.chain()
    );
    assert_eq!(faulty.remaining_faults(), 0, "{choice:?}");
    // Later stages find no process of the script.
    let gone =
        async { while opened.print("ps | grep 'slee[p] [0-9]' || echo none").await != "none\n" {} };
    in_time(gone).await;
    opened.executor.cleanup().await.unwrap();
    assert_eq!(run.leftovers().await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_may_redirect_its_output_and_continue() {
    for choice in BOTH {
        let run = Run::new(DockerConfig {
            engine: choice,
            ..settings()
        });
        let mut opened = run.open(job(BUSYBOX)).await;
        let script = "echo begun; exec >/dev/null 2>&1; sleep 4; exit 7";
        let ran = opened.run(CommandBuilder::new(script).working_dir("/"));
        assert_eq!(ran.await.unwrap().status.exit_code(), ExitCode(7));
        opened.executor.cleanup().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn at_the_wait_for_the_end_nothing_is_lost() {
    for choice in BOTH {
        let faulty = FaultySocket::new();
        faulty.inject("POST /wait", SocketFault::After, 3);
        let run = run_behind(&faulty, choice);
        let mut opened = run.open(job(BUSYBOX)).await;
        let printed = opened.print("sleep 2; echo there").await;
        assert_eq!(printed, "there\n", "{choice:?}");
        in_time(faulty.done(3)).await;
        opened.executor.cleanup().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn at_the_removal_it_is_retried() {
    // R-EXEC-68
    for when in [SocketFault::Before, SocketFault::After] {
        let faulty = FaultySocket::new();
        let run = run_behind(&faulty, EngineChoice::Exec);
        let mut opened = run.open(job(BUSYBOX)).await;
        faulty.inject("DELETE /containers/", when, 3);
        opened.executor.cleanup().await.unwrap();
        assert_eq!(run.leftovers().await, Vec::<String>::new(), "{when:?}");
        assert!(faulty.remaining_faults() < 3, "{when:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_engine_takes_nothing_from_the_grace_period() {
    let check = async |choice| {
        let faulty = FaultySocket::new();
        let mut run = run_behind(&faulty, choice);
        run.config.graceful_kill_timeout = Duration::from_secs(5);
        let mut opened = run.open(job(BUSYBOX)).await;
        opened.trace.clear();
        let (trace, cancellation) = (opened.trace.clone(), Cancellation::new());
        let cancel = async {
            trace.wait_for(TraceStream::STDOUT, "ready").await;
            faulty.inject("POST /exec", SocketFault::Slow(6), 1);
            cancellation.cancel(CancelCause::User);
        };
        let script = "trap 'sleep 1; echo stopped; exit 3' TERM; echo ready; sleep 60";
        let ran = opened.run_until(CommandBuilder::new(script), &cancellation);
        let (ran, ()) = tokio::join!(in_time(ran), cancel);
        let error = ran.unwrap_err();
        let canceled = matches!(error, BuildError::Canceled(CancelCause::User));
        assert!(canceled, "{choice:?}: {}", error.chain());
        let output = trace.text(TraceStream::STDOUT);
        assert_eq!(output, "ready\nstopped\n", "{choice:?}");
        assert_eq!(faulty.remaining_faults(), 0, "{choice:?}");
        opened.executor.cleanup().await.unwrap();
    };
    tokio::join!(check(EngineChoice::Exec), check(EngineChoice::Attach));
}

async fn frozen(choice: EngineChoice) {
    let faulty = FaultySocket::new();
    let run = run_behind(&faulty, choice);
    let mut opened = run.open(job(BUSYBOX)).await;
    let trace = opened.trace.clone();
    let freeze = async {
        trace.wait_for(TraceStream::STDOUT, "begun").await;
        faulty.freeze(true);
    };
    let command = CommandBuilder::new("echo begun; sleep 300").working_dir("/");
    let (ran, ()) = tokio::join!(in_time(opened.run(command)), freeze);
    let error = ran.unwrap_err();
    assert!(
        error.chain().contains("the container engine is gone"),
        "{choice:?}: {}; {}",
        error.chain(),
        log_text(&trace)
    );
    faulty.freeze(false);
    opened.executor.cleanup().await.unwrap();
    assert_eq!(run.leftovers().await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_silent_engine_is_detected() {
    tokio::join!(frozen(EngineChoice::Exec), frozen(EngineChoice::Agent));
}
