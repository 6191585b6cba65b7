//! The directories of jobs with each method of a snapshot.

use crate::support::{Bench, Repository, files_below, succeeds};
use executor_core::{FailureReason, JobState};
use executor_testkit::{JobBuilder, not_tested};
use job_runner::{BuildRunnerOptions, Snapshot, SnapshotMethod, SnapshotUsers, Sources};
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn options(repository: &Path, root: &Path, means: SnapshotMethod) -> BuildRunnerOptions {
    let snapshot = Snapshot::new(repository, root.join("snapshots")).with_method(means);
    BuildRunnerOptions {
        sources: Sources::Snapshot(Arc::new(snapshot)),
        ..BuildRunnerOptions::default()
    }
}

/// Returns a repository that is large enough for a mount.
fn large_repository() -> Repository {
    let repository = Repository::new();
    for number in 0..200 {
        repository.write(&format!("many/{}/{number}", number % 9), "x");
    }
    repository.write("large", &"0123456789abcdef".repeat(50_000));
    repository.commit("many");
    repository
}

/// Runs three jobs that change many files, and asserts that they do not see changes of one another.
async fn check_apart(bench: &Bench, said: &str) {
    let script = [
        "test $(find many -type f | wc -l) = 200 && test ! -e made",
        "test $(wc -c < large) = 800000 && test -z \"$(git status --porcelain)\"",
        "mv many few && echo changed > few/0/0 && rm -r few/1 src && mkdir src",
        "chmod 700 large && echo more >> large && touch made",
        "git add -A && git -c user.name=x -c user.email=x@y commit -qm mine",
    ];
    for id in 1..=3 {
        let outcome = bench.run(JobBuilder::new(id).script(script).build()).await;
        assert_eq!(outcome.state, JobState::Success, "{}", bench.log());
    }
    assert!(bench.log().contains(said), "{}", bench.log());
}

#[tokio::test]
async fn jobs_on_overlays_are_isolated() {
    if !process::can_mount() {
        return not_tested("overlays of jobs", "this process may not mount");
    }
    let repository = large_repository();
    let root = tempfile::tempdir().expect("a directory");
    for means in [SnapshotMethod::Auto, SnapshotMethod::Overlay] {
        let bench = Bench::shell(root.path(), options(repository.path(), root.path(), means));
        check_apart(&bench, "Showing 203 files").await;
        drop(bench);
        assert_eq!(files_below(root.path()), Vec::<PathBuf>::new());
    }
}

#[tokio::test]
async fn jobs_on_copies_are_isolated() {
    let repository = large_repository();
    let root = tempfile::tempdir().expect("a directory");
    let options = options(repository.path(), root.path(), SnapshotMethod::Copy);
    let bench = Bench::shell(root.path(), options);
    check_apart(&bench, "Copied 203 files").await;
}

#[tokio::test]
async fn jobs_with_shared_blocks_are_isolated() {
    let root = tempfile::tempdir().expect("a directory");
    let Some(disk) = Disk::mount(root.path()) else {
        return not_tested("shared blocks", "a btrfs takes root and mkfs.btrfs");
    };
    let repository = large_repository();
    let options = options(repository.path(), &disk.0, SnapshotMethod::Reflink);
    let bench = Bench::shell(&disk.0, options);
    check_apart(&bench, "Copied 203 files").await;
    drop(bench);
    assert_eq!(files_below(&disk.0), Vec::<PathBuf>::new());
}

#[tokio::test]
async fn unsupported_methods_are_refused() {
    let repository = large_repository();
    let root = tempfile::tempdir().expect("a directory");
    let nowhere = Path::new("/dev/null");
    let check = async |options: BuildRunnerOptions, said: &str| {
        let bench = Bench::shell(root.path(), options);
        let outcome = bench.run(JobBuilder::new(1).script(["true"]).build()).await;
        let reason = outcome.failure_reason();
        assert_eq!(
            reason,
            Some(FailureReason::RunnerConfigurationError),
            "{}",
            bench.log()
        );
        assert!(bench.log().contains(said), "{}", bench.log());
    };
    let here = repository.write("here", "x");
    let [here, there] = [here, root.path().join("there")].map(|it| it.display().to_string());
    if succeeds("cp", &["--reflink=always", &here, &there]) {
        not_tested("shared blocks that are refused", "they can be had here");
    } else {
        let reflink = options(repository.path(), root.path(), SnapshotMethod::Reflink);
        check(reflink, "share the blocks of").await;
    }
    let overlay = options(repository.path(), nowhere, SnapshotMethod::Overlay);
    check(overlay, "mount a job's directory over a snapshot").await;
    let kept = BuildRunnerOptions {
        keep_builds: true,
        ..options(repository.path(), root.path(), SnapshotMethod::Overlay)
    };
    check(kept, "cannot be an overlay").await;
}

