//! Jobs in copies of a working tree.

use crate::support::{Bench, Repository, files_below};
use executor_core::JobState;
use executor_testkit::JobBuilder;
use job_runner::{BuildRunnerOptions, LocalCopy, Sources};
use std::sync::Arc;

fn options(repository: &Repository) -> BuildRunnerOptions {
    BuildRunnerOptions {
        sources: Sources::LocalCopy(Arc::new(LocalCopy::new(repository.path()))),
        ..BuildRunnerOptions::default()
    }
}

#[tokio::test]
async fn a_job_sees_the_tree_as_it_is_and_cannot_change_it() {
    let repository = Repository::new();
    repository.write("tracked.txt", "old");
    repository.write("gone.txt", "x");
    repository.commit("second");
    repository.write("tracked.txt", "changed");
    repository.write("new.txt", "new");
    repository.write("ignored/big", "x");
    std::fs::remove_file(repository.path().join("gone.txt")).expect("removed");
    let head = repository.git(&["rev-parse", "HEAD"]);
    let before = repository.git(&["status", "--porcelain"]);

    let root = tempfile::tempdir().expect("a directory");
    let bench = Bench::shell(root.path(), options(&repository));
    let job = JobBuilder::new(1)
        .script([
            "cat tracked.txt new.txt; echo",
            "test ! -e gone.txt && test ! -e ignored",
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
