//! One job, a runner for it, and its result.

use content_store::ContentStore;
use executor_core::JobId;
use executor_core::job::Job;
use executor_core::trace::TraceStream;
use executor_core::{
    ActiveJobs, BuildDirs, Cancellation, ExecutorData, ExecutorProvider, JobAssignment, JobOutcome,
    JobRunner, JobSlot, RunContext, RunnerConfig, Workspace,
};
use executor_shell::{ShellConfig, Supervisor};
use executor_testkit::{JobBuilder, RecordingObserver, ScriptedProvider, runner_config};
use job_runner::{
    BuildRunner, BuildRunnerOptions, JobNote, LocalRepositories, Snapshot, Sources, StoredArtifacts,
};
use process::Settings;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use tempfile::TempDir;

/// A runner, its job, and an observer.
#[derive(Debug)]
pub(crate) struct Bench {
    pub(crate) runner: BuildRunner,
    pub(crate) provider: Arc<dyn ExecutorProvider>,
    pub(crate) config: RunnerConfig,
    pub(crate) slot: JobSlot,
    pub(crate) observer: RecordingObserver,
    pub(crate) cancellation: Cancellation,
    pub(crate) active: ActiveJobs,
}

impl Bench {
    /// Runs jobs on a scripted executor.
    pub(crate) fn scripted(provider: &ScriptedProvider, options: BuildRunnerOptions) -> Self {
        Self::with(provider.shared(), "scripted", options, supervisor())
    }

    /// Runs jobs as processes of this host, with builds below `root`.
    pub(crate) fn shell(root: &Path, options: BuildRunnerOptions) -> Self {
        Self::shell_of(&supervisor(), root, options)
    }

    /// The same, with processes of `supervisor`.
    pub(crate) fn shell_of(
        supervisor: &Supervisor,
        root: &Path,
        options: BuildRunnerOptions,
    ) -> Self {
        let config = ShellConfig {
            login: false,
            builds_dir: path_text(&root.join("builds")),
            cache_dir: path_text(&root.join("cache")),
            supervisor: Some(supervisor.clone()),
            ..ShellConfig::default()
        };
        Self::with(
            Arc::new(executor_shell::provider(config)),
            "shell",
            options,
            supervisor.clone(),
        )
    }

    fn with(
        provider: Arc<dyn ExecutorProvider>,
        executor: &str,
        options: BuildRunnerOptions,
        supervisor: Supervisor,
    ) -> Self {
        Self {
            runner: BuildRunner::new(options, supervisor),
            provider,
            config: runner_config(executor),
            slot: JobSlot::default(),
            observer: RecordingObserver::new(),
            cancellation: Cancellation::new(),
            active: ActiveJobs::new(),
        }
    }

    pub(crate) async fn run(&self, job: Job) -> JobOutcome {
        let assignment = JobAssignment {
            job: Arc::new(job),
            attempt: 1,
            observer: Arc::new(self.observer.clone()),
            cancellation: self.cancellation.clone(),
        };
        let context = RunContext {
            provider: Arc::clone(&self.provider),
            config: Arc::new(self.config.clone()),
            data: ExecutorData::new(),
            slot: self.slot,
            active: self.active.clone(),
        };
        self.runner.run(assignment, context).await
    }

    /// Returns the output of the job's processes.
    pub(crate) fn stdout(&self) -> String {
        self.observer.output().text(TraceStream::STDOUT)
    }

    /// Returns the complete log.
    pub(crate) fn log(&self) -> String {
        String::from_utf8_lossy(&self.observer.output().all()).into_owned()
    }
}

/// Returns options of a runner whose jobs have sources in a repository.
pub(crate) fn with_git() -> BuildRunnerOptions {
    BuildRunnerOptions {
        sources: Sources::Git(LocalRepositories::Refused),
        ..BuildRunnerOptions::default()
    }
}

/// Returns a job with a repository, a script and an `after_script`.
pub(crate) fn job() -> JobBuilder {
    JobBuilder::new(7)
        .script(["make"])
        .after_script(["make report"])
        .with(|job| {
            job.git_info.repo_url = "https://host.example/group/project.git".into();
            job.git_info.sha = "a".repeat(40);
            job.git_info.ref_name = "main".into();
        })
}

/// Returns the note of the [job], with further fields.
pub(crate) fn note(further: Value) -> JobNote {
    let mut note = json!({
        "job": 7, "attempt": 1, "handle": {"executor": "scripted", "fields": {"id": "1"}}, "log": "", "log_bytes": 0,
        "open": [], "headed": [], "slot": {"concurrent": 0, "in_project": 0}, "builds": null,
    });
    let Value::Object(further) = further else {
        panic!("not an object");
    };
    note.as_object_mut().expect("an object").extend(further);
    serde_json::from_value(note).expect("a note")
}

