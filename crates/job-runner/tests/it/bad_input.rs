//! Invalid input and failures of the host, with their messages.

use crate::support::{Bench, Repository, files_below, snapshot_of};
use executor_core::job::Job;
use executor_core::{FailureReason, JobOutcome, JobVariable, ShellDialect};
use executor_testkit::JobBuilder;
use job_runner::{BuildRunnerOptions, Sources, Worktree};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

fn plain() -> JobBuilder {
    JobBuilder::new(1).script(["echo it ran"])
}

#[track_caller]
fn expect(bench: &Bench, outcome: &JobOutcome, reason: FailureReason, said: &str) {
    assert_eq!(outcome.failure_reason(), Some(reason), "{}", bench.log());
    let chain = outcome.error.as_ref().expect("an error").chain();
    assert!(chain.contains(said), "{said:?} in {chain:?}");
    assert!(!bench.log().contains("it ran"), "{}", bench.log());
}

#[tokio::test]
async fn variables_that_no_process_can_have() {
    let check = async |variable: JobVariable, said: &str| {
        let root = tempfile::tempdir().expect("a directory");
        let bench = Bench::shell(root.path(), BuildRunnerOptions::default());
        let outcome = bench.run(plain().variable(variable).build()).await;
        expect(
            &bench,
            &outcome,
            FailureReason::RunnerConfigurationError,
            said,
        );
        assert_eq!(files_below(root.path()), Vec::<PathBuf>::new());
        assert!(!root.path().join("builds/0").exists(), "{:?}", root.path());
    };
    check(JobVariable::public("A=B", "x"), "contains an equals sign").await;
    check(JobVariable::public("A\nB", "x"), "contains a newline").await;
    check(JobVariable::public("A\0B", "x"), "contains a NUL").await;
    check(JobVariable::public("", "x"), "is empty").await;
    check(
        JobVariable::file("../../x", "x"),
        "cannot be the name of a file",
    )
    .await;
    check(
        JobVariable::public("BIG", "x".repeat(200_000)),
        "make it a file variable",
    )
    .await;
}

#[tokio::test]
async fn missing_shell() {
    let root = tempfile::tempdir().expect("a directory");
    let mut bench = Bench::shell(root.path(), BuildRunnerOptions::default());
    bench.config.shell = Some(ShellDialect::Pwsh);
    let outcome = bench.run(plain().build()).await;
    expect(
        &bench,
        &outcome,
        FailureReason::RunnerConfigurationError,
        "pwsh",
    );
    assert_eq!(files_below(root.path()), Vec::<PathBuf>::new());
}

#[tokio::test]
async fn unwritable_builds_directory() {
    let root = tempfile::tempdir().expect("a directory");
    // A file in place of the directory blocks all users, root too.
    std::fs::write(root.path().join("builds"), "").expect("written");
    let options = BuildRunnerOptions {
        prepare_pause: Duration::ZERO,
        ..BuildRunnerOptions::default()
    };
    let bench = Bench::shell(root.path(), options);
    let outcome = bench.run(plain().build()).await;
    assert_ne!(outcome.failure_reason(), None);
    assert!(bench.log().contains("builds"), "{}", bench.log());
    assert!(!bench.log().contains("it ran"));
}

#[tokio::test]
async fn unwritable_log() {
    let check = async |arrange: fn(PathBuf)| {
        let root = tempfile::tempdir().expect("a directory");
        arrange(root.path().join("logs"));
        let options = BuildRunnerOptions {
            spool_dir: Some(root.path().join("logs")),
            ..BuildRunnerOptions::default()
        };
        let bench = Bench::shell(root.path(), options);
        let outcome = bench.run(plain().build()).await;
        let file = root.path().join("logs/job-1-1.log");
        expect(
            &bench,
            &outcome,
            FailureReason::RunnerSystemFailure,
            &file.display().to_string(),
        );
        assert!(!root.path().join("builds").exists());
    };
    // Once the directory cannot be created, once the file in it.
    check(|logs| std::fs::write(logs, "").expect("written")).await;
    check(|logs| std::fs::create_dir_all(logs.join("job-1-1.log")).expect("made")).await;
}

