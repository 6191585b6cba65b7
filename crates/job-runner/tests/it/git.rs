//! Sources fetched with git on this host.

use crate::support::{Bench, Repository, path_text};
use executor_core::{FailureReason, JobState, JobVariable};
use executor_testkit::JobBuilder;
use job_runner::{BuildRunnerOptions, LocalRepositories, Sources};
use std::path::Path;
use std::sync::Arc;

fn bench(root: &Path) -> Bench {
    let options = BuildRunnerOptions {
        sources: Sources::Git(LocalRepositories::Allowed),
        ..BuildRunnerOptions::default()
    };
    Bench::shell(root, options)
}

fn job(repository: &Repository, sha: &str) -> JobBuilder {
    let url = path_text(repository.path());
    let sha = sha.to_owned();
    JobBuilder::new(1).with(|job| {
        job.git_info.repo_url = url.into();
        job.git_info.sha = sha;
        job.git_info.ref_name = "main".into();
        job.git_info.refspecs = vec!["+refs/heads/*:refs/remotes/origin/*".to_owned()];
        job.allow_git_fetch = true;
    })
}

#[tokio::test]
async fn fetch_reuses_the_tree_and_cleans_it() {
    let repository = Repository::new();
    let first = repository.git(&["rev-parse", "HEAD"]);
    let root = tempfile::tempdir().expect("a directory");
    let bench = bench(root.path());
    let script = [
        "git rev-parse HEAD",
        "cat src/main.c",
        "echo x > left.txt; echo y > main.o",
    ];
    let outcome = bench
        .run(job(&repository, &first).script(script).build())
        .await;
    assert_eq!(outcome.state, JobState::Success, "{}", bench.log());
    assert!(bench.stdout().contains(&first) && bench.stdout().contains("int main;"));

    repository.write("src/main.c", "int changed;\n");
    let second = repository.commit("second");
    bench.observer.output().clear();
    let script = [
        "git rev-parse HEAD",
        "cat src/main.c",
        "test ! -e left.txt -a ! -e main.o",
    ];
    let outcome = bench
        .run(job(&repository, &second).script(script).build())
        .await;
    assert_eq!(outcome.state, JobState::Success, "{}", bench.log());
    assert!(bench.stdout().contains(&second) && bench.stdout().contains("int changed;"));
}

#[tokio::test]
async fn strategies_fill_the_tree() {
    let repository = Repository::new();
    let sha = repository.git(&["rev-parse", "HEAD"]);
    let root = tempfile::tempdir().expect("a directory");
    let bench = bench(root.path());
    let run = async |strategy: &str, script: &str| {
        let variable = JobVariable::public("GIT_STRATEGY", strategy);
        let job = job(&repository, &sha)
            .variable(variable)
            .script([script])
            .build();
        let outcome = bench.run(job).await;
        assert_eq!(
            outcome.state,
            JobState::Success,
            "{strategy}: {}",
            bench.log()
        );
    };
    run("clone", "test -e src/main.c; touch mark").await;
    run("none", "test -e mark").await;
    run("fetch", "test ! -e mark -a -e src/main.c; touch mark").await;
    run("clone", "test ! -e mark -a -e src/main.c").await;
    run("empty", "test -z \"$(ls -A)\"").await;
}

#[tokio::test]
async fn depth_and_submodules_are_respected() {
    let module = Repository::new();
    module.write("inside.txt", "from the module");
    module.commit("module");
    let repository = Repository::new();
    repository.git(&[
        "submodule",
        "--quiet",
        "add",
        &path_text(module.path()),
        "module",
    ]);
    repository.commit("with a module");
    repository.write("more", "x");
    let sha = repository.commit("third");
    let root = tempfile::tempdir().expect("a directory");
    let bench = bench(root.path());
    let job = job(&repository, &sha)
        .variable(JobVariable::public("GIT_SUBMODULE_STRATEGY", "recursive"))
        .variable(JobVariable::public("GIT_DEPTH", "1"))
        .script(["cat module/inside.txt", "test -e .git/shallow || true"])
        .build();
    let outcome = bench.run(job).await;
    assert_eq!(outcome.state, JobState::Success, "{}", bench.log());
    assert!(
        bench.stdout().contains("from the module"),
        "{}",
        bench.log()
    );
}

#[tokio::test]
async fn hooks_of_an_earlier_job_do_not_run() {
    let repository = Repository::new();
    let sha = repository.git(&["rev-parse", "HEAD"]);
    let root = tempfile::tempdir().expect("a directory");
    let bench = bench(root.path());
    let script = [
        "printf '#!/bin/sh\\ntouch hacked\\n' > .git/hooks/post-checkout || mkdir .git/hooks",
        "mkdir -p .git/hooks; printf '#!/bin/sh\\necho hacked\\n' > .git/hooks/post-checkout; chmod +x .git/hooks/post-checkout; touch .git/index.lock",
    ];
    bench
        .run(job(&repository, &sha).script(script).build())
        .await;
    bench.observer.output().clear();
    let outcome = bench
        .run(
            job(&repository, &sha)
                .script(["test ! -e .git/hooks/post-checkout"])
                .build(),
        )
        .await;
    assert_eq!(outcome.state, JobState::Success, "{}", bench.log());
    assert!(!bench.log().contains("hacked"), "{}", bench.log());
}

