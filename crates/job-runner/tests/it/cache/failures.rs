use super::{Scene, cache, has, has_no, job, job_with};
use crate::support::files_below;
use executor_core::job::{Hook, HookName};
use rustix::fs::{CWD, FileType, Mode};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

fn archives(scene: &Scene) -> Vec<PathBuf> {
    let files = files_below(&scene.root.path().join("caches"));
    files
        .into_iter()
        .filter(|it| it.ends_with("archive"))
        .collect()
}

#[tokio::test]
async fn damaged_cache_is_removed_and_the_job_continues() {
    let flip = |archive: &PathBuf| {
        let mut content = fs::read(archive).expect("read");
        let middle = content.len() / 2;
        content[middle] ^= 0x55;
        fs::write(archive, content).expect("written");
    };
    let cut = |archive: &PathBuf| {
        let content = fs::read(archive).expect("read");
        fs::write(archive, &content[..content.len() / 2]).expect("written");
    };
    let unknown = |archive: &PathBuf| {
        fs::write(archive.with_file_name("entry.json"), "{").expect("written");
    };
    let gone = |archive: &PathBuf| fs::remove_file(archive).expect("removed");
    // Reading a pipe must not block.
    let pipe = |path: &Path| {
        fs::remove_file(path).expect("removed");
        let kind = FileType::Fifo;
        rustix::fs::mknodat(CWD, path, kind, Mode::RUSR | Mode::WUSR, 0).expect("made");
    };
    let pipe_of_entry = |archive: &PathBuf| pipe(&archive.with_file_name("entry.json"));
    let pipe_of_archive = |archive: &PathBuf| pipe(archive);
    let ways: [&dyn Fn(&PathBuf); 6] = [
        &flip,
        &cut,
        &unknown,
        &gone,
        &pipe_of_entry,
        &pipe_of_archive,
    ];
    for damage in ways {
        let scene = Scene::new();
        let caches = [cache("k", &["dep"])];
        scene.script("mkdir dep && seq 1000 > dep/a", &caches).await;
        damage(&archives(&scene)[0]);
        let log = scene.script("test ! -e dep", &caches).await;
        has(
            &log,
            "cache k is not restored: it is damaged and was removed",
        );
        assert_eq!(archives(&scene), Vec::<PathBuf>::new());
        // The damaged files must not be restored, or `mkdir` would fail. A program that another test starts may have the entry's
        // lock, so an empty entry may remain for another job.
        scene.script("mkdir dep && echo 1 > dep/a", &caches).await;
        scene.script("test $(cat dep/a) = 1", &caches).await;
    }
}

#[tokio::test]
async fn fallback_replaces_a_damaged_cache() {
    let scene = Scene::new();
    scene.script("echo one > a", &[cache("k", &["a"])]).await;
    fs::write(&archives(&scene)[0], "no archive").expect("written");
    scene.script("echo two > a", &[cache("f", &["a"])]).await;
    let mut caches = [cache("k", &["a"])];
    caches[0].fallback_keys = vec!["f".to_owned()];
    scene.script("test $(cat a) = two", &caches).await;
}

#[tokio::test]
async fn cache_larger_than_the_budget_is_not_saved() {
    let scene = Scene::new();
    let caches = [cache("k", &["a"])];
    scene.script("echo 1 > a", &caches).await;
    let small = scene.caches.clone().budget(1000);
    let job = job("head -c 100000 /dev/urandom > a", &caches);
    let log = scene.run_with(&small, job, true).await;
    has(&log, "WARNING: cache k is not saved: it needs");
    scene.script("test $(cat a) = 1", &caches).await;
    // And an empty key is removed.
    let keys = || fs::read_dir(scene.root.path().join("caches/keys")).expect("read");
    assert_eq!(keys().count(), 1);
    let script = "head -c 100000 /dev/urandom > a";
    let large = super::job(script, &[cache("large", &["a"])]);
    scene.run_with(&small, large, true).await;
    assert_eq!(keys().count(), 1);
}