#[tokio::test]
async fn invalid_address_does_not_show_its_password() {
    for secret in ["hunter2-of-ftp", "a%2Flone%2Ftoken"] {
        let root = tempfile::tempdir().expect("a directory");
        let bench = Bench::shell(root.path(), BuildRunnerOptions::default());
        let shown = secret.replace("%2F", "/");
        let job = JobBuilder::new(1)
            .script([format!("echo '<{secret}> <{shown}>'")])
            .with(move |job| {
                let user = if secret.contains("hunter") { "me:" } else { "" };
                job.git_info.repo_url = format!("ftp://{user}{secret}@host/p.git").into();
            });
        bench.run(job.build()).await;
        let stdout = bench.stdout();
        assert!(stdout.contains("<[MASKED]> <[MASKED]>"), "{stdout}");
        assert!(!bench.log().contains(secret), "{}", bench.log());
    }
}

#[tokio::test]
async fn vanished_working_tree() {
    let repository = Repository::new();
    let root = tempfile::tempdir().expect("a directory");
    let options = BuildRunnerOptions {
        sources: snapshot_of(repository.path(), root.path()),
        ..BuildRunnerOptions::default()
    };
    let bench = Bench::shell(root.path(), options);
    std::fs::remove_dir_all(repository.path()).expect("removed");
    let outcome = bench.run(plain().build()).await;
    expect(
        &bench,
        &outcome,
        FailureReason::RunnerSystemFailure,
        "is gone",
    );
    assert_eq!(files_below(root.path()), Vec::<PathBuf>::new());
}

#[tokio::test]
async fn working_tree_in_place_is_never_created() {
    let outer = tempfile::tempdir().expect("a directory");
    let tree = outer.path().join("user/tree");
    std::fs::create_dir_all(&tree).expect("made");
    let root = tempfile::tempdir().expect("a directory");
    let options = BuildRunnerOptions {
        sources: Sources::InPlace(tree.clone()),
        ..BuildRunnerOptions::default()
    };
    let bench = Bench::shell(root.path(), options);
    let job = JobBuilder::new(1).script(["rm -r \"$(dirname \"$PWD\")\""]);
    let outcome = bench.run(job.build()).await;
    assert!(outcome.error.is_none(), "{}", bench.log());
    bench.observer.output().clear();
    let outcome = bench.run(plain().build()).await;
    expect(
        &bench,
        &outcome,
        FailureReason::RunnerSystemFailure,
        "is gone",
    );
    assert!(!tree.parent().expect("a parent").exists());
    assert_eq!(files_below(root.path()), Vec::<PathBuf>::new());
}

#[tokio::test]
async fn missing_working_tree() {
    let root = tempfile::tempdir().expect("a directory");
    let options = BuildRunnerOptions {
        sources: snapshot_of(&root.path().join("nowhere"), root.path()),
        ..BuildRunnerOptions::default()
    };
    let bench = Bench::shell(root.path(), options);
    let outcome = bench.run(plain().build()).await;
    expect(
        &bench,
        &outcome,
        FailureReason::RunnerSystemFailure,
        "is gone",
    );
}

#[tokio::test]
async fn unsupported_features() {
    let check = async |change: fn(&mut Job), said: &str| {
        let root = tempfile::tempdir().expect("a directory");
        let bench = Bench::shell(root.path(), BuildRunnerOptions::default());
        let outcome = bench.run(plain().with(change).build()).await;
        expect(
            &bench,
            &outcome,
            FailureReason::RunnerConfigurationError,
            said,
        );
    };
    check(|job| job.run = "[]".to_owned(), "`run`").await;
    check(
        |job| {
            job.secrets
                .insert("TOKEN".to_owned(), executor_core_value());
        },
        "\"TOKEN\" cannot be resolved",
    )
    .await;
}

fn executor_core_value() -> serde_json::Value {
    serde_json::json!({"vault": {}})
}

#[tokio::test]
async fn names_that_lead_out_of_the_builds_directory() {
    let check = async |change: fn(&mut Job)| {
        let root = tempfile::tempdir().expect("a directory");
        let options = BuildRunnerOptions {
            spool_dir: Some(root.path().join("logs")),
            ..BuildRunnerOptions::default()
        };
        let bench = Bench::shell(root.path(), options);
        bench.run(plain().with(change).build()).await;
        let left = files_below(root.path());
        assert_eq!(
            left,
            [root.path().join("logs/job-1-1.log")],
            "{}",
            bench.log()
        );
    };
    check(|job| job.job_info.name = "../../x".to_owned()).await;
    check(|job| job.job_info.name = "line\nbreak".to_owned()).await;
    check(|job| job.job_info.name = "x".repeat(300)).await;
    check(|job| job.job_info.project_full_path = "../../../x".to_owned()).await;
}

