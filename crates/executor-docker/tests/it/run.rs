//! Jobs from `prepare` to `cleanup`.

use crate::support::engine;
use crate::support::runner::{BUSYBOX, DEBIAN, Run, job, log_text, settings};
use executor_core::JobOutcome;
use executor_core::prelude::*;
use executor_docker::config::{DockerConfig, EngineChoice, NetworkChoice};
use executor_testkit::CommandBuilder;
use std::time::{Duration, Instant};

fn exec() -> DockerConfig {
    DockerConfig {
        engine: EngineChoice::Exec,
        ..settings()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_runs_in_its_own_container_and_leaves_nothing() {
    // R-EXEC-51, R-EXEC-62, R-EXEC-68
    let run = Run::new(exec());
    let mut opened = run.open(job(BUSYBOX)).await;
    assert_eq!(run.leftovers().await.len(), 1, "one container");
    assert_eq!(
        opened.print("echo $((40 + 2)); pwd").await,
        "42\n/builds/group/project\n"
    );
    opened.executor.cleanup().await.unwrap();
    assert_eq!(run.leftovers().await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn output_and_exit_code_come_from_the_engine() {
    // R-EXEC-65, R-EXEC-66
    let run = Run::new(exec());
    let mut opened = run.open(job(DEBIAN)).await;
    assert_eq!(opened.environment.shell.dialect, ShellDialect::Bash);
    opened.trace.clear();
    let command = CommandBuilder::new("echo out; echo err >&2; exit 42").working_dir("/");
    let result = opened.run(command).await.unwrap();
    assert_eq!(result.status, StageStatus::Exited(ExitCode(42)));
    assert_eq!(opened.trace.text(TraceStream::STDOUT), "out\n");
    assert_eq!(
        opened.trace.text(TraceStream::STDERR),
        "err\n",
        "{}",
        log_text(&opened.trace)
    );
    assert_eq!((result.stdout_bytes, result.stderr_bytes), (4, 4));
    opened.executor.cleanup().await.unwrap();
    assert_eq!(run.leftovers().await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_best_shell_of_an_image_runs_scripts_and_not_as_a_login_shell() {
    // R-EXEC-58
    for engine in [
        EngineChoice::Exec,
        EngineChoice::Agent,
        EngineChoice::Attach,
    ] {
        let run = Run::new(DockerConfig {
            engine,
            ..settings()
        });
        let mut opened = run.open(job(BUSYBOX)).await;
        assert_eq!(
            opened.environment.shell.dialect,
            ShellDialect::Sh,
            "{engine:?}"
        );
        assert_eq!(opened.print("echo \"${BASH-none}\"").await, "none\n");
        opened.executor.cleanup().await.unwrap();
        let mut opened = run.open(job(DEBIAN)).await;
        assert_eq!(
            opened.environment.shell.dialect,
            ShellDialect::Bash,
            "{engine:?}"
        );
        let script = "shopt -q login_shell && echo login || echo \"${BASH##*/}\"";
        assert_eq!(opened.print(script).await, "bash\n", "{engine:?}");
        opened.executor.cleanup().await.unwrap();
        assert_eq!(run.leftovers().await, Vec::<String>::new());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn prepare_creates_all_objects_and_finish_removes_none() {
    // R-EXEC-59, R-EXEC-61, R-EXEC-67
    let run = Run::new(DockerConfig {
        network: NetworkChoice::PerJob,
        volumes: vec!["/scratch".to_owned()],
        disable_cache: true,
        devices: vec!["/dev/null:/dev/nothing".parse().unwrap()],
        ..exec()
    });
    let mut opened = run.open(job(BUSYBOX)).await;
    let made = run.leftovers().await;
    let count = |what: &str| made.iter().filter(|it| it.starts_with(what)).count();
    assert_eq!(count("container"), 1, "{made:?}");
    assert_eq!(count("network"), 1, "{made:?}");
    assert_eq!(count("volume"), 1, "{made:?}");
    assert_eq!(
        opened
            .print("test -c /dev/nothing && test -d /scratch && echo there")
            .await,
        "there\n"
    );
    opened.executor.finish(&JobOutcome::success()).await;
    assert_eq!(run.leftovers().await, made);
    opened.executor.cleanup().await.unwrap();
    assert_eq!(run.leftovers().await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_agent_is_reached_by_its_local_socket_or_one_exec() {
    // R-STEP-48, R-STEP-50: the rounds over TLS and ssh do this with an engine at another address.
    let agent = || DockerConfig {
        engine: EngineChoice::Agent,
        ..settings()
    };
    // An unprivileged user cannot use a socket that root created in a container.
    let is_root = rustix::process::geteuid().is_root();
    let expected = [
        (Run::new(agent()), usize::from(!is_root)),
        (Run::remote(agent()), 1),
    ];
    for (run, execs) in expected {
        let mut opened = run.open(job(BUSYBOX)).await;
        assert_eq!(opened.print("echo one").await, "one\n");
        assert_eq!(opened.print("echo two").await, "two\n");
        let engine = engine().await;
        let container = engine
            .api()
            .inspect_container(&opened.environment.hostname, None);
        let found = container.await.unwrap().exec_ids.unwrap_or_default();
        assert_eq!(found.len(), execs, "{found:?}");
        opened.executor.cleanup().await.unwrap();
        assert_eq!(run.leftovers().await, Vec::<String>::new());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exit_code_of_a_killed_process_takes_no_longer_than_others() {
    for engine in [EngineChoice::Exec, EngineChoice::Agent] {
        let run = Run::new(DockerConfig {
            engine,
            ..settings()
        });
        let mut opened = run.open(job(BUSYBOX)).await;
        for script in ["exit 137", "kill -9 $$"] {
            // A wait for a report about memory or for the end of the container would delay each attempt.
            let limit = Duration::from_secs(3);
            let mut least = Duration::MAX;
            for _ in 0..5 {
                let begun = Instant::now();
                let result = opened.run(CommandBuilder::new(script)).await.unwrap();
                least = least.min(begun.elapsed());
                assert_eq!(result.status.exit_code(), ExitCode(137));
                assert!(!result.oom_killed);
                if least < limit {
                    break;
                }
            }
            assert!(least < limit, "{engine:?}, {script}: {least:?}");
        }
        opened.executor.cleanup().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn steps_without_the_agent_are_refused_with_the_reason() {
    for (engine, name) in [
        (EngineChoice::Exec, "exec"),
        (EngineChoice::Attach, "attach"),
    ] {
        let run = Run::new(DockerConfig {
            engine,
            ..settings()
        });
        let mut opened = run.open(job(BUSYBOX)).await;
        let steps = CommandBuilder::new("[]").stage(BuildStage::StepRun);
        let error = opened.run(steps).await.unwrap_err();
        let setting = format!("engine = \"{name}\"");
        assert!(error.chain().contains(&setting), "{}", error.chain());
        opened.executor.cleanup().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn other_containers_in_its_network_find_it_as_build() {
    for network in [NetworkChoice::PerJob, NetworkChoice::Auto] {
        let has_names = network == NetworkChoice::PerJob;
        let run = Run::new(DockerConfig { network, ..exec() });
        let mut opened = run.open(job(BUSYBOX)).await;
        let api = engine().await.api().clone();
        let found = api.inspect_container(&opened.environment.hostname, None);
        let networks = found.await.unwrap().network_settings.unwrap().networks;
        let mut networks = networks.unwrap().into_values();
        let aliases = networks.next().unwrap().aliases.unwrap_or_default();
        assert_eq!(
            aliases.contains(&"build".to_owned()),
            has_names,
            "{aliases:?}"
        );
        opened.executor.cleanup().await.unwrap();
    }
}
