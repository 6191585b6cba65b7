//! The way to the engine breaks, or falls silent.

use super::faulty_socket::{Harm, Way};
use crate::support::noticed;
use crate::support::runner::{BUSYBOX, Run, job, settings, shown};
use executor_core::FailureReason;
use executor_core::prelude::*;
use executor_docker::config::{DockerConfig, EngineChoice};
use executor_testkit::CommandBuilder;

const BOTH: [EngineChoice; 2] = [EngineChoice::Exec, EngineChoice::Agent];

/// Writes lines with numbers, slowly enough to be cut and long enough to be cut often.
const NUMBERS: &str = "i=0; while [ $i -lt 2000 ]; do i=$((i + 1)); echo line $i; \
                       [ $((i % 400)) = 0 ] && sleep 0.3; done; exit 7";

fn run_behind(way: &Way, engine: EngineChoice) -> Run {
    Run::new(DockerConfig {
        host: Some(way.address()),
        engine,
        ..settings()
    })
}

/// Returns a run whose agent is reached by an exec alone: its socket is in the container, not on this host.
fn agent_behind(way: &Way) -> Run {
    Run::remote(DockerConfig {
        host: Some(way.address()),
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

async fn refused(harm: &str, when: Harm, choice: EngineChoice) {
    let way = Way::new();
    let run = run_behind(&way, choice);
    way.harm(harm, when, 1);
    let Err((error, mut executor, _)) = run.try_open(job(BUSYBOX)).await else {
        panic!("{harm} {when:?}: it was prepared");
    };
    assert_eq!(way.to_come(), 0, "{harm}");
    assert!(error.is_temporary(), "{harm} {when:?}: {}", error.chain());
    assert_eq!(error.failure_reason(), FailureReason::RunnerSystemFailure);
    executor.cleanup().await.unwrap();
    assert_eq!(run.left().await, Vec::<String>::new(), "{harm} {when:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_container_is_created_it_is_retried_and_nothing_is_left() {
    for when in [Harm::Before, Harm::After] {
        refused("POST /containers/create", when, EngineChoice::Exec).await;
        refused("POST /start", when, EngineChoice::Agent).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn while_a_stage_is_started_exec_fails() {
    for harm in ["POST /containers/", "POST /exec/"] {
        for when in [Harm::Before, Harm::After] {
            let way = Way::new();
            let run = run_behind(&way, EngineChoice::Exec);
            let mut opened = run.open(job(BUSYBOX)).await;
            way.harm(harm, when, 1);
            let ran = opened
                .run(CommandBuilder::new("true").working_dir("/"))
                .await;
            let error = ran.unwrap_err();
            assert!(!error.is_temporary(), "{harm} {when:?}: {}", error.chain());
            assert!(
                error.chain().contains("run a command in container")
                    || error.chain().contains("the output of the stage"),
                "{harm} {when:?}: {}",
                error.chain()
            );
            opened.executor.cleanup().await.unwrap();
            assert_eq!(run.left().await, Vec::<String>::new());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn while_a_stage_is_started_attach_fails_without_effect_on_the_next_stage() {
    // R-EXEC-63
    let way = Way::new();
    let run = run_behind(&way, EngineChoice::Attach);
    let mut opened = run.open(job(BUSYBOX)).await;
    for harm in ["POST /attach", "POST /start"] {
        for when in [Harm::Before, Harm::After] {
            way.harm(harm, when, 1);
            let command = CommandBuilder::new("echo broken").working_dir("/");
            let error = opened.run(command).await.unwrap_err();
            assert_eq!(way.to_come(), 0, "{harm} {when:?}");
            assert!(!error.is_temporary(), "{harm} {when:?}: {}", error.chain());
            let printed = opened.print("echo after").await;
            assert_eq!(printed, "after\n", "{harm} {when:?}");
        }
    }
    opened.executor.cleanup().await.unwrap();
    assert_eq!(run.left().await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn while_a_stage_is_started_the_agent_is_asked_again() {
    for harm in ["POST /containers/", "POST /exec/"] {
        for when in [Harm::Before, Harm::After] {
            let way = Way::new();
            let run = agent_behind(&way);
            let mut opened = run.open(job(BUSYBOX)).await;
            way.harm(harm, when, 1);
            way.cut();
            let command = CommandBuilder::new("echo once; exit 7").working_dir("/");
            opened.trace.clear();
            let result = opened.run(command).await.unwrap();
            assert_eq!(way.to_come(), 0, "{harm}");
            assert_eq!(result.status.exit_code(), ExitCode(7), "{harm} {when:?}");
            assert_eq!(opened.trace.text(TraceStream::STDOUT), "once\n");
            opened.executor.cleanup().await.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn in_mid_output_the_agent_resumes() {
    // R-STEP-44
    let way = Way::new();
    let run = agent_behind(&way);
    let mut opened = run.open(job(BUSYBOX)).await;
    opened.trace.clear();
    let trace = opened.trace.clone();
    let cuts = async {
        for line in ["line 1\n", "line 500\n", "line 1100\n"] {
            trace.wait_for(TraceStream::STDOUT, line).await;
            way.cut();
        }
    };
    let command = CommandBuilder::new(NUMBERS).working_dir("/");
    let (ran, ()) = tokio::join!(opened.run(command), cuts);
    assert_eq!(ran.unwrap().status.exit_code(), ExitCode(7));
    assert_eq!(trace.text(TraceStream::STDOUT), numbers());
    opened.executor.cleanup().await.unwrap();
    assert_eq!(run.left().await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn in_mid_output_exec_and_attach_fail_and_end_the_script() {
    tokio::join!(cut(EngineChoice::Exec), cut(EngineChoice::Attach));
}

async fn cut(choice: EngineChoice) {
    let way = Way::new();
    let run = run_behind(&way, choice);
    let mut opened = run.open(job(BUSYBOX)).await;
    let trace = opened.trace.clone();
    let cut = async {
        trace.wait_for(TraceStream::STDOUT, "begun").await;
        if choice == EngineChoice::Attach {
            // Not even the request to end it gets through.
            way.harm("POST /kill", Harm::Before, 1);
        }
        way.cut();
    };
    let script = "echo begun; sleep 300; exit 0";
    let command = CommandBuilder::new(script).working_dir("/");
    let (ran, ()) = tokio::join!(noticed(opened.run(command)), cut);
    let error = ran.unwrap_err();
    assert!(!error.is_temporary(), "{error:?}");
    assert!(
        error.chain().contains("the output of the stage"),
        "{choice:?}: {}",
        error.chain()
    );
    assert_eq!(way.to_come(), 0, "{choice:?}");
    // What comes after finds none of it.
    let gone =
        async { while opened.print("ps | grep 'sleep 30[0]' || echo none").await != "none\n" {} };
    noticed(gone).await;
    opened.executor.cleanup().await.unwrap();
    assert_eq!(run.left().await, Vec::<String>::new());
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
        let way = Way::new();
        way.harm("POST /wait", Harm::After, 3);
        let run = run_behind(&way, choice);
        let mut opened = run.open(job(BUSYBOX)).await;
        let printed = opened.print("sleep 2; echo there").await;
        assert_eq!(printed, "there\n", "{choice:?}");
        noticed(way.done(3)).await;
        opened.executor.cleanup().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn at_the_removal_it_is_retried() {
    // R-EXEC-68
    for when in [Harm::Before, Harm::After] {
        let way = Way::new();
        let run = run_behind(&way, EngineChoice::Exec);
        let mut opened = run.open(job(BUSYBOX)).await;
        way.harm("DELETE /containers/", when, 3);
        opened.executor.cleanup().await.unwrap();
        assert_eq!(run.left().await, Vec::<String>::new(), "{when:?}");
        assert!(way.to_come() < 3, "{when:?}");
    }
}

async fn frozen(choice: EngineChoice) {
    let way = Way::new();
    let run = run_behind(&way, choice);
    let mut opened = run.open(job(BUSYBOX)).await;
    let trace = opened.trace.clone();
    let freeze = async {
        trace.wait_for(TraceStream::STDOUT, "begun").await;
        way.freeze(true);
    };
    let command = CommandBuilder::new("echo begun; sleep 300").working_dir("/");
    let (ran, ()) = tokio::join!(noticed(opened.run(command)), freeze);
    let error = ran.unwrap_err();
    assert!(
        error.chain().contains("the container engine is gone"),
        "{choice:?}: {}; {}",
        error.chain(),
        shown(&trace)
    );
    way.freeze(false);
    opened.executor.cleanup().await.unwrap();
    assert_eq!(run.left().await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_silent_engine_is_detected() {
    tokio::join!(frozen(EngineChoice::Exec), frozen(EngineChoice::Agent));
}
