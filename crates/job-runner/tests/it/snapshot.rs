//! Jobs in copies of a working tree.

use crate::support::{Bench, Repository, files_below, git, snapshot_of, succeeds};
use executor_core::{JobState, JobVariable};
use executor_testkit::JobBuilder;
use job_runner::{BuildRunnerOptions, Sources};
use std::path::Path;

fn options(repository: &Repository, root: &Path) -> BuildRunnerOptions {
    BuildRunnerOptions {
        sources: snapshot_of(repository.path(), root),
        ..BuildRunnerOptions::default()
    }
}

#[tokio::test]
async fn job_gets_the_tree_and_cannot_change_it() {
    let repository = Repository::new();
    repository.write("tracked.txt", "old");
    repository.write("gone.txt", "x");
    repository.write("moved/main.c", "not the one in src");
    repository.commit("second");
    repository.write("tracked.txt", "changed");
    repository.write("new.txt", "new");
    repository.write("ignored/big", "x");
    std::fs::remove_dir_all(repository.path().join("moved")).expect("removed");
    std::os::unix::fs::symlink("src", repository.path().join("moved")).expect("linked");
    std::fs::remove_file(repository.path().join("gone.txt")).expect("removed");
    let head = repository.git(&["rev-parse", "HEAD"]);
    let before = repository.git(&["status", "--porcelain"]);

    let root = tempfile::tempdir().expect("a directory");
    let bench = Bench::shell(root.path(), options(&repository, root.path()));
    let job = JobBuilder::new(1)
        .script([
            "cat tracked.txt new.txt; echo",
            "test ! -e gone.txt && test ! -e ignored && test -L moved",
            "echo head=$(git rev-parse HEAD)",
            "git status --porcelain",
            "git -c user.name=x -c user.email=x@y commit -qam work",
            "git branch -D main; git gc --quiet; echo z > tracked.txt",
        ])
        .build();
    let outcome = bench.run(job).await;
    assert_eq!(outcome.state, JobState::Success, "{}", bench.log());
    let stdout = bench.stdout();
    assert!(stdout.contains("changednew"), "{stdout}");
    assert!(stdout.contains(&format!("head={head}")), "{stdout}");
    assert!(
        stdout.contains("?? new.txt") && stdout.contains(" D gone.txt"),
        "{stdout}"
    );

    assert_eq!(repository.git(&["rev-parse", "HEAD"]), head);
    assert_eq!(repository.git(&["status", "--porcelain"]), before);
    repository.git(&["fsck", "--strict"]);
    assert_eq!(
        files_below(&root.path().join("builds")),
        Vec::<std::path::PathBuf>::new()
    );
}

#[tokio::test]
async fn git_depth_cuts_the_history_of_the_copy() {
    let repository = Repository::new();
    repository.git(&["checkout", "--quiet", "-b", "side"]);
    for name in ["side-1", "side-2"] {
        repository.write(name, "x");
        repository.commit(name);
    }
    repository.git(&["checkout", "--quiet", "main"]);
    repository.write("main-1", "x");
    repository.commit("main-1");
    repository.git(&["merge", "--quiet", "--no-edit", "side"]);
    let root = tempfile::tempdir().expect("a directory");
    let bench = Bench::shell(root.path(), options(&repository, root.path()));
    // The merge; then the ends of both lines; then what precedes them.
    for (depth, commits) in [("1", "1"), ("2", "3"), ("3", "5"), ("50", "5"), ("0", "5")] {
        let job = JobBuilder::new(1)
            .variable(JobVariable::public("GIT_DEPTH", depth))
            .script([
                "echo \"depth $GIT_DEPTH: $(git rev-list --count HEAD)\"",
                "git fsck --strict && git status --porcelain",
                "git -c user.name=x -c user.email=x@y commit --allow-empty -qm work",
            ])
            .build();
        let outcome = bench.run(job).await;
        assert_eq!(outcome.state, JobState::Success, "{}", bench.log());
        let expect = format!("depth {depth}: {commits}\n");
        assert!(bench.stdout().contains(&expect), "{}", bench.log());
    }
    assert_eq!(repository.git(&["rev-list", "--count", "HEAD"]), "5");
}

