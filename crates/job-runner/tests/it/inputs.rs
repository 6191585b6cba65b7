//! Artifacts among a job's sources: mounted with an overlay, copied otherwise.

use crate::support::{Bench, Repository, artifacts_below};
use executor_core::job::{Artifact, Dependency, Hook, HookName, Job};
use executor_core::{JobId, JobState};
use executor_testkit::{JobBuilder, not_tested};
use job_runner::{
    ArtifactStore, BuildRunnerOptions, Snapshot, SnapshotMethod, Sources, StoredArtifacts,
};
use std::path::Path;
use std::sync::Arc;

fn bench(repository: &Path, root: &Path, means: SnapshotMethod) -> (StoredArtifacts, Bench) {
    let snapshot = Snapshot::new(repository, root.join("snapshots")).with_method(means);
    let store = artifacts_below(root);
    let options = BuildRunnerOptions {
        sources: Sources::Snapshot(Arc::new(snapshot)),
        artifacts: Some(Arc::new(store.clone())),
        ..BuildRunnerOptions::default()
    };
    (store, Bench::shell(root, options))
}

fn producer(id: u64, paths: &[&str], script: &[&str]) -> Job {
    let artifact = Artifact {
        paths: paths.iter().map(ToString::to_string).collect(),
        ..Artifact::default()
    };
    let script: Vec<String> = script.iter().map(ToString::to_string).collect();
    let job = JobBuilder::new(id).script(script);
    job.with(|job| job.artifacts.push(artifact)).build()
}

fn after(ids: &[u64]) -> Vec<Dependency> {
    let dependency = |id: &u64| Dependency {
        id: JobId(*id),
        name: format!("job {id}"),
        ..Dependency::default()
    };
    ids.iter().map(dependency).collect()
}

fn consumer(id: u64, ids: &[u64], script: &[&str]) -> Job {
    let script: Vec<String> = script.iter().map(ToString::to_string).collect();
    let job = JobBuilder::new(id).script(script);
    job.with(|job| job.dependencies = after(ids)).build()
}

async fn succeeds(bench: &Bench, job: Job) {
    let outcome = bench.run(job).await;
    assert_eq!(outcome.state, JobState::Success, "{}", bench.log());
}

async fn verify(store: &StoredArtifacts, job: u64) {
    let tree = store.tree(JobId(job)).await.expect("read").expect("kept");
    store.store().verify(&tree).expect("as it was");
}

const MANY: &str = "mkdir -p dist/deep && for n in $(seq 200); do echo $n > dist/deep/$n; done";

/// Runs a job that damages its inputs in many ways, and checks that the next job gets them intact.
async fn check_unharmed(means: SnapshotMethod, said: &str) {
    let repository = Repository::new();
    let root = tempfile::tempdir().expect("a directory");
    let (store, bench) = bench(repository.path(), root.path(), means);
    let large = "head -c 3000000 /dev/zero > dist/large && chmod 640 dist/large";
    succeeds(&bench, producer(1, &["dist"], &[MANY, large])).await;
    let ruin = [
        "test $(cat dist/deep/*  | wc -l) = 200 && test $(stat -c %a dist/large) = 640",
        "echo overwritten > dist/deep/1 && echo appended >> dist/deep/2 && : > dist/deep/3",
        "truncate -s 5 dist/large && dd if=/dev/urandom of=dist/large bs=1 seek=2 count=9 conv=notrunc",
        "chmod -R 777 dist && touch dist/deep/4 && rm dist/deep/5 && mv dist/deep/6 dist/deep/7",
        "ln dist/deep/8 dist/hard && echo through a link >> dist/hard && mv dist/deep dist/moved",
    ];
    for id in [2, 3] {
        succeeds(&bench, consumer(id, &[1], &ruin)).await;
        verify(&store, 1).await;
    }
    assert_eq!(bench.log().matches(said).count(), 2, "{}", bench.log());
    let whole = [
        "test \"$(cat dist/deep/1 dist/deep/2 dist/deep/3)\" = \"$(printf '1\\n2\\n3')\"",
        "test -f dist/deep/5 && test $(stat -c %s dist/large) = 3000000",
    ];
    succeeds(&bench, consumer(4, &[1], &whole)).await;
    // The layer is not mounted any more, so a sweep may remove all objects.
    drop(bench);
    let digest = store.of_job(JobId(1)).expect("read")[0].digest();
    assert!(digest.is_some());
    let swept = store.store().sweep(|| Ok(std::collections::HashSet::new()));
    assert!(swept.expect("swept").expect("no lock").objects > 200);
}

#[tokio::test]
async fn damage_to_copied_inputs_stays_in_the_job() {
    check_unharmed(SnapshotMethod::Copy, "Fetched 201 files of job 1 (1)").await;
}

#[tokio::test]
async fn damage_to_mounted_inputs_stays_in_the_job() {
    if !process::can_mount() {
        return not_tested("inputs that are shown", "this process may not mount");
    }
    let said = "Showing the files of job 1 (1)";
    check_unharmed(SnapshotMethod::Overlay, said).await;
    check_unharmed(SnapshotMethod::Auto, said).await;
}