#[tokio::test]
async fn missing_commit_is_named() {
    let repository = Repository::new();
    let root = tempfile::tempdir().expect("a directory");
    let bench = bench(root.path());
    let job = job(&repository, &"b".repeat(40))
        .script(["echo it ran"])
        .build();
    let outcome = bench.run(job).await;
    assert_eq!(
        outcome.failure_reason(),
        Some(FailureReason::RunnerSystemFailure)
    );
    assert!(!bench.log().contains("it ran"), "{}", bench.log());
}

#[tokio::test]
async fn local_repositories_are_refused_unless_allowed() {
    let repository = Repository::new();
    let sha = repository.git(&["rev-parse", "HEAD"]);
    let root = tempfile::tempdir().expect("a directory");
    let options = BuildRunnerOptions {
        sources: Sources::Git(LocalRepositories::Refused),
        ..BuildRunnerOptions::default()
    };
    let bench = Bench::shell(root.path(), options);
    let outcome = bench
        .run(job(&repository, &sha).script(["true"]).build())
        .await;
    assert_eq!(
        outcome.failure_reason(),
        Some(FailureReason::RunnerConfigurationError)
    );
}

#[tokio::test]
async fn job_hooks_run_before_and_after_the_sources() {
    use executor_core::job::{Hook, HookName};
    let repository = Repository::new();
    let sha = repository.git(&["rev-parse", "HEAD"]);
    let root = tempfile::tempdir().expect("a directory");
    let bench = bench(root.path());
    let hook = |name, line: &str| Hook {
        name,
        script: vec![line.to_owned()],
    };
    let job = job(&repository, &sha).script(["true"]).with(|job| {
        job.hooks = vec![
            hook(
                HookName::PreGetSources,
                "test -e \"$CI_PROJECT_DIR/src\" || echo before",
            ),
            hook(HookName::PostGetSources, "test -e src && echo after"),
        ];
    });
    let outcome = bench.run(job.build()).await;
    assert_eq!(outcome.state, JobState::Success, "{}", bench.log());
    let stdout = bench.stdout();
    assert!(
        stdout.contains("before\n") && stdout.contains("after\n"),
        "{stdout}"
    );
}

#[tokio::test]
async fn on_failure_artifacts_are_saved_without_sources() {
    use executor_core::job::{Artifact, ArtifactWhen, Hook, HookName};
    let repository = Repository::new();
    let root = tempfile::tempdir().expect("a directory");
    let store = crate::support::artifacts_below(root.path());
    let options = BuildRunnerOptions {
        sources: Sources::Git(LocalRepositories::Allowed),
        artifacts: Some(Arc::new(store.clone())),
        ..BuildRunnerOptions::default()
    };
    let bench = Bench::shell(root.path(), options);
    let job = job(&repository, &"f".repeat(40))
        .script(["echo it ran"])
        .after_script(["echo it ran"])
        .with(|job| {
            job.hooks = vec![Hook {
                name: HookName::PreGetSources,
                script: vec!["echo x > \"$CI_PROJECT_DIR/network.log\"".to_owned()],
            }];
            job.artifacts.push(Artifact {
                paths: vec!["network.log".to_owned()],
                when: ArtifactWhen::OnFailure,
                ..Artifact::default()
            });
        });
    let outcome = bench.run(job.build()).await;
    let reason = outcome.failure_reason();
    let log = bench.log();
    assert_eq!(reason, Some(FailureReason::RunnerSystemFailure), "{log}");
    assert!(!log.contains("it ran"), "{log}");
    let kept = crate::support::kept(&store, 1, "archive");
    assert_eq!(kept, ["network.log"], "{log}");
}

#[tokio::test]
async fn lfs_files_are_fetched() {
    let repository = Repository::new();
    if !crate::support::succeeds("git", &["lfs", "version"]) {
        executor_testkit::not_tested("sources with Git LFS", "git-lfs is missing");
        return;
    }
    repository.git(&["lfs", "install", "--local"]);
    repository.git(&["lfs", "track", "*.bin"]);
    repository.write("big.bin", "the content itself");
    let sha = repository.commit("with lfs");
    let pointer = repository.git(&["show", "HEAD:big.bin"]);
    assert!(pointer.contains("git-lfs"), "{pointer}");
    let root = tempfile::tempdir().expect("a directory");
    let bench = bench(root.path());
    // As on a machine without `git lfs install`.
    let job = job(&repository, &sha)
        .variable(JobVariable::public("GIT_CONFIG_GLOBAL", "/dev/null"))
        .variable(JobVariable::public("GIT_CONFIG_NOSYSTEM", "1"))
        .script(["cat big.bin"]);
    let outcome = bench.run(job.build()).await;
    assert_eq!(outcome.state, JobState::Success, "{}", bench.log());
    assert!(
        bench.stdout().contains("the content itself"),
        "{}",
        bench.log()
    );
}
