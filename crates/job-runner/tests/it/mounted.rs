//! Jobs whose environment shows this host's files under other paths.

use crate::support::{Bench, Repository, artifacts_below, files_below, kept, mounted, path_text};
use executor_core::job::{Artifact, Cache};
use executor_core::{BuildStage, FailureReason, JobState, ShellDialect};
use executor_testkit::{Directive, JobBuilder, ScriptedProvider};
use job_runner::{BuildRunnerOptions, LocalCaches, Snapshot, SnapshotMethod, Sources};
use std::fs;
use std::path::Path;
use std::sync::Arc;

fn provider(root: &Path) -> ScriptedProvider {
    let provider = ScriptedProvider::new();
    provider.set_default_shell(Some(ShellDialect::Sh));
    provider.set_workspace(mounted(&root.join("builds")));
    provider
}

#[tokio::test]
async fn runner_and_scripts_use_different_paths() {
    let repository = Repository::new();
    let root = tempfile::tempdir().expect("a directory");
    let store = artifacts_below(root.path());
    let provider = provider(root.path());
    let project = root.path().join("builds/group/project");
    let script = {
        let project = project.clone();
        move || {
            assert!(project.join("src/main.c").is_file());
            assert!(project.join("../project.tmp").is_dir());
            fs::create_dir_all(project.join("dist")).expect("made");
            fs::write(project.join("dist/a"), "a").expect("written");
            fs::write(project.join("seen.env"), "SEEN=yes\n").expect("written");
            fs::write(project.join("new"), "n").expect("written");
        }
    };
    provider.on(BuildStage::script(), Directive::succeed().doing(script));
    let caches = LocalCaches::at(root.path().join("caches")).of_project("p");
    let bench = Bench::scripted(
        &provider,
        BuildRunnerOptions {
            sources: Sources::Snapshot(Arc::new(Snapshot::new(
                repository.path(),
                root.path().join("snapshots"),
            ))),
            artifacts: Some(Arc::new(store.clone())),
            caches: Some(Arc::new(caches)),
            ..BuildRunnerOptions::default()
        },
    );
    let job = JobBuilder::new(1)
        .script(["make"])
        .after_script(["true"])
        .with(|job| {
            job.artifacts.push(Artifact {
                paths: vec!["$CI_PROJECT_DIR/dist".to_owned(), "none/*".to_owned()],
                untracked: true,
                ..Artifact::default()
            });
            job.artifacts.push(Artifact {
                artifact_type: "dotenv".to_owned(),
                paths: vec!["seen.env".to_owned()],
                ..Artifact::default()
            });
            job.cache.push(Cache {
                key: "k".to_owned(),
                paths: vec!["$CI_PROJECT_DIR/dist/".to_owned()],
                ..Cache::default()
            });
        })
        .build();
    let outcome = bench.run(job).await;
    let log = bench.log();
    assert_eq!(outcome.state, JobState::Success, "{log}");
    assert_eq!(
        kept(&store, 1, "archive"),
        ["dist/a", "new", "seen.env"],
        "{log}"
    );
    assert_eq!(outcome.products.dotenv.len(), 1, "{log}");
    assert!(
        log.contains("working directory (/builds/group/project)"),
        "{log}"
    );
    assert!(log.contains("Created cache"), "{log}");
    assert!(!log.contains(&path_text(&project)), "{log}");
    for command in provider.commands() {
        assert!(command.working_dir.starts_with("/builds"), "{command:?}");
        assert_eq!(
            command.variables.get("CI_PROJECT_DIR"),
            Some("/builds/group/project")
        );
    }
    assert_eq!(
        files_below(&root.path().join("builds")),
        Vec::<std::path::PathBuf>::new()
    );
    assert!(!project.exists());
    provider.assert_obeyed();
}

#[tokio::test]
async fn nothing_is_mounted_for_a_container() {
    let repository = Repository::new();
    for number in 0..200 {
        repository.write(&format!("many/{number}"), "x");
    }
    let root = tempfile::tempdir().expect("a directory");
    let check = async |means: SnapshotMethod| {
        let provider = provider(root.path());
        let snapshot = Snapshot::new(repository.path(), root.path().join("snapshots"));
        let sources = Sources::Snapshot(Arc::new(snapshot.with_method(means)));
        let options = BuildRunnerOptions {
            sources,
            ..BuildRunnerOptions::default()
        };
        let bench = Bench::scripted(&provider, options);
        let outcome = bench.run(JobBuilder::new(1).script(["true"]).build()).await;
        (outcome, bench.log())
    };
    let (outcome, log) = check(SnapshotMethod::Auto).await;
    assert_eq!(outcome.state, JobState::Success, "{log}");
    assert!(log.contains("Copied 202 files"), "{log}");
    let (outcome, log) = check(SnapshotMethod::Overlay).await;
    let reason = FailureReason::RunnerConfigurationError;
    assert_eq!(outcome.failure_reason(), Some(reason), "{log}");
    assert!(log.contains("cannot see an overlay"), "{log}");
}