#[tokio::test]
async fn later_producer_overrides_earlier_ones() {
    let repository = Repository::new();
    let root = tempfile::tempdir().expect("a directory");
    let overlay = process::can_mount().then_some(SnapshotMethod::Overlay);
    for means in [Some(SnapshotMethod::Copy), overlay].into_iter().flatten() {
        let (_, bench) = bench(repository.path(), root.path(), means);
        succeeds(
            &bench,
            producer(1, &["dist"], &[MANY, "echo first > dist/same"]),
        )
        .await;
        let second = "mkdir dist && echo second > dist/same && echo x > dist/own";
        succeeds(&bench, producer(2, &["dist"], &[second])).await;
        let look = "test $(cat dist/same) = second && test -f dist/own && test -f dist/deep/200";
        succeeds(&bench, consumer(3, &[1, 2], &[look])).await;
        let look = "test $(cat dist/same) = first && test -f dist/own && test -f dist/deep/200";
        succeeds(&bench, consumer(4, &[2, 1], &[look])).await;
    }
}

#[tokio::test]
async fn unfit_layers_are_copied_or_refused() {
    if !process::can_mount() {
        return not_tested("inputs that are shown", "this process may not mount");
    }
    let repository = Repository::new();
    std::os::unix::fs::symlink("/tmp", repository.path().join("dist")).expect("linked");
    let root = tempfile::tempdir().expect("a directory");
    let (_, bench) = bench(repository.path(), root.path(), SnapshotMethod::Overlay);
    succeeds(&bench, producer(1, &["dist"], &["rm dist", MANY])).await;
    let outcome = bench.run(consumer(2, &[1], &["true"])).await;
    assert_eq!(outcome.state, JobState::Failed, "{}", bench.log());
    let said = "fetch artifacts: dist would go through a symbolic link";
    assert!(bench.log().contains(said), "{}", bench.log());
    // Stages between the sources and the artifacts must neither see nor undo these.
    succeeds(
        &bench,
        producer(3, &["out"], &["mkdir out && cd out && touch $(seq 100)"]),
    )
    .await;
    let mut job = consumer(4, &[3], &["test -f out/100"]);
    job.hooks.push(Hook {
        name: HookName::PostGetSources,
        script: vec!["cd \"$CI_PROJECT_DIR\" && git clean -ffdxq".to_owned()],
    });
    succeeds(&bench, job).await;
    assert!(
        bench.log().contains("Fetched 100 files of job 3"),
        "{}",
        bench.log()
    );
}

#[tokio::test]
async fn many_producers_are_mounted_or_copied() {
    if !process::can_mount() {
        return not_tested("inputs that are shown", "this process may not mount");
    }
    let repository = Repository::new();
    let root = tempfile::tempdir().expect("a directory");
    // A long path makes long mount options.
    let deep = root.path().join("long/".repeat(30));
    std::fs::create_dir_all(&deep).expect("made");
    let (_, bench) = bench(repository.path(), &deep, SnapshotMethod::Overlay);
    for id in 1..=25 {
        let script =
            format!("mkdir out && cd out && touch {id}-a {id}-b {id}-c && echo {id} > same");
        succeeds(&bench, producer(id, &["out"], &[&script])).await;
    }
    let all: Vec<u64> = (1..=25).collect();
    let look = "test $(ls out | wc -l) = 76 && test $(cat out/same) = 25";
    succeeds(&bench, consumer(99, &all, &[look])).await;
    let log = bench.log();
    let count = |said: &str| log.matches(said).count();
    assert!(count("Showing the files of job") > 1, "{log}");
    assert_eq!(
        count("Showing the files of job") + count("Fetched 4 files of job"),
        25
    );
}

#[tokio::test]
async fn exported_archive_has_all_files() {
    let repository = Repository::new();
    let root = tempfile::tempdir().expect("a directory");
    let (store, bench) = bench(repository.path(), root.path(), SnapshotMethod::Copy);
    let job = producer(
        1,
        &["dist"],
        &[MANY, "ln -s deep/1 dist/link; mkdir dist/empty"],
    );
    succeeds(&bench, job).await;
    let archive = store
        .of_type(JobId(1), "archive")
        .expect("read")
        .expect("kept");
    let zip = root.path().join("out.zip");
    let (packing, nobody_stops) = (
        archive::Packing::default(),
        executor_core::Cancellation::new(),
    );
    store
        .export(&archive, &zip, &packing, &nobody_stops)
        .expect("packed");
    let into = root.path().join("unpacked");
    std::fs::create_dir(&into).expect("made");
    archive::unpack(&zip, &into, &archive::Limits::default(), &nobody_stops).expect("unpacked");
    let read = |name: &str| std::fs::read_to_string(into.join(name)).expect("there");
    assert_eq!(
        (read("dist/deep/200").as_str(), read("dist/link").as_str()),
        ("200\n", "1\n")
    );
    assert!(into.join("dist/empty").is_dir());
    let opened = store
        .open(&archive, Path::new("dist/deep/7"))
        .expect("read");
    assert_eq!(
        std::io::read_to_string(opened.expect("a file")).expect("read"),
        "7\n"
    );
    assert!(
        store
            .open(&archive, Path::new("dist/none"))
            .expect("read")
            .is_none()
    );
}
