//! Whole jobs, from fetching the sources to cleanup.

use crate::attach::{attach, events_until_gone};
use crate::support::in_time;
use crate::support::runner::{BUSYBOX, NONROOT, Run, leftovers_of, settings};
use content_store::ContentStore;
use executor_core::job::{Artifact, Cache, Image, Job};
use executor_core::prelude::*;
use executor_core::{
    ActiveJobs, JobAssignment, JobId, JobOutcome, JobRunner, JobSlot, JobState, JobVariable,
    RunContext,
};
use executor_docker::config::{DockerConfig, EngineChoice, SourcesChoice};
use executor_testkit::{JobBuilder, RecordingObserver};
use job_runner::{
    BuildRunner, BuildRunnerOptions, LocalCaches, LocalRepositories, Snapshot, Sources,
    StoredArtifacts,
};
use process::{Settings, Supervisor};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use tempfile::TempDir;

const ADDRESS: &str = "ssh://host.example/group/project.git";

/// Calls git in a directory of this host and returns its output.
#[expect(
    clippy::disallowed_methods,
    reason = "a test makes the repository that a job comes from"
)]
fn git(directory: &Path, words: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=Ada", "-c", "user.email=ada@example.com"])
        .args(words)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .current_dir(directory)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {words:?}: {errors}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// A run whose jobs go through all their stages.
struct WholeRun {
    provider: Arc<dyn ExecutorProvider>,
    config: Arc<RunnerConfig>,
    owner: String,
    directory: TempDir,
}

impl From<Run> for WholeRun {
    fn from(run: Run) -> Self {
        Self {
            provider: Arc::new(run.provider),
            config: Arc::new(run.config),
            owner: run.owner,
            directory: run.directory,
        }
    }
}

/// Runs a job to its end and returns its outcome and log.
async fn outcome(run: &WholeRun, options: BuildRunnerOptions, job: Job) -> (JobOutcome, String) {
    let observer = RecordingObserver::new();
    let runner = BuildRunner::new(options, Supervisor::start(Settings::default()).unwrap());
    let assignment = JobAssignment {
        job: Arc::new(job),
        attempt: 1,
        observer: Arc::new(observer.clone()),
        cancellation: Cancellation::new(),
    };
    let context = RunContext {
        provider: Arc::clone(&run.provider),
        config: Arc::clone(&run.config),
        data: ExecutorData::new(),
        slot: JobSlot::default(),
        active: ActiveJobs::new(),
    };
    let outcome = runner.run(assignment, context).await;
    let log = String::from_utf8_lossy(&observer.output().all()).into_owned();
    (outcome, log)
}

/// Returns the options of a runner whose jobs use a snapshot of a working tree and store caches and artifacts.
fn with_stores(root: &Path, tree: &Path) -> (StoredArtifacts, BuildRunnerOptions) {
    let content = ContentStore::at(root.join("content"));
    let artifacts = StoredArtifacts::new(content, root.join("artifacts"));
    let snapshot = Snapshot::new(tree, root.join("snapshots"));
    let options = BuildRunnerOptions {
        sources: Sources::Snapshot(Arc::new(snapshot)),
        artifacts: Some(Arc::new(artifacts.clone())),
        caches: Some(Arc::new(
            LocalCaches::at(root.join("caches")).of_project("p"),
        )),
        ..BuildRunnerOptions::default()
    };
    (artifacts, options)
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_streamed_to_the_images_user_and_back() {
    let root = tempfile::tempdir().unwrap();
    let tree = root.path().join("tree");
    fs::create_dir_all(tree.join("data")).unwrap();
    fs::write(tree.join("data/large"), "0123456789".repeat(30_000)).unwrap();
    git(&tree, &["init", "--quiet", "--initial-branch=main"]);
    git(&tree, &["add", "--all"]);
    git(&tree, &["commit", "--quiet", "-m", "first"]);
    let (artifacts, options) = with_stores(root.path(), &tree);
    let run = WholeRun::from(Run::new(DockerConfig {
        sources: SourcesChoice::Copy,
        engine: EngineChoice::Agent,
        ..settings()
    }));
    let script = [
        "grep -q '/volumes/.* /builds ' /proc/self/mountinfo",
        "case $ROUND in 1) test ! -e kept ;; 2) stat -c '%u of %n' kept/dep; cat kept/dep ;; esac",
        "stat -c '%u:%g of %n' . data data/large; wc -c <data/large; echo more >>data/large",
        "mkdir -p kept out; echo \"dep of $ROUND\" >kept/dep; echo made >out/a",
    ];
    let mut logs = Vec::new();
    for (id, round) in [(1, "1"), (2, "2")] {
        let job = JobBuilder::new(id)
            .script(script)
            .variable(JobVariable::public("ROUND", round))
            .with(|job| {
                job.image = Image::named(NONROOT);
                job.artifacts.push(Artifact {
                    artifact_type: "archive".to_owned(),
                    paths: vec!["out".to_owned(), "data/large".to_owned()],
                    ..Artifact::default()
                });
                job.cache.push(Cache {
                    key: "k".to_owned(),
                    paths: vec!["kept/".to_owned()],
                    ..Cache::default()
                });
            });
        let (outcome, log) = outcome(&run, options.clone(), job.build()).await;
        assert_eq!(outcome.state, JobState::Success, "{log}");
        let sources = "1000:1000 of .\n1000:1000 of data\n1000:1000 of data/large\n300000\n";
        assert!(log.contains(sources), "{log}");
        logs.push(log);
        let found = artifacts.of_type(JobId(id), "archive").unwrap().unwrap();
        let found = artifacts.tree_of(&found).unwrap();
        let files = found
            .entries()
            .iter()
            .filter(|it| it.path.extension().is_none());
        let files: Vec<_> = files.map(|it| it.path.to_str().unwrap()).collect();
        assert_eq!(files, ["data", "data/large", "out", "out/a"]);
    }
    assert!(
        logs[1].contains("1000 of kept/dep\ndep of 1\n"),
        "{}",
        logs[1]
    );
    let large = fs::metadata(tree.join("data/large")).unwrap();
    assert_eq!(large.len(), 300_000, "the job has a copy");
    // The directory in which files are assembled for transfer is empty again.
    assert_eq!(fs::read_dir(run.directory.path()).unwrap().count(), 0);
    assert_eq!(leftovers_of(&run.owner).await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_helper_container_gets_the_sources_and_the_build_container_runs_the_script() {
    // R-EXEC-52
    let repository = tempfile::tempdir().unwrap();
    let path = repository.path();
    fs::write(path.join("main.c"), "int main;\n").unwrap();
    git(path, &["init", "--quiet", "--initial-branch=main"]);
    git(path, &["add", "--all"]);
    git(path, &["commit", "--quiet", "-m", "first"]);
    // Instead of a server, the helper's git uses a repository in its container. It may read it as any user.
    let ssh = path.join("ssh");
    fs::write(&ssh, "#!/bin/sh\nexec git upload-pack /repository\n").unwrap();
    fs::set_permissions(&ssh, Permissions::from_mode(0o755)).unwrap();
    let settings = path.join("gitconfig");
    let text = "[safe]\n\tdirectory = *\n[core]\n\tsshCommand = /repository/ssh\n[ssh]\n\tvariant = simple\n";
    fs::write(&settings, text).unwrap();
    let run = WholeRun::from(Run::remote(DockerConfig {
        volumes: vec![
            format!("{}:/repository:ro", path.display()),
            format!("{}:/etc/gitconfig:ro", settings.display()),
        ],
        ..attach()
    }));
    // Error messages arrive on another stream, at any time.
    let script = "cat main.c; git --version 2>/dev/null || echo no tools here";
    let job = JobBuilder::new(1).script([script]).with(|job| {
        job.image = Image::named(BUSYBOX);
        job.git_info.repo_url = ADDRESS.into();
        job.git_info.sha = git(path, &["rev-parse", "HEAD"]);
        job.git_info.ref_name = "main".into();
    });
    let options = BuildRunnerOptions {
        sources: Sources::Git(LocalRepositories::Refused),
        ..BuildRunnerOptions::default()
    };
    let mut events = events_until_gone(&run.owner).await;
    let (outcome, log) = outcome(&run, options, job.build()).await;
    assert_eq!(outcome.state, JobState::Success, "{log}");
    assert!(log.contains("int main;\nno tools here"), "{log}");
    assert_eq!(leftovers_of(&run.owner).await, Vec::<String>::new());
    let seen = in_time(events.join_next()).await.unwrap().unwrap();
    let starts = seen
        .into_iter()
        .filter(|event| event.action.as_deref() == Some("start"));
    let roles = starts.map(|event| {
        let labels = event.actor.unwrap().attributes.unwrap();
        labels["dev.runwright.role"].clone()
    });
    let mut roles: Vec<_> = roles.collect();
    roles.dedup();
    // The first start of the build container probes its programs; after the script the job's files are removed.
    assert_eq!(roles, ["build", "helper", "build", "helper"]);
}
