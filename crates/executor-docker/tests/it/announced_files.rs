//! The location of a job's files is announced before its container exists.

use crate::support::address;
use crate::support::endpoints::Port;
use crate::support::runner::{NONROOT, Run, job, log_text, settings};
use crate::support::test_transport::is_socket_or_skips;
use executor_core::prelude::*;
use executor_core::{PlannedWorkspace, Workspace};
use executor_docker::config::{DockerConfig, EngineChoice, SourcesChoice};
use executor_docker::image::PullPolicy;
use executor_testkit::{CommandBuilder, OptionsBuilder, RecordingTrace};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

async fn announced(planned: &PlannedWorkspace) -> Workspace {
    let announced = timeout(Duration::from_mins(2), planned.announced()).await;
    announced.expect("the location of the files is announced")
}

fn exec() -> DockerConfig {
    DockerConfig {
        engine: EngineChoice::Exec,
        ..settings()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn files_copied_meanwhile_belong_to_the_containers_user() {
    if !is_socket_or_skips(
        "announced_files::files_copied_meanwhile_belong_to_the_containers_user",
        "an engine that may be elsewhere is not expected to see our files, so none come before its container",
    ) {
        return;
    }
    let run = Run::new(exec());
    let planned = PlannedWorkspace::new();
    let trace = RecordingTrace::new();
    let options = OptionsBuilder::new()
        .config(run.config.clone())
        .job(job(NONROOT))
        .trace(Arc::new(trace.clone()))
        .planned(planned.clone());
    let mut executor = run.provider.create(&ExecutorData::new()).unwrap();
    let comes = async {
        let Workspace::Mounted { host, .. } = announced(&planned).await else {
            panic!("files of this host are announced");
        };
        let project = Path::new(&host.project_dir);
        fs::create_dir_all(project).unwrap();
        fs::write(project.join("kept"), "early\n").unwrap();
    };
    let never = Cancellation::new();
    let (environment, ()) = tokio::join!(executor.prepare(options.build(), &never), comes);
    let workspace = environment.unwrap().workspace;
    let workspace_announced = announced(&planned).await;
    assert_eq!(workspace_announced.dirs(), workspace.dirs());
    assert_eq!(workspace_announced.host_dirs(), workspace.host_dirs());
    let script = "set -e; echo late >>kept; cat kept";
    let command = CommandBuilder::new(script).working_dir(&*workspace.dirs().project_dir);
    let result = executor.run(command.build(), &never).await.unwrap();
    assert!(result.status.is_success(), "{}", log_text(&trace));
    assert_eq!(trace.text(TraceStream::STDOUT), "early\nlate\n");
    executor.cleanup().await.unwrap();
    assert_eq!(run.leftovers().await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_location_of_mounted_files_is_announced_early() {
    let port = Port::plain();
    let over_tcp = Some(format!("tcp://127.0.0.1:{}", port.number));
    let check = async |settings: DockerConfig, is_said: bool| {
        let settings = DockerConfig {
            pull_policy: vec![PullPolicy::Never],
            ..settings
        };
        let what = format!("{:?} {:?}", settings.host, settings.sources);
        let run = Run::new(settings);
        let planned = PlannedWorkspace::new();
        let options = OptionsBuilder::new()
            .config(run.config.clone())
            .job(job("runwright-test/nobody-has-it:1"))
            .planned(planned.clone());
        let mut executor = run.provider.create(&ExecutorData::new()).unwrap();
        let never = Cancellation::new();
        let prepared = executor.prepare(options.build(), &never).await;
        prepared.expect_err("there is no such image");
        assert_eq!(planned.is_announced(), is_said, "{what}");
        executor.cleanup().await.unwrap();
        assert_eq!(run.leftovers().await, Vec::<String>::new());
    };
    check(exec(), address().starts_with("unix://")).await;
    let copied = DockerConfig {
        sources: SourcesChoice::Copy,
        ..exec()
    };
    check(copied, false).await;
    let far = DockerConfig {
        host: over_tcp,
        ..exec()
    };
    check(far, false).await;
}
