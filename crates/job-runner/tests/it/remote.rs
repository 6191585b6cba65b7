//! Jobs whose environment is reached only through streams.

use crate::support::{Bench, Repository, artifacts_below, files_below, kept, path_text};
use async_trait::async_trait;
use executor_core::ability::{Abilities, ByteStream, FileTransfer};
use executor_core::job::{Artifact, Cache, Dependency};
use executor_core::{
    AcquireError, BuildError, Cancellation, ConfigInfo, Executor, ExecutorData, ExecutorProvider,
    ExecutorStage, FailureReason, FeaturesInfo, JobId, JobOutcome, JobState, JobStop, JobVariable,
    PrepareOptions, PreparedEnvironment, ProviderError, RunnerConfig, ShellDialect, ShellInfo,
    StageCell, StageCommand, StageResult, Workspace,
};
use executor_testkit::JobBuilder;
use job_runner::{BuildRunnerOptions, LocalCaches, Snapshot, Sources, StoredArtifacts};
use std::io::{Cursor, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use tokio::io::AsyncReadExt;

/// A provider of executors on this host that offer their files only as streams, or not at all.
#[derive(Debug)]
pub(crate) struct Elsewhere(
    pub(crate) Arc<dyn ExecutorProvider>,
    pub(crate) Option<Arc<dyn FileTransfer>>,
);

#[derive(Debug)]
struct ElsewhereExecutor(Box<dyn Executor>, Option<Arc<dyn FileTransfer>>);

/// Transfers files from and to a directory with tar.
#[derive(Debug)]
struct Tar;

#[expect(
    clippy::disallowed_methods,
    reason = "the other side of a stream is another program than ours"
)]
fn tar(args: &[&str], input: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut child = Command::new("tar")
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut stdin = child.stdin.take().expect("a pipe");
    let input = input.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output()?;
    let written = writer.join().expect("no panic");
    if output.status.success() {
        written.map(|()| output.stdout)
    } else {
        Err(std::io::Error::other("tar failed"))
    }
}

#[async_trait]
impl FileTransfer for Tar {
    async fn put(
        &self,
        directory: &str,
        mut archive: ByteStream,
        _cancellation: &Cancellation,
    ) -> Result<(), BuildError> {
        let failed = |source| BuildError::system("tar", "unpack", source);
        let mut bytes = Vec::new();
        archive.read_to_end(&mut bytes).await.map_err(failed)?;
        std::fs::create_dir_all(directory).map_err(failed)?;
        let args = ["-x", "--no-same-owner", "-C", directory];
        tar(&args, &bytes).map_err(failed).map(drop)
    }

    async fn get(
        &self,
        directory: &str,
        paths: &[String],
        _cancellation: &Cancellation,
    ) -> Result<ByteStream, BuildError> {
        let there = paths
            .iter()
            .filter(|path| Path::new(directory).join(path).exists());
        let mut args = vec!["-c", "-C", directory, "--"];
        args.extend(there.map(String::as_str));
        if args.len() == 4 {
            args.splice(3.., ["-T", "/dev/null"]);
        }
        let bytes = tar(&args, b"");
        let bytes = bytes.map_err(|source| BuildError::system("tar", "pack", source))?;
        Ok(Box::new(Cursor::new(bytes)))
    }
}

#[async_trait]
impl ExecutorProvider for Elsewhere {
    fn can_create(&self) -> Result<(), ProviderError> {
        self.0.can_create()
    }
    fn create(&self, data: &ExecutorData) -> Result<Box<dyn Executor>, BuildError> {
        // An abort shortens the cleanup of remote environments.
        assert!(data.get::<JobStop>().is_some());
        Ok(Box::new(ElsewhereExecutor(
            self.0.create(data)?,
            self.1.clone(),
        )))
    }
    async fn acquire(
        &self,
        config: &RunnerConfig,
        cancellation: &Cancellation,
    ) -> Result<ExecutorData, AcquireError> {
        self.0.acquire(config, cancellation).await
    }
    async fn release(&self, config: &RunnerConfig, data: ExecutorData) {
        self.0.release(config, data).await;
    }
    fn features(&self, features: &mut FeaturesInfo) -> Result<(), ProviderError> {
        self.0.features(features)
    }
    fn config_info(&self, config: &RunnerConfig, info: &mut ConfigInfo) {
        self.0.config_info(config, info);
    }
    fn default_shell(&self) -> Option<ShellDialect> {
        self.0.default_shell()
    }
    fn init(&self) -> Result<(), ProviderError> {
        self.0.init()
    }
    async fn shutdown(&self, deadline: Duration) -> Result<(), ProviderError> {
        self.0.shutdown(deadline).await
    }
}

