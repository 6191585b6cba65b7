//! Sources that are fetched while the environment is being prepared.

use crate::support::{Bench, Repository, mounted, path_text, snapshot_of};
use executor_core::job::Job;
use executor_core::variable::JobVariable;
use executor_core::{BuildStage, CancelCause, FailureReason, JobOutcome, JobState, ShellDialect};
use executor_testkit::{Directive, Failure, Gate, JobBuilder, Moment, ScriptedProvider};
use job_runner::{BuildRunnerOptions, LocalRepositories, Sources, Worktree};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

/// An environment that sees directories of this host, and announces them during `prepare`.
struct Scene {
    repository: Repository,
    root: TempDir,
    provider: ScriptedProvider,
    /// Until it is open, `prepare` does not return.
    gate: Gate,
}

impl Scene {
    fn new() -> Self {
        let root = tempfile::tempdir().expect("a directory");
        let provider = ScriptedProvider::new();
        provider.set_default_shell(Some(ShellDialect::Sh));
        provider.set_workspace(mounted(&root.path().join("builds")));
        provider.announce(mounted(&root.path().join("builds")));
        let gate = Gate::new();
        Self {
            repository: Repository::new(),
            root,
            provider,
            gate,
        }
    }

    /// Prepares an environment as `directive` says, once the gate is open.
    fn prepares(&self, directive: Directive) {
        let directive = directive.stdout("pulling\n").until(self.gate.clone());
        self.provider.on(Moment::Prepare, directive);
    }

    fn bench(&self, sources: Sources) -> Bench {
        let options = BuildRunnerOptions {
            sources,
            prepare_attempts: 1,
            ..BuildRunnerOptions::default()
        };
        Bench::scripted(&self.provider, options)
    }

    fn snapshot(&self) -> Sources {
        snapshot_of(self.repository.path(), self.root.path())
    }

    fn git(&self, job: JobBuilder) -> Job {
        let url = path_text(self.repository.path());
        let sha = self.repository.git(&["rev-parse", "HEAD"]);
        let job = job.with(|job| {
            job.git_info.repo_url = url.as_str().into();
            job.git_info.sha = sha;
            job.git_info.ref_name = "main".into();
        });
        job.build()
    }

    fn project(&self) -> PathBuf {
        self.root.path().join("builds/group/project")
    }

    /// Runs a job; `prepare` returns when `file` exists.
    async fn run(&self, bench: &Bench, job: Job, file: &Path) -> JobOutcome {
        let opens = async {
            there(file).await;
            self.gate.open();
        };
        tokio::join!(bench.run(job), opens).0
    }
}