#[tokio::test]
async fn links_modes_submodules_and_worktrees_are_copied() {
    let module = Repository::new();
    let repository = Repository::new();
    repository.git(&[
        "submodule",
        "--quiet",
        "add",
        module.path().to_str().expect("text"),
        "module",
    ]);
    let script = repository.write("run.sh", "#!/bin/sh\necho ran\n");
    std::os::unix::fs::symlink("run.sh", repository.path().join("link")).expect("linked");
    std::os::unix::fs::symlink("/nowhere", repository.path().join("dangling")).expect("linked");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&script, mode).expect("changed");
    repository.commit("more");
    let elsewhere = tempfile::tempdir().expect("a directory");
    let tree = elsewhere.path().join("tree");
    repository.git(&[
        "worktree",
        "add",
        "--quiet",
        "-b",
        "topic",
        tree.to_str().expect("text"),
    ]);
    let root = tempfile::tempdir().expect("a directory");
    for (source, script) in [
        (
            repository.path(),
            "test -e module/src/main.c && git submodule status | grep ' *[0-9a-f]* module'",
        ),
        (tree.as_path(), "git log -1 --format=%s | grep more"),
    ] {
        let options = BuildRunnerOptions {
            sources: snapshot_of(source, root.path()),
            ..BuildRunnerOptions::default()
        };
        let bench = Bench::shell(root.path(), options);
        let common = "test -x run.sh && sh run.sh && test -L link -a -L dangling";
        let outcome = bench
            .run(JobBuilder::new(1).script([common, script]).build())
            .await;
        assert_eq!(
            outcome.state,
            JobState::Success,
            "{}: {}",
            source.display(),
            bench.log()
        );
    }
}

#[tokio::test]
async fn submodule_is_a_repository_in_the_copy() {
    let module = Repository::new();
    let repository = Repository::new();
    let address = module.path().to_str().expect("text");
    repository.git(&["submodule", "--quiet", "add", address, "deep/module"]);
    repository.commit("with a module");
    let recorded = git(
        &repository.path().join("deep/module"),
        &["rev-parse", "HEAD"],
    );
    // A submodule that is not checked out stays empty.
    repository.git(&["submodule", "--quiet", "add", address, "absent"]);
    repository.commit("with two");
    repository.git(&["submodule", "--quiet", "deinit", "-f", "absent"]);
    let root = tempfile::tempdir().expect("a directory");
    let bench = Bench::shell(root.path(), options(&repository, root.path()));
    let job = JobBuilder::new(1).script([
        "echo head=$(git -C deep/module rev-parse HEAD)",
        "test -z \"$(git status --porcelain)\" && test ! -e absent/src",
        "git -c protocol.file.allow=always submodule --quiet update --init",
        "test -e deep/module/src/main.c && test -e absent/src/main.c",
        "cd deep/module && git -c user.name=x -c user.email=x@y commit -q --allow-empty -m work",
    ]);
    let outcome = bench.run(job.build()).await;
    assert_eq!(outcome.state, JobState::Success, "{}", bench.log());
    let stdout = bench.stdout();
    assert!(stdout.contains(&format!("head={recorded}\n")), "{stdout}");
    let after = git(
        &repository.path().join("deep/module"),
        &["rev-parse", "HEAD"],
    );
    assert_eq!(after, recorded);
}

#[tokio::test]
async fn unknown_ref_format_is_a_warning() {
    let repository = Repository::new();
    if !succeeds(
        "git",
        &[
            "-C",
            repository.path().to_str().expect("text"),
            "refs",
            "migrate",
            "--ref-format=reftable",
        ],
    ) {
        executor_testkit::not_tested("refs kept as a reftable", "this git cannot write one");
        return;
    }
    let root = tempfile::tempdir().expect("a directory");
    let bench = Bench::shell(root.path(), options(&repository, root.path()));
    let job = JobBuilder::new(1).script(["test -e src/main.c && test ! -e .git"]);
    let outcome = bench.run(job.build()).await;
    assert_eq!(outcome.state, JobState::Success, "{}", bench.log());
    assert!(
        bench.log().contains("is not a git repository"),
        "{}",
        bench.log()
    );
}

#[tokio::test]
async fn concurrent_jobs_share_one_listing() {
    let repository = Repository::new();
    for number in 0..300 {
        repository.write(&format!("many/{}/{number}", number % 7), "x");
    }
    let root = tempfile::tempdir().expect("a directory");
    let mut first = Bench::shell(root.path(), options(&repository, root.path()));
    first.slot.concurrent_project_id = 1;
    let second = Bench::shell(root.path(), options(&repository, root.path()));
    let script = [
        "test $(find many -type f | wc -l) = 300",
        "echo $CI_PROJECT_DIR",
    ];
    let job = |id| JobBuilder::new(id).script(script).build();
    let (one, two) = tokio::join!(first.run(job(1)), second.run(job(2)));
    assert_eq!(
        (one.state, two.state),
        (JobState::Success, JobState::Success),
        "{}",
        first.log()
    );
    assert_ne!(first.stdout(), second.stdout());
}