/// Returns a workspace on this host below `root`, for an executor that creates none.
pub(crate) fn local_workspace(root: &Path) -> Workspace {
    let path = |name: &str| path_text(&root.join(name));
    Workspace::Local(BuildDirs {
        builds_dir: path("builds"),
        cache_dir: path("cache"),
        project_dir: path("builds/project"),
        temp_dir: path("builds/project.tmp"),
        shared: true,
    })
}

/// Returns an artifact store below `root`.
pub(crate) fn artifacts_below(root: &Path) -> StoredArtifacts {
    let store = ContentStore::at(root.join("artifacts/content"));
    StoredArtifacts::new(store, root.join("artifacts/lists"))
}

/// Returns the paths of an artifact, without non-empty directories.
pub(crate) fn kept(artifacts: &StoredArtifacts, job: u64, artifact_type: &str) -> Vec<String> {
    let found = artifacts.of_type(JobId(job), artifact_type);
    let Some(artifact) = found.expect("a list that can be read") else {
        return Vec::new();
    };
    let tree = artifacts
        .tree_of(&artifact)
        .expect("a tree that can be read");
    let entries = tree.entries();
    let is_full = |path: &Path| entries.iter().any(|it| it.path.parent() == Some(path));
    let entries = entries.iter().filter(|it| !is_full(&it.path));
    entries.map(|it| path_text(&it.path)).collect()
}

pub(crate) fn supervisor() -> Supervisor {
    Supervisor::start(Settings::default()).expect("processes can be started")
}

pub(crate) fn path_text(path: &Path) -> String {
    path.to_str().expect("the path is text").to_owned()
}

/// A small repository with one commit on `main`.
#[derive(Debug)]
pub(crate) struct Repository {
    directory: TempDir,
}

impl Repository {
    pub(crate) fn new() -> Self {
        let repository = Self {
            directory: tempfile::tempdir().expect("a directory"),
        };
        repository.git(&["init", "--quiet", "--initial-branch=main"]);
        repository.write("src/main.c", "int main;\n");
        repository.write(".gitignore", "ignored/\n*.o\n");
        repository.commit("first\n\nThe body.\n");
        repository
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        std::fs::write(&path, text).expect("written");
        path
    }

    pub(crate) fn commit(&self, message: &str) -> String {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "-m", message]);
        self.git(&["rev-parse", "HEAD"])
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        git(self.path(), args)
    }
}

/// Returns a snapshot of the tree at `source`, kept below `root`.
pub(crate) fn snapshot_of(source: &Path, root: &Path) -> Sources {
    Sources::Snapshot(Arc::new(Snapshot::new(source, root.join("snapshots"))))
}

#[expect(
    clippy::disallowed_methods,
    reason = "a test asks git about what the runner did"
)]
pub(crate) fn git(directory: &Path, args: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=Ada", "-c", "user.email=ada@example.com"])
        .args(["-c", "protocol.file.allow=always"])
        .args(args)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .current_dir(directory)
        .output()
        .expect("git runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "git {args:?} in {}: {stderr}",
        directory.display()
    );
    String::from_utf8_lossy(&output.stdout)
        .trim_end()
        .to_owned()
}

#[expect(
    clippy::disallowed_methods,
    reason = "a test arranges what the runner meets"
)]
pub(crate) fn succeeds(program: &str, args: &[&str]) -> bool {
    let output = Command::new(program).args(args).output();
    output.is_ok_and(|output| output.status.success())
}

/// Returns the paths of all files below a directory that should be empty.
pub(crate) fn files_below(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return Vec::new();
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.expect("an entry").path();
        if path.is_dir() && !path.is_symlink() {
            files.extend(files_below(&path));
        } else {
            files.push(path);
        }
    }
    files
}

/// Returns a workspace whose directories below `host` have paths below `/builds` in scripts.
pub(crate) fn mounted(host: &Path) -> Workspace {
    let dirs = |root: String| BuildDirs {
        builds_dir: root.clone(),
        cache_dir: format!("{root}/cache"),
        project_dir: format!("{root}/group/project"),
        temp_dir: format!("{root}/group/project.tmp"),
        shared: false,
    };
    Workspace::Mounted {
        inside: dirs("/builds".to_owned()),
        host: dirs(path_text(host)),
    }
}