#[tokio::test]
async fn least_recently_used_cache_is_removed_first() {
    let scene = Scene::new();
    let random = "head -c 10000 /dev/urandom > a";
    for key in ["a", "b", "c"] {
        scene.script(random, &[cache(key, &["a"])]).await;
    }
    // In the order of their use: b, c, a.
    scene.script("true", &[cache("a", &["a"])]).await;
    let small = scene.caches.of_project("another").budget(25_000);
    let job = job(random, &[cache("d", &["a"])]);
    scene.run_with(&small, job, true).await;
    assert_eq!(scene.keys(), ["a", "d"]);
}

#[tokio::test]
async fn full_disk_does_not_fail_the_job() {
    let scene = Scene::new();
    let caches = [cache("k", &["a"])];
    scene.script("echo 1 > a", &caches).await;
    // As with a full disk: nothing can be created where new caches are written.
    let temporary = scene.root.path().join("caches/tmp");
    fs::remove_dir(&temporary).expect("it is empty");
    fs::write(&temporary, "").expect("written");
    let log = scene.script("echo 2 > a", &caches).await;
    has(&log, "WARNING: cache k is not saved: make");
    fs::remove_file(&temporary).expect("removed");
    scene.script("test $(cat a) = 1", &caches).await;
}

#[tokio::test]
async fn partial_cache_is_removed() {
    let scene = Scene::new();
    let caches = [cache("k", &["dep"])];
    let make = "mkdir dep && for i in $(seq 50); do echo $i > dep/$i; done";
    scene.script(make, &caches).await;
    // The sources have a non-empty directory where the cache has a file.
    let mut job = job(
        "ls dep | xargs && test -e dep/30/own && echo new > dep/1",
        &caches,
    );
    job.hooks.push(Hook {
        name: HookName::PreGetSources,
        script: vec!["cd $CI_PROJECT_DIR && mkdir -p dep/30 && echo 1 > dep/30/own".to_owned()],
    });
    let log = scene.run(job, true).await;
    has(&log, "WARNING: cache k is not restored");
    has(&log, "\n30\n");
    // The job got none of the files, so its cache has only its own.
    scene
        .script(
            "test $(cat dep/1) = new -a -e dep/30/own -a ! -e dep/2",
            &caches,
        )
        .await;
}

#[tokio::test]
async fn job_runs_without_a_busy_cache() {
    let scene = Scene::new();
    let caches = [cache("k", &["a"])];
    scene.script("echo 1 > a", &caches).await;
    let key = fs::read_dir(scene.root.path().join("caches/keys")).expect("there");
    let key = key.flatten().next().expect("one").path();
    let lock = fs::File::open(key.join("lock")).expect("opened");
    lock.lock().expect("locked");
    let hasty = scene.caches.clone().max_wait(Duration::from_millis(50));
    let log = scene
        .run_with(&hasty, job("test $(cat a) = 1; echo 2 > a", &caches), true)
        .await;
    has(&log, "cache k is not saved: another job used it");
    drop(lock);
    scene.script("test $(cat a) = 1", &caches).await;
}

#[tokio::test]
async fn caches_need_remaining_time() {
    let scene = Scene::new();
    let caches = [cache("../..", &["a"]), cache("k", &["a"])];
    let variables = [
        ("CACHE_REQUEST_TIMEOUT", "soon"),
        ("CACHE_COMPRESSION_FORMAT", "rar"),
    ];
    let log = scene
        .run(job_with("echo 1 > a", &caches, &variables), true)
        .await;
    has(&log, "CACHE_REQUEST_TIMEOUT is ignored");
    has(&log, "CACHE_COMPRESSION_FORMAT is ignored");
    has(&log, "a cache is ignored: its key is empty");
    has_no(&log, "not saved");
    assert_eq!(scene.keys(), ["k"]);
}