/// A file system of 256 KiB, unmounted when this is dropped.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Mounts it; `None` where that is not allowed.
    fn mount(at: PathBuf) -> Option<Self> {
        std::fs::create_dir_all(&at).expect("made");
        let at_text = crate::support::path_text(&at);
        let args = ["-t", "tmpfs", "-o", "size=256k", "tmpfs", &at_text];
        crate::support::succeeds("mount", &args).then_some(Self(at))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let path = crate::support::path_text(&self.0);
        // A program that another test starts may have a file of it open until its `execve`.
        let ends = Instant::now() + Duration::from_secs(30);
        while !crate::support::succeeds("umount", &[&path]) {
            assert!(Instant::now() < ends, "{path} stays mounted");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

#[tokio::test]
async fn full_disk() {
    let repository = Repository::new();
    repository.write("big", &"x".repeat(1 << 20));
    let root = tempfile::tempdir().expect("a directory");
    let Some(_disk) = SmallDisk::mount(root.path().join("builds")) else {
        executor_testkit::not_tested("a full disk", "mounting one needs root");
        return;
    };
    let options = BuildRunnerOptions {
        sources: snapshot_of(repository.path(), root.path()),
        ..BuildRunnerOptions::default()
    };
    let bench = Bench::shell(root.path(), options);
    let outcome = bench.run(plain().build()).await;
    expect(
        &bench,
        &outcome,
        FailureReason::RunnerSystemFailure,
        "No space left on device",
    );
    drop(bench);
    assert_eq!(files_below(root.path()), Vec::<PathBuf>::new());
}

#[tokio::test]
async fn full_disk_for_the_snapshot() {
    let repository = Repository::new();
    repository.write("big", &"x".repeat(1 << 20));
    let root = tempfile::tempdir().expect("a directory");
    let Some(_disk) = SmallDisk::mount(root.path().join("snapshots")) else {
        executor_testkit::not_tested("a full disk for a snapshot", "mounting one needs root");
        return;
    };
    let options = BuildRunnerOptions {
        sources: snapshot_of(repository.path(), root.path()),
        ..BuildRunnerOptions::default()
    };
    let bench = Bench::shell(root.path(), options);
    // A second job tries again, without leftovers of the first attempt.
    for _ in 0..2 {
        let outcome = bench.run(plain().build()).await;
        expect(
            &bench,
            &outcome,
            FailureReason::RunnerSystemFailure,
            "No space left on device",
        );
        assert_eq!(files_below(root.path()), Vec::<PathBuf>::new());
    }
}

#[tokio::test]
async fn full_disk_for_artifacts() {
    let root = tempfile::tempdir().expect("a directory");
    let Some(_disk) = SmallDisk::mount(root.path().join("artifacts")) else {
        executor_testkit::not_tested("a full disk for artifacts", "mounting one needs root");
        return;
    };
    let store = crate::support::artifacts_below(root.path());
    let options = BuildRunnerOptions {
        artifacts: Some(Arc::new(store)),
        ..BuildRunnerOptions::default()
    };
    let bench = Bench::shell(root.path(), options);
    let job = JobBuilder::new(1)
        .script(["head -c 1000000 /dev/urandom > big"])
        .with(|job| {
            job.artifacts.push(executor_core::job::Artifact {
                paths: vec!["big".to_owned()],
                ..executor_core::job::Artifact::default()
            });
        });
    let outcome = bench.run(job.build()).await;
    assert_eq!(
        outcome.failure_reason(),
        Some(FailureReason::RunnerSystemFailure)
    );
    assert!(
        bench.log().contains("No space left on device"),
        "{}",
        bench.log()
    );
    // Neither a list, nor a tree, nor a partial object.
    let lock = root.path().join("artifacts/content/lock");
    assert_eq!(files_below(root.path()), [lock]);
}

#[tokio::test]
async fn worktree_for_a_remote_executor() {
    let provider = executor_testkit::ScriptedProvider::new();
    let root = tempfile::tempdir().expect("a directory");
    let options = BuildRunnerOptions {
        sources: Sources::Worktree(Arc::new(Worktree::new(root.path()))),
        ..BuildRunnerOptions::default()
    };
    let bench = Bench::scripted(&provider, options);
    let outcome = bench.run(plain().build()).await;
    let said = "a worktree needs an environment whose files this host can reach";
    expect(
        &bench,
        &outcome,
        FailureReason::RunnerConfigurationError,
        said,
    );
    provider.assert_obeyed();
}