#[tokio::test]
async fn kept_builds_are_not_overlays() {
    let repository = large_repository();
    let root = tempfile::tempdir().expect("a directory");
    let keep = BuildRunnerOptions {
        keep_builds: true,
        ..options(repository.path(), root.path(), SnapshotMethod::Auto)
    };
    let bench = Bench::shell(root.path(), keep);
    let job = JobBuilder::new(1).script(["touch made"]);
    bench.run(job.build()).await;
    let left = files_below(&root.path().join("builds"));
    assert!(left.iter().any(|path| path.ends_with("made")), "{left:?}");
    assert!(left.iter().any(|path| path.ends_with("large")), "{left:?}");
}

#[tokio::test]
async fn single_job_gets_the_snapshot_itself() {
    let repository = large_repository();
    let root = tempfile::tempdir().expect("a directory");
    let snapshot = Snapshot::new(repository.path(), root.path().join("snapshots"))
        .with_users(SnapshotUsers::One);
    let options = BuildRunnerOptions {
        sources: Sources::Snapshot(Arc::new(snapshot)),
        ..BuildRunnerOptions::default()
    };
    let bench = Bench::shell(root.path(), options);
    let script = [
        "test $(find many -type f | wc -l) = 200",
        "test -z \"$(git status --porcelain)\"",
    ];
    let outcome = bench.run(JobBuilder::new(1).script(script).build()).await;
    assert_eq!(outcome.state, JobState::Success, "{}", bench.log());
    assert!(!root.path().join("snapshots").exists());
}

#[tokio::test]
async fn files_without_content_are_skipped() {
    let repository = Repository::new();
    let pipe = repository.write("pipe", "was a file");
    repository.commit("with a file");
    std::fs::remove_file(&pipe).expect("removed");
    assert!(succeeds("mkfifo", &[pipe.to_str().expect("text")]));
    let socket = repository.path().join("socket");
    let _socket = std::os::unix::net::UnixListener::bind(socket).expect("bound");
    let deep = format!("{}file", "deep/".repeat(120));
    repository.write(&deep, "x");
    let root = tempfile::tempdir().expect("a directory");
    let options = options(repository.path(), root.path(), SnapshotMethod::Auto);
    let bench = Bench::shell(root.path(), options);
    let script = [
        "test ! -e pipe && test ! -e socket",
        &format!("test -e {deep}"),
    ];
    let outcome = bench.run(JobBuilder::new(1).script(script).build()).await;
    assert_eq!(outcome.state, JobState::Success, "{}", bench.log());
}

#[tokio::test]
async fn lfs_files_are_copied_from_the_tree() {
    if !succeeds("git-lfs", &["version"]) {
        return not_tested("snapshots with Git LFS", "`git-lfs` is missing");
    }
    let repository = Repository::new();
    repository.git(&["lfs", "install", "--local", "--skip-repo"]);
    repository.write(
        ".gitattributes",
        "*.bin filter=lfs diff=lfs merge=lfs -text\n",
    );
    repository.write("content.bin", "large content");
    repository.write("pointer.bin", "other content");
    repository.commit("with large files");
    let pointer = repository.git(&["show", "HEAD:pointer.bin"]);
    repository.write("pointer.bin", &format!("{pointer}\n"));
    let root = tempfile::tempdir().expect("a directory");
    let options = options(repository.path(), root.path(), SnapshotMethod::Auto);
    let bench = Bench::shell(root.path(), options);
    let script = [
        "test \"$(cat content.bin)\" = 'large content'",
        "grep -q 'version https://git-lfs' pointer.bin",
        "git lfs ls-files | grep content.bin",
    ];
    let outcome = bench.run(JobBuilder::new(1).script(script).build()).await;
    assert_eq!(outcome.state, JobState::Success, "{}", bench.log());
}

/// A small file system with shared blocks, in a file.
struct Disk(PathBuf);

impl Disk {
    fn mount(root: &Path) -> Option<Self> {
        let image = root.join("image");
        let file = std::fs::File::create(&image).expect("made");
        file.set_len(256 << 20).expect("enlarged");
        let target = root.join("disk");
        std::fs::create_dir(&target).expect("made");
        let [image, to] = [&image, &target].map(|path| path.to_str().expect("text"));
        let mounted = process::can_mount()
            && succeeds("mkfs.btrfs", &["--quiet", image])
            && succeeds("mount", &["-o", "loop", image, to]);
        mounted.then_some(Self(target))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        succeeds("umount", &["--lazy", self.0.to_str().expect("text")]);
    }
}
