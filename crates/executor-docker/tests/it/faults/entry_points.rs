//! Entry points, users and file systems of many kinds.

use crate::support::engine;
use crate::support::runner::{BUSYBOX, Run, job, settings};
use executor_core::FailureReason;
use executor_core::prelude::*;
use executor_core::variable::JobVariable;
use executor_docker::config::{DockerConfig, EngineChoice};
use executor_testkit::CommandBuilder;

const BOTH: [EngineChoice; 2] = [EngineChoice::Exec, EngineChoice::Agent];

fn with(engine: EngineChoice) -> DockerConfig {
    DockerConfig {
        engine,
        ..settings()
    }
}

/// Checks that a job behind this entry point runs, and that its earlier output is in the log.
async fn runs(entry_point: &[&str], before: &str) {
    for choice in BOTH {
        let run = Run::new(with(choice));
        let mut job = job(BUSYBOX);
        job.image.entrypoint = entry_point.iter().map(|word| (*word).to_owned()).collect();
        let mut opened = match run.try_open(job).await {
            Ok(opened) => opened,
            Err((error, ..)) => panic!("{choice:?}, {entry_point:?}: {}", error.chain()),
        };
        // The other stream reports readiness and may arrive first.
        let stream = if before.contains("err") {
            TraceStream::STDERR
        } else {
            TraceStream::STDOUT
        };
        opened.trace.wait_for(stream, before).await;
        opened.trace.clear();
        let command = CommandBuilder::new("echo out; exit 7").working_dir("/");
        let result = opened.run(command).await.unwrap();
        assert_eq!(result.status.exit_code(), ExitCode(7), "{entry_point:?}");
        assert_eq!(opened.trace.text(TraceStream::STDOUT), "out\n");
        opened.executor.cleanup().await.unwrap();
        assert_eq!(run.leftovers().await, Vec::<String>::new());
    }
}

/// Checks that a job behind this entry point does not start, for this reason.
async fn refused(entry_point: &[&str], words: &str) {
    for choice in BOTH {
        let run = Run::new(with(choice));
        let mut job = job(BUSYBOX);
        job.image.entrypoint = entry_point.iter().map(|word| (*word).to_owned()).collect();
        let Err((error, mut executor, _)) = run.try_open(job).await else {
            panic!("{choice:?}, {entry_point:?}: it was prepared");
        };
        let message = error.chain();
        assert!(
            message.contains(words),
            "{choice:?}, {entry_point:?}: {message}"
        );
        assert!(!error.is_temporary(), "{message}");
        assert_eq!(
            error.failure_reason(),
            FailureReason::RunnerConfigurationError
        );
        executor.cleanup().await.unwrap();
        assert_eq!(run.leftovers().await, Vec::<String>::new());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_does_not_exec_what_it_starts() {
    runs(
        &["/bin/sh", "-c", "echo before; \"$@\"; echo after", "entry"],
        "before\n",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_traps_signals() {
    let script = "trap 'echo trapped' TERM INT HUP; echo to err >&2; \"$@\"";
    runs(&["/bin/sh", "-c", script, "entry"], "to err\n").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_leaves_half_a_line() {
    runs(
        &["/bin/sh", "-c", "printf half; exec \"$@\"", "entry"],
        "half",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_is_a_shell_with_an_option() {
    // The shell drops the arguments of the command.
    runs(&["sh", "-c"], "").await;
    runs(&["sh", "-lc"], "").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_prints_its_command() {
    let script = "echo \"run: $*\"; echo end; exec \"$@\"";
    runs(&["/bin/sh", "-c", script, "entry"], "end\n").await;
    refused(
        &["/bin/echo"],
        "ended with exit code 0 before the job began",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_reads_the_variables_of_the_job() {
    let script = "echo \"$PLAIN|$SECRET|$FILE|$CI_PROJECT_DIR\"; exec \"$@\"";
    for choice in BOTH {
        for (entry_point, expect) in [
            (&["/bin/sh", "-c", script, "entry"][..], true),
            // Without an entry point the engine gets no variables.
            (&[""], false),
        ] {
            let run = Run::new(with(choice));
            let mut job = job(BUSYBOX);
            job.image.entrypoint = entry_point.iter().map(|word| (*word).to_owned()).collect();
            job.variables = vec![
                JobVariable::public("PLAIN", "of $SECRET"),
                JobVariable::masked("SECRET", "hidden"),
                JobVariable::file("FILE", "content"),
            ];
            let mut opened = run.open(job).await;
            let dirs = opened.environment.workspace.dirs().clone();
            if expect {
                let printed = format!(
                    "of hidden|hidden|{}/FILE|{}\n",
                    dirs.temp_dir, dirs.project_dir
                );
                opened.trace.wait_for(TraceStream::STDOUT, &printed).await;
            }
            let container = &opened.environment.hostname;
            let api = engine().await.api().clone();
            let found = api.inspect_container(container, None).await.unwrap();
            let environment = found.config.unwrap().env.unwrap_or_default();
            let shown = environment.contains(&"SECRET=hidden".to_owned());
            assert_eq!(shown, expect, "{choice:?}: {environment:?}");
            opened.executor.cleanup().await.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_is_disabled() {
    runs(&[""], "").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_ends_at_once() {
    refused(
        &["/bin/sh", "-c", "exit 0"],
        "ended with exit code 0 before the job began",
    )
    .await;
    refused(
        &["/bin/sh", "-c", "exit 3"],
        "ended with exit code 3 before the job began",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_whose_program_is_missing() {
    refused(&["/no/such/program"], "cannot be started").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_user_in_a_read_only_container() {
    for choice in BOTH {
        for remote in [false, true] {
            let mut config = with(choice);
            config.user = Some("4000000:4000001".to_owned());
            config.read_only = true;
            let run = if remote {
                Run::remote(config)
            } else {
                Run::new(config)
            };
            let mut opened = run.open(job(BUSYBOX)).await;
            let script = "echo x >file && cat file && id -u && id -g && \
                          if (: >/tmp-x) 2>/dev/null; then echo written; else echo read-only; fi";
            let printed = opened.print(script).await;
            assert_eq!(
                printed, "x\n4000000\n4000001\nread-only\n",
                "{choice:?}, remote: {remote}"
            );
            opened.executor.cleanup().await.unwrap();
            assert_eq!(run.leftovers().await, Vec::<String>::new());
        }
    }
}
