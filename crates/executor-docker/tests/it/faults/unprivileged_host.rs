//! An unprivileged user handles files that root created in a container.

use crate::support::engine;
use crate::support::runner::{BUSYBOX, NONROOT, Run, job, log_text, settings};
use crate::support::unprivileged::run_unprivileged;
use bollard::query_parameters::KillContainerOptions;
use executor_core::prelude::*;
use executor_docker::config::{DockerConfig, EngineChoice};
use executor_testkit::CommandBuilder;

/// A script that creates files which only their owner can read or remove.
const PRIVATE_FILES: &str = "umask 077; mkdir -p deep/er; echo one >deep/er/file; echo made; ";

async fn check(choice: EngineChoice, dies: bool) {
    let run = Run::new(DockerConfig {
        engine: choice,
        ..settings()
    });
    let mut opened = run.open(job(BUSYBOX)).await;
    let Workspace::Mounted { host, inside } = opened.environment.workspace.clone() else {
        panic!("the engine sees the files of this host");
    };
    let container = opened.environment.hostname.clone();
    let trace = opened.trace.clone();
    let death = async {
        if dies {
            trace.wait_for(TraceStream::STDOUT, "made").await;
            let api = engine().await;
            let killing = api
                .api()
                .kill_container(&container, None::<KillContainerOptions>);
            killing.await.unwrap();
        }
    };
    let end = if dies { "sleep 1000" } else { "exit 7" };
    let command = CommandBuilder::new(format!("{PRIVATE_FILES}{end}"));
    let command = command.working_dir(inside.project_dir);
    let (ran, ()) = tokio::join!(opened.run(command), death);
    assert_eq!(ran.is_err(), dies, "{choice:?}: {}", log_text(&trace));
    // Reports of failed jobs are read this way.
    let made = std::fs::read_to_string(format!("{}/deep/er/file", host.project_dir));
    assert_eq!(made.unwrap(), "one\n", "{choice:?}, {dies}");
    opened.executor.cleanup().await.unwrap();
    assert_eq!(run.leftovers().await, Vec::<String>::new());
    run.directory.close().unwrap();
}

#[test]
fn files_of_root_are_ours_after_each_stage() {
    run_unprivileged(|| check(EngineChoice::Attach, false));
}

#[test]
fn files_of_root_are_ours_after_the_death_of_their_container() {
    run_unprivileged(|| check(EngineChoice::Exec, true));
}

#[test]
fn files_of_root_are_ours_with_the_agent() {
    run_unprivileged(|| check(EngineChoice::Agent, true));
}

#[test]
fn an_image_with_another_user_gets_no_mounted_files() {
    run_unprivileged(async || {
        for engine in [EngineChoice::Exec, EngineChoice::Attach] {
            let run = Run::new(DockerConfig {
                engine,
                ..settings()
            });
            let mut opened = run.open(job(NONROOT)).await;
            let warned = log_text(&opened.trace).contains("gets no files of this host");
            // With exec, the files arrive through `tar`.
            assert_eq!(warned, engine == EngineChoice::Attach, "{engine:?}");
            let workspace = &opened.environment.workspace;
            assert!(
                matches!(workspace, Workspace::Remote { .. }),
                "{engine:?}: {workspace:?}"
            );
            let script = format!("{PRIVATE_FILES}id -u");
            assert_eq!(opened.print(&script).await, "made\n1000\n", "{engine:?}");
            opened.executor.cleanup().await.unwrap();
            assert_eq!(run.leftovers().await, Vec::<String>::new());
            run.directory.close().unwrap();
        }
    });
}
