//! Caches across runs.

use crate::project::{Project, files_below};
use std::fs;
use std::path::PathBuf;

/// A job that counts its runs in a cache and prints the count it found.
const COUNTER: &str = "
count:
  cache: {key: {files: [lock]}, paths: [dep/]}
  script:
    - mkdir -p dep && echo \"found $(cat dep/n 2>/dev/null || echo nothing)\"
    - echo $(($(cat dep/n 2>/dev/null || echo 0) + 1)) >dep/n
";

fn archives(project: &Project) -> Vec<PathBuf> {
    let mut files = files_below(&project.home().join("caches"));
    files.retain(|path| path.ends_with("archive"));
    files
}

#[test]
fn cache_is_reused_while_its_key_stays_the_same() {
    let project = Project::with_pipeline(COUNTER);
    let run = || project.runwright(&["run"]).expect_code(0);
    run().expect_text("count | found nothing");
    run().expect_text("count | found 1");
    let done = project.runwright(&["run", "-v"]).expect_code(0);
    done.expect_text("Successfully extracted cache")
        .expect_text("count | found 2");
    // The file is not committed, but the jobs see it.
    project.write("lock", "one");
    run().expect_text("count | found nothing");
    run().expect_text("count | found 1");
    project.write("lock", "two");
    run().expect_text("count | found nothing");
    assert_eq!(archives(&project).len(), 3);
    let tree = fs::read_dir(project.dir()).unwrap().count();
    assert_eq!(tree, 3, "nothing of it is in the working tree");
}

#[test]
fn concurrent_runs_share_a_cache() {
    let project = Project::with_pipeline(COUNTER);
    let spawn = || {
        let mut command = project.command(&["run"]);
        let pipe = std::process::Stdio::piped;
        command.stdout(pipe()).stderr(pipe()).spawn().unwrap()
    };
    let runs: Vec<_> = (0..3).map(|_| spawn()).collect();
    for run in runs {
        let output = run.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && !text.contains("WARNING"),
            "{text}"
        );
    }
    assert_eq!(archives(&project).len(), 1);
    let found = project.runwright(&["run"]).expect_code(0).all();
    assert!(!found.contains("found nothing"), "{found}");
}

#[test]
fn artifacts_take_precedence_over_caches() {
    let project = Project::with_pipeline(
        "
stages: [one, two]
make: {stage: one, script: mkdir out && echo made >out/a, artifacts: {paths: [out]}}
use:
  stage: two
  cache: {key: k, paths: [out]}
  script: cat out/a && echo cached >out/a
",
    );
    for _ in 0..2 {
        project
            .runwright(&["run"])
            .expect_code(0)
            .expect_text("use  | made");
    }
}

#[test]
fn settings_limit_the_stored_caches() {
    let project = Project::with_pipeline(COUNTER);
    fs::create_dir(project.home()).unwrap();
    fs::write(project.home().join("config.toml"), "[cache]\nsize = '0'\n").unwrap();
    let done = project.runwright(&["run"]).expect_code(0);
    done.expect_text("this runner keeps no caches");
    assert_eq!(archives(&project), Vec::<PathBuf>::new());
    fs::write(
        project.home().join("config.toml"),
        "[cache]\nsize = 'all'\n",
    )
    .unwrap();
    let done = project.runwright(&["run"]).expect_code(2);
    done.expect_text("config.toml:2:8: `size` says how many bytes all caches may have");
}

#[test]
fn worktrees_of_a_repository_share_caches_and_other_repositories_do_not() {
    let project = Project::with_pipeline(COUNTER);
    project.runwright(&["run"]).expect_code(0);
    let tree = project.scratch().join("tree");
    project.git(&["worktree", "add", "-q", tree.to_str().unwrap()]);
    let output = project
        .command(&["run"])
        .current_dir(&tree)
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("found 1"));
    let clone = project.scratch().join("clone");
    let from = project.dir();
    project.git(&[
        "clone",
        "-q",
        from.to_str().unwrap(),
        clone.to_str().unwrap(),
    ]);
    let output = project
        .command(&["run"])
        .current_dir(&clone)
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("found nothing"));
}
