//! The cache store without jobs.

use super::{Scene, cache};
use crate::support::files_below;
use archive::{Format, Level};
use executor_core::Cancellation;
use job_runner::{
    CacheError, CacheFiles, CacheKey, CacheStore, LocalCaches, RemovedCache, SavedCache,
};
use std::fs;
use std::path::{Path, PathBuf};

fn key(text: &str) -> CacheKey {
    CacheKey::new(text).expect("a key")
}

fn files(project: &Path, names: &[&str]) -> CacheFiles {
    CacheFiles {
        project: project.to_owned(),
        paths: names.iter().map(PathBuf::from).collect(),
        are_as_restored: false,
        format: Format::ZipZstd,
        level: Level::Fastest,
    }
}

/// Returns a project whose files all have the same content.
fn project(text: &str) -> tempfile::TempDir {
    let project = tempfile::tempdir().expect("a directory");
    for at in 0..20 {
        fs::write(project.path().join(at.to_string()), text).expect("written");
    }
    project
}

fn names() -> Vec<String> {
    (0..20).map(|at: u32| at.to_string()).collect()
}

async fn save(caches: &LocalCaches, name: &str, text: &str) -> Result<SavedCache, CacheError> {
    let project = project(text);
    let names = names();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    caches
        .save(
            &key(name),
            files(project.path(), &names),
            &Cancellation::new(),
        )
        .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_readers_never_get_a_partial_cache() {
    let root = tempfile::tempdir().expect("a directory");
    let caches = LocalCaches::at(root.path()).of_project("p");
    save(&caches, "k", "text 0").await.expect("saved");
    let mut tasks = tokio::task::JoinSet::new();
    for writer in 0..3 {
        let caches = LocalCaches::at(root.path()).of_project("p");
        tasks.spawn(async move {
            for round in 0..5 {
                let text = format!("text {writer} {round}");
                save(&caches, "k", &text).await.expect("saved");
            }
        });
    }
    for _ in 0..3 {
        let caches = LocalCaches::at(root.path()).of_project("p");
        tasks.spawn(async move {
            for _ in 0..10 {
                let into = tempfile::tempdir().expect("a directory");
                let never = Cancellation::new();
                let restored = caches.restore(&key("k"), into.path(), &never).await;
                let restored = restored.expect("restored").expect("there is always one");
                assert_eq!(restored.files, 20);
                let texts = names()
                    .into_iter()
                    .map(|name| fs::read_to_string(into.path().join(name)).expect("read"));
                let mut texts: Vec<String> = texts.collect();
                texts.dedup();
                assert_eq!(texts.len(), 1, "{texts:?}");
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.expect("no panic");
    }
    let archives = || {
        let kept = files_below(&root.path().join("keys"));
        kept.iter().filter(|it| it.ends_with("archive")).count()
    };
    // A later save removes an old generation that a program of another test still has open.
    for last in 0.. {
        let text = format!("the last {last}");
        save(&caches, "k", &text).await.expect("saved");
        assert_eq!(files_below(&root.path().join("tmp")), Vec::<PathBuf>::new());
        if archives() == 1 {
            break;
        }
        assert!(last < 100, "the old ones stay");
    }
}

#[tokio::test]
async fn projects_have_separate_caches() {
    let root = tempfile::tempdir().expect("a directory");
    let all = LocalCaches::at(root.path());
    let (one, two) = (all.of_project("one"), all.of_project("two"));
    save(&one, "default", "x").await.expect("saved");
    assert!(one.contains(&key("default")).await);
    assert!(!two.contains(&key("default")).await);
    let into = tempfile::tempdir().expect("a directory");
    let restored = two
        .restore(&key("default"), into.path(), &Cancellation::new())
        .await;
    assert_eq!(restored.expect("asked"), None);
}

#[tokio::test]
async fn leftovers_of_a_killed_writer_are_removed() {
    let root = tempfile::tempdir().expect("a directory");
    let caches = LocalCaches::at(root.path()).of_project("p");
    save(&caches, "k", "old").await.expect("saved");
    let left = root.path().join("tmp/1234-0-dead");
    fs::create_dir(&left).expect("made");
    fs::write(left.join("archive"), "half").expect("written");
    let alive = root.path().join("tmp/1234-1-alive");
    fs::create_dir(&alive).expect("made");
    let held = fs::File::open(&alive).expect("opened");
    held.lock().expect("locked");
    // Keys without caches; the second is being written.
    let [empty, busy] = ["empty", "busy"].map(|name| root.path().join("keys").join(name));
    let [_unlocked, locked] = [&empty, &busy].map(|key| {
        fs::create_dir(key).expect("made");
        fs::File::create(key.join("lock")).expect("made")
    });
    locked.lock().expect("locked");
    caches.sweep();
    assert!(!left.exists() && alive.exists());
    assert!(!empty.exists() && busy.join("lock").exists());
    let into = tempfile::tempdir().expect("a directory");
    let never = Cancellation::new();
    let restored = caches
        .restore(&key("k"), into.path(), &never)
        .await
        .expect("asked");
    assert!(restored.is_some());
    assert_eq!(
        fs::read_to_string(into.path().join("7")).expect("read"),
        "old"
    );
}

#[tokio::test]
async fn caches_are_listed_and_removed_unless_in_use() {
    let root = tempfile::tempdir().expect("a directory");
    let caches = LocalCaches::at(root.path()).of_project("p");
    assert_eq!(caches.entries().expect("listed"), []);
    save(&caches, "k", "x").await.expect("saved");
    let entries = caches.entries().expect("listed");
    let entry = &entries[0];
    let said = (&*entry.key, &*entry.project, &*entry.format, entry.files);
    assert_eq!(said, ("k", "p", "zipzstd", 20));
    assert!(entry.size > 0);
    let directory = root.path().join("keys").join(&entry.id);
    for held in ["lock", "1"] {
        let held = fs::File::open(directory.join(held)).expect("opened");
        held.lock_shared().expect("locked");
        assert_eq!(
            caches.remove(&entry.id).expect("asked"),
            RemovedCache::InUse
        );
        // A program that another test starts has a copy of the file.
        held.unlock().expect("unlocked");
    }
    assert!(caches.contains(&key("k")).await);
    let removed = caches.remove(&entry.id).expect("removed");
    assert_eq!(removed, RemovedCache::Freed(entry.size));
    assert_eq!(caches.remove(&entry.id).expect("asked"), RemovedCache::Gone);
    assert_eq!(
        caches.remove("../../etc").expect("asked"),
        RemovedCache::Gone
    );
    assert!(!directory.exists());
    assert_eq!(files_below(root.path()), Vec::<PathBuf>::new());
}

#[tokio::test]
async fn stopped_save_changes_nothing() {
    let root = tempfile::tempdir().expect("a directory");
    let caches = LocalCaches::at(root.path()).of_project("p");
    let stopped = Cancellation::new();
    stopped.abort(executor_core::CancelCause::User);
    let project = project("x");
    let saved = caches
        .save(&key("k"), files(project.path(), &["1"]), &stopped)
        .await;
    assert!(matches!(saved, Err(CacheError::Stopped)), "{saved:?}");
    assert!(!caches.contains(&key("k")).await);
    let into = project.path();
    let restored = caches.restore(&key("k"), into, &stopped).await;
    assert!(matches!(restored, Err(CacheError::Stopped)), "{restored:?}");
}

#[tokio::test]
async fn only_their_owner_can_read_caches() {
    use std::os::unix::fs::PermissionsExt;
    let scene = Scene::new();
    scene.script("echo 1 > a", &[cache("k", &["a"])]).await;
    let root = scene.root.path().join("caches");
    let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
    assert_eq!(mode(&root), 0o700);
    for file in files_below(&root) {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
}