#[async_trait]
impl Executor for ElsewhereExecutor {
    fn shell(&self) -> &ShellInfo {
        self.0.shell()
    }
    async fn prepare(
        &mut self,
        options: PrepareOptions,
        cancellation: &Cancellation,
    ) -> Result<PreparedEnvironment, BuildError> {
        let environment = self.0.prepare(options, cancellation).await?;
        let dirs = environment.workspace.dirs().clone();
        Ok(PreparedEnvironment {
            workspace: Workspace::Remote {
                dirs,
                transfer: self.1.clone(),
            },
            ..environment
        })
    }
    async fn run(
        &mut self,
        command: StageCommand,
        cancellation: &Cancellation,
    ) -> Result<StageResult, BuildError> {
        self.0.run(command, cancellation).await
    }
    async fn finish(&mut self, outcome: &JobOutcome) {
        self.0.finish(outcome).await;
    }
    async fn cleanup(&mut self) -> Result<(), BuildError> {
        self.0.cleanup().await
    }
    fn current_stage(&self) -> ExecutorStage {
        self.0.current_stage()
    }
    fn set_current_stage(&self, stage: ExecutorStage) {
        self.0.set_current_stage(stage);
    }
    fn stage_cell(&self) -> StageCell {
        self.0.stage_cell()
    }
    fn abilities(&self) -> Abilities {
        Abilities {
            steps: self.0.abilities().steps,
            terminal: self.0.abilities().terminal,
            file_transfer: self.1.clone(),
            port_proxy: self.0.abilities().port_proxy,
            suspend: self.0.abilities().suspend,
            resumable: self.0.abilities().resumable,
        }
    }
}

/// Returns a bench whose jobs run below `root/builds`, which the runner does not access itself, with the files of
/// `repository`.
fn bench(repository: &Repository) -> (TempDir, StoredArtifacts, Bench) {
    let root = tempfile::tempdir().expect("a directory");
    let store = artifacts_below(root.path());
    let snapshot = Snapshot::new(repository.path(), root.path().join("snapshots"));
    let options = BuildRunnerOptions {
        sources: Sources::Snapshot(Arc::new(snapshot)),
        artifacts: Some(Arc::new(store.clone())),
        caches: Some(Arc::new(
            LocalCaches::at(root.path().join("caches")).of_project("p"),
        )),
        ..BuildRunnerOptions::default()
    };
    let mut bench = Bench::shell(root.path(), options);
    let staging = root.path().join("staging");
    std::fs::create_dir(&staging).expect("made");
    bench.config.builds_dir = Some(path_text(&root.path().join("builds")));
    bench.config.host_builds_dir = Some(path_text(&staging));
    bench.provider = Arc::new(Elsewhere(Arc::clone(&bench.provider), Some(Arc::new(Tar))));
    (root, store, bench)
}

fn artifact(kind: &str, paths: &[&str]) -> Artifact {
    Artifact {
        artifact_type: kind.to_owned(),
        paths: paths.iter().map(ToString::to_string).collect(),
        ..Artifact::default()
    }
}

#[tokio::test]
async fn files_keep_their_times() {
    // A transfer recognizes unchanged files by their contents, modes and times.
    let repository = Repository::new();
    repository.write("run.sh", "echo ran");
    std::os::unix::fs::symlink("run.sh", repository.path().join("link")).expect("linked");
    let touch = ["-h", "-d", "@1700000000", "run.sh", "link"];
    #[expect(clippy::disallowed_methods, reason = "sets the time of a link")]
    let mut command = Command::new("touch");
    let touched = command.args(touch).current_dir(repository.path()).status();
    assert!(touched.expect("touched").success());
    let (_root, _, bench) = bench(&repository);
    for id in 1..=2 {
        let script = ["stat -c %Y run.sh link | sort -u"];
        let outcome = bench.run(JobBuilder::new(id).script(script).build()).await;
        assert_eq!(outcome.state, JobState::Success, "{}", bench.log());
    }
    let stdout = bench.stdout();
    let times = stdout.lines().filter(|line| line.starts_with("17"));
    assert_eq!(times.collect::<Vec<_>>(), ["1700000000"; 2], "{stdout}");
}