#[tokio::test]
async fn directory_without_git_is_copied_completely() {
    let tree = tempfile::tempdir().expect("a directory");
    std::fs::create_dir_all(tree.path().join("a/.hg")).expect("made");
    std::fs::write(tree.path().join("a/file"), "x").expect("written");
    std::fs::write(tree.path().join("a/.hg/state"), "x").expect("written");
    let root = tempfile::tempdir().expect("a directory");
    let options = BuildRunnerOptions {
        sources: snapshot_of(tree.path(), root.path()),
        ..BuildRunnerOptions::default()
    };
    let bench = Bench::shell(root.path(), options);
    let script = ["test -e a/file -a ! -e a/.hg -a ! -e .git"];
    let outcome = bench.run(JobBuilder::new(1).script(script).build()).await;
    assert_eq!(outcome.state, JobState::Success, "{}", bench.log());
}

#[tokio::test]
async fn builds_inside_the_tree_are_not_copied() {
    let repository = Repository::new();
    let bench = Bench::shell(repository.path(), options(&repository, repository.path()));
    std::fs::create_dir_all(repository.path().join("builds/old")).expect("made");
    repository.write("builds/old/file", "x");
    let outcome = bench
        .run(JobBuilder::new(1).script(["test ! -e builds"]).build())
        .await;
    assert_eq!(outcome.state, JobState::Success, "{}", bench.log());
    assert!(repository.path().join("src/main.c").exists());
}

#[tokio::test]
async fn job_in_place_changes_the_tree_and_leaves_no_other_files() {
    let repository = Repository::new();
    let root = tempfile::tempdir().expect("a directory");
    let in_place = BuildRunnerOptions {
        sources: Sources::InPlace(repository.path().to_owned()),
        ..BuildRunnerOptions::default()
    };
    let bench = Bench::shell(root.path(), in_place);
    let script = [
        "echo changed > made.txt",
        "test \"$PWD\" = \"$CI_PROJECT_DIR\"",
        "case $RUNNER_TEMP_PROJECT_DIR in \"$CI_BUILDS_DIR\"/*) echo beside ;; esac",
    ];
    let outcome = bench.run(JobBuilder::new(1).script(script).build()).await;
    assert_eq!(outcome.state, JobState::Success, "{}", bench.log());
    assert_eq!(repository.git(&["status", "--porcelain"]), "?? made.txt");
    // The runner must not remove the parent of the user's tree.
    assert!(bench.stdout().contains("beside"), "{}", bench.log());
    let builds = std::fs::read_dir(root.path().join("builds")).expect("the builds directory");
    assert_eq!(builds.count(), 0);
}

#[tokio::test]
async fn builds_are_kept_on_request() {
    let repository = Repository::new();
    let root = tempfile::tempdir().expect("a directory");
    let keep = BuildRunnerOptions {
        keep_builds: true,
        ..options(&repository, root.path())
    };
    let bench = Bench::shell(root.path(), keep);
    bench
        .run(JobBuilder::new(1).script(["touch made"]).build())
        .await;
    let left = files_below(&root.path().join("builds"));
    assert!(left.iter().any(|path| path.ends_with("made")), "{left:?}");
}

#[tokio::test]
async fn journal_has_a_build_as_long_as_it_exists() {
    let repository = Repository::new();
    let root = tempfile::tempdir().expect("a directory");
    let state = root.path().join("state");
    let settings = process::Settings {
        state_dir: Some(state.clone()),
        ..process::Settings::default()
    };
    let supervisor = process::Supervisor::start(settings).expect("started");
    let bench = Bench::shell_of(&supervisor, root.path(), options(&repository, root.path()));
    let job = JobBuilder::new(1)
        .variable(JobVariable::public("STATE", state.to_str().expect("text")))
        .script(["grep -r \"dir.$CI_PROJECT_DIR\\$\" $STATE"]);
    let outcome = bench.run(job.build()).await;
    assert_eq!(outcome.state, JobState::Success, "{}", bench.log());
    drop(bench);
    supervisor.shutdown().await.expect("an orderly end");
    assert_eq!(files_below(&state), Vec::<std::path::PathBuf>::new());
}