/// Waits for a file.
async fn there(file: &Path) {
    let looks = async {
        while !file.exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let seen = tokio::time::timeout(Duration::from_secs(30), looks).await;
    assert!(seen.is_ok(), "{} does not come", file.display());
}

fn job() -> JobBuilder {
    JobBuilder::new(1).script(["make"])
}

fn stages(bench: &Bench) -> Vec<String> {
    let reports = bench.observer.reports();
    reports.iter().map(|it| it.stage.to_string()).collect()
}

/// Asserts that the log has the texts in this order.
fn in_order(log: &str, texts: &[&str]) {
    let mut rest = log;
    for text in texts {
        let Some((_, after)) = rest.split_once(text) else {
            panic!("{text:?} is not there, or not in order:\n{log}");
        };
        rest = after;
    }
}

#[tokio::test]
async fn copy_during_prepare_is_logged_in_its_stage() {
    let scene = Scene::new();
    scene.prepares(Directive::succeed());
    let project = scene.project();
    let script = {
        let project = project.clone();
        move || assert!(project.join("src/main.c").is_file())
    };
    let step = Directive::succeed().doing(script);
    scene.provider.on(BuildStage::script(), step);
    let bench = scene.bench(scene.snapshot());
    let outcome = scene
        .run(&bench, job().build(), &project.join("src/main.c"))
        .await;
    let log = bench.log();
    assert_eq!(outcome.state, JobState::Success, "{log}");
    in_order(
        &log,
        &["pulling", "Copying the working tree", "Copied 2 files"],
    );
    assert_eq!(log.matches("Copied").count(), 1, "{log}");
    assert_eq!(
        stages(&bench),
        [
            "prepare_script",
            "get_sources",
            "step_script",
            "cleanup_file_variables"
        ]
    );
    assert!(!project.exists());
    scene.provider.assert_obeyed();
}

#[tokio::test]
async fn output_of_git_during_prepare_is_held() {
    let scene = Scene::new();
    scene.prepares(Directive::succeed());
    let bench = scene.bench(Sources::Git(LocalRepositories::Allowed));
    let file = scene.project().join("src/main.c");
    let outcome = scene.run(&bench, scene.git(job()), &file).await;
    let log = bench.log();
    assert_eq!(outcome.state, JobState::Success, "{log}");
    in_order(
        &log,
        &[
            "pulling",
            "Getting source from Git repository",
            "Checking out",
            "step_script",
        ],
    );
    assert!(file.exists(), "a clone is kept");
}

#[tokio::test]
async fn failed_prepare_leaves_no_sources() {
    let check = async |scene: &Scene, sources: Sources, job: Job, file: &str| {
        scene.prepares(Directive::fail(Failure::permanent("no such image")));
        let bench = scene.bench(sources);
        let file = scene.project().join(file);
        let outcome = scene.run(&bench, job, &file).await;
        let log = bench.log();
        let reason = FailureReason::RunnerSystemFailure;
        assert_eq!(outcome.failure_reason(), Some(reason), "{log}");
        assert!(log.contains("no such image"), "{log}");
        assert_eq!(stages(&bench), Vec::<String>::new());
        let builds = fs::read_dir(scene.root.path().join("builds")).expect("a directory");
        assert_eq!(builds.count(), 0, "{log}");
        let worktrees = scene.repository.git(&["worktree", "list"]);
        assert_eq!(worktrees.lines().count(), 1, "{worktrees}");
        scene.provider.assert_obeyed();
    };
    let scene = Scene::new();
    let file = "src/main.c";
    check(&scene, scene.snapshot(), job().build(), file).await;
    let scene = Scene::new();
    let worktree = Sources::Worktree(Arc::new(Worktree::new(scene.repository.path())));
    check(&scene, worktree, job().build(), file).await;
    let scene = Scene::new();
    let git = Sources::Git(LocalRepositories::Allowed);
    let of_git = scene.git(job());
    check(&scene, git, of_git, file).await;
}

#[tokio::test]
async fn cancel_during_prepare_leaves_no_sources() {
    let scene = Scene::new();
    scene.prepares(Directive::succeed());
    let bench = scene.bench(scene.snapshot());
    let file = scene.project().join("src/main.c");
    let stops = async {
        there(&file).await;
        bench.cancellation.cancel(CancelCause::User);
    };
    let (outcome, ()) = tokio::join!(bench.run(job().build()), stops);
    let log = bench.log();
    assert_eq!(outcome.state, JobState::Canceled, "{log}");
    let builds = fs::read_dir(scene.root.path().join("builds")).expect("a directory");
    assert_eq!(builds.count(), 0, "{log}");
    scene.provider.assert_obeyed();
}

#[tokio::test]
async fn sources_in_another_directory_are_fetched_again() {
    let scene = Scene::new();
    scene.prepares(Directive::succeed());
    let elsewhere = scene.root.path().join("elsewhere");
    scene.provider.set_workspace(mounted(&elsewhere));
    let found = elsewhere.join("group/project/src/main.c");
    let script = move || assert!(found.is_file());
    let step = Directive::succeed().doing(script);
    scene.provider.on(BuildStage::script(), step);
    let bench = scene.bench(scene.snapshot());
    let file = scene.project().join("src/main.c");
    let outcome = scene.run(&bench, job().build(), &file).await;
    let log = bench.log();
    assert_eq!(outcome.state, JobState::Success, "{log}");
    assert_eq!(log.matches("Copied 2 files").count(), 1, "{log}");
    assert!(!scene.project().exists());
    scene.provider.assert_obeyed();
}

#[tokio::test]
async fn variables_of_the_environment_may_change_the_sources() {
    let scene = Scene::new();
    scene.prepares(Directive::succeed());
    let strategy = JobVariable::public("GIT_STRATEGY", "none");
    scene.provider.set_variables(vec![strategy]);
    let bench = scene.bench(scene.snapshot());
    let file = scene.project().join("src/main.c");
    let script = {
        let file = file.clone();
        move || assert!(!file.exists())
    };
    let step = Directive::succeed().doing(script);
    scene.provider.on(BuildStage::script(), step);
    let outcome = scene.run(&bench, job().build(), &file).await;
    let log = bench.log();
    assert_eq!(outcome.state, JobState::Success, "{log}");
    assert!(!log.contains("Copied"), "{log}");
}

#[tokio::test]
async fn no_early_sources_before_a_script_or_without_sources() {
    let check = async |sources: &dyn Fn(&Scene) -> Sources, before: &str, expect: bool| {
        let scene = Scene::new();
        let mut bench = scene.bench(sources(&scene));
        before.clone_into(&mut bench.config.pre_get_sources_script);
        let outcome = bench.run(job().build()).await;
        assert_eq!(outcome.state, JobState::Success, "{}", bench.log());
        let asked = scene.provider.prepared()[0].planned.is_some();
        assert_eq!(asked, expect, "{before:?}");
    };
    check(&|scene| scene.snapshot(), "", true).await;
    check(&|scene| scene.snapshot(), "unlock", false).await;
    check(&|_| Sources::None, "", false).await;
}

#[tokio::test(start_paused = true)]
async fn early_failure_is_the_first_attempt_of_the_stage() {
    let scene = Scene::new();
    let nowhere = scene.root.path().join("nowhere");
    let bench = scene.bench(Sources::Worktree(Arc::new(Worktree::new(nowhere))));
    let tries = JobVariable::public("GET_SOURCES_ATTEMPTS", "2");
    // Long enough for the failure to come before the end of `prepare`.
    let slow = Directive::succeed().delay(Duration::from_mins(1));
    scene.provider.on(Moment::Prepare, slow.stdout("pulling\n"));
    let outcome = bench.run(job().variable(tries).build()).await;
    let log = bench.log();
    assert_eq!(outcome.state, JobState::Failed, "{log}");
    in_order(
        &log,
        &["pulling", "failed to get sources", "Trying again in 5s"],
    );
    assert_eq!(log.matches("Trying again").count(), 1, "{log}");
    assert_eq!(
        stages(&bench),
        [
            "prepare_script",
            "get_sources",
            "get_sources",
            "cleanup_file_variables"
        ]
    );
}