#[tokio::test]
async fn sources_caches_and_artifacts_are_transferred() {
    let repository = Repository::new();
    repository.write("run.sh", "#!/bin/sh\necho ran\n");
    std::os::unix::fs::symlink("run.sh", repository.path().join("link")).expect("linked");
    let (root, store, bench) = bench(&repository);
    let first = JobBuilder::new(1)
        .script([
            "test -f src/main.c && test -L link && test ! -e ignored",
            "test \"$(git log --format=%s -1)\" = first && git fsck 2>&1",
            "test ! -e .git/objects/info/alternates",
            "mkdir -p dist/deep && echo one > dist/a && echo two > dist/deep/b",
            "mkfifo dist/pipe && ln -s a dist/link && mkdir dist/empty",
            "chmod 750 dist/deep && rm run.sh && echo new > new && echo SEEN=yes > seen.env",
        ])
        .with(|job| {
            job.artifacts
                .push(artifact("archive", &["$CI_PROJECT_DIR/dist", "run.sh"]));
            job.artifacts.push(artifact("dotenv", &["seen.env"]));
            job.cache.push(Cache {
                key: "k".to_owned(),
                paths: vec!["dist/deep/*".to_owned()],
                ..Cache::default()
            });
        });
    let outcome = bench.run(first.build()).await;
    let log = bench.log();
    assert_eq!(outcome.state, JobState::Success, "{log}");
    let found = ["dist/a", "dist/deep/b", "dist/empty", "dist/link"];
    assert_eq!(kept(&store, 1, "archive"), found, "{log}");
    let dotenv = &outcome.products.dotenv;
    assert_eq!(dotenv[0].value, "yes", "{log}");
    assert!(log.contains("run.sh: no matching files"), "{log}");
    assert_eq!(
        files_below(&root.path().join("staging")),
        Vec::<std::path::PathBuf>::new()
    );

    let second = JobBuilder::new(2)
        .variable(JobVariable::public("GIT_STRATEGY", "none"))
        .script([
            "test \"$(cat dist/a)\" = one && test -L dist/link && test -d dist/empty",
            "test \"$(cat dist/deep/b)\" = two",
            "exit 3",
        ])
        .with(|job| {
            job.dependencies = vec![Dependency {
                id: JobId(1),
                name: "build".to_owned(),
                ..Dependency::default()
            }];
            job.cache.push(Cache {
                key: "k".to_owned(),
                paths: vec!["dist/deep/*".to_owned()],
                ..Cache::default()
            });
        });
    let outcome = bench.run(second.build()).await;
    let log = bench.log();
    assert_eq!(outcome.exit_code().map(|it| it.0), Some(3), "{log}");
    assert!(log.contains("Successfully extracted cache"), "{log}");
}

/// The directory may persist, and keeps what a killed job left there.
#[tokio::test]
async fn sources_replace_the_files_of_earlier_jobs() {
    let repository = Repository::new();
    repository.write(".gitignore", "ignored\n");
    let (root, _store, bench) = bench(&repository);
    let first = ["mkdir -p ignored && touch ignored/x untracked && pwd > $OUT"];
    let out = path_text(&root.path().join("out"));
    let job = |id, script: &[&str]| {
        JobBuilder::new(id)
            .variable(JobVariable::public("OUT", &out))
            .script(script.iter().copied())
    };
    let outcome = bench.run(job(1, &first).build()).await;
    assert_eq!(outcome.state, JobState::Success, "{}", bench.log());
    let project = std::fs::read_to_string(&out).expect("written");
    let project = Path::new(project.trim());
    assert!(!project.exists(), "the job's copy is removed with the job");

    let leave = || {
        std::fs::create_dir_all(project.join("ignored")).expect("made");
        for left in ["ignored/x", "untracked", "src"] {
            std::fs::write(project.join(left), "old").expect("written");
        }
    };
    leave();
    let second = ["test -f src/main.c && test ! -e untracked && test ! -e ignored"];
    let outcome = bench.run(job(2, &second).build()).await;
    assert_eq!(outcome.state, JobState::Success, "{}", bench.log());
    leave();
    let third = ["test \"$(cat src)\" = old && test -e untracked && test -e ignored/x"];
    let third = job(3, &third).variable(JobVariable::public("GIT_STRATEGY", "none"));
    let outcome = bench.run(third.build()).await;
    assert_eq!(outcome.state, JobState::Success, "{}", bench.log());
}

#[tokio::test]
async fn untracked_files_are_fetched() {
    let repository = Repository::new();
    let (_root, store, bench) = bench(&repository);
    let job = JobBuilder::new(1)
        .script(["mkdir -p ignored sub && echo a > ignored/x && echo b > sub/y && rm src/main.c"])
        .with(|job| {
            job.artifacts.push(Artifact {
                untracked: true,
                ..Artifact::default()
            });
        });
    let outcome = bench.run(job.build()).await;
    let log = bench.log();
    assert_eq!(outcome.state, JobState::Success, "{log}");
    assert_eq!(kept(&store, 1, "archive"), ["ignored/x", "sub/y"], "{log}");
}

#[tokio::test]
async fn working_tree_in_place_is_refused() {
    let repository = Repository::new();
    let (_root, _store, mut bench) = bench(&repository);
    let options = BuildRunnerOptions {
        sources: Sources::InPlace(repository.path().to_owned()),
        ..BuildRunnerOptions::default()
    };
    bench.runner = job_runner::BuildRunner::new(options, crate::support::supervisor());
    let outcome = bench.run(JobBuilder::new(1).script(["true"]).build()).await;
    let log = bench.log();
    let reason = FailureReason::RunnerConfigurationError;
    assert_eq!(outcome.failure_reason(), Some(reason), "{log}");
    assert!(log.contains("cannot run in the working tree"), "{log}");
}
