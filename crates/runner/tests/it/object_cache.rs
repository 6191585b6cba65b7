//! Caches in a bucket, against a server of S3.

use crate::s3::{S3Server, SECRET};
use archive::{Format, Level};
use executor_core::{CancelCause, Cancellation, chain};
use http::{Method, StatusCode};
use job_runner::{CacheError, CacheFiles, CacheKey, CacheStore, RestoredCache, SavedCache};
use runner::config::{CacheBucket, CacheSettings};
use runner::{ObjectBucket, ObjectCaches, Proxies};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio::net::TcpListener;

/// A project with files, and a place for archives on their way.
struct Place {
    directory: TempDir,
}

impl Place {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        fs::create_dir(directory.path().join("project")).expect("a directory");
        fs::create_dir(directory.path().join("scratch")).expect("a directory");
        Self { directory }
    }

    fn project(&self) -> PathBuf {
        self.directory.path().join("project")
    }

    fn caches(&self, settings: &CacheSettings, runner: &str) -> ObjectCaches {
        let bucket = ObjectBucket::new(settings, Proxies::default()).expect("a bucket");
        bucket.caches(runner, 42, self.directory.path().join("scratch"))
    }

    fn write(&self, name: &str, content: &[u8]) {
        fs::write(self.project().join(name), content).expect("written");
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.project().join(name)).expect("read")
    }

    fn files(&self, names: &[&str]) -> CacheFiles {
        CacheFiles {
            project: self.project(),
            paths: names.iter().map(PathBuf::from).collect(),
            are_as_restored: false,
            format: Format::Zip,
            level: Level::Fastest,
        }
    }

    /// Checks that no archive remains.
    fn check_scratch(&self) {
        let mut left = fs::read_dir(self.directory.path().join("scratch")).expect("read");
        assert!(left.next().is_none());
    }
}

fn key(text: &str) -> CacheKey {
    CacheKey::new(text).expect("a key")
}

type Result<T> = std::result::Result<T, CacheError>;

async fn try_save(caches: &ObjectCaches, text: &str, files: CacheFiles) -> Result<SavedCache> {
    caches.save(&key(text), files, &Cancellation::new()).await
}

async fn try_restore(
    caches: &ObjectCaches,
    text: &str,
    into: &Path,
) -> Result<Option<RestoredCache>> {
    caches.restore(&key(text), into, &Cancellation::new()).await
}

async fn save(caches: &ObjectCaches, text: &str, files: CacheFiles) -> SavedCache {
    let saved = try_save(caches, text, files).await;
    saved.unwrap_or_else(|error| panic!("{}", chain(&error)))
}

async fn restore(caches: &ObjectCaches, text: &str, into: &Path) -> Option<RestoredCache> {
    let restored = try_restore(caches, text, into).await;
    restored.unwrap_or_else(|error| panic!("{}", chain(&error)))
}

/// Returns bytes that cannot be compressed.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}

#[tokio::test(flavor = "multi_thread")]
async fn files_come_back_under_the_name_of_gitlab_runner() {
    let server = S3Server::start().await;
    let (first, second) = (Place::new(), Place::new());
    let caches = first.caches(&server.settings(), "abcdefghi");
    assert!(!caches.contains(&key("job name/main")).await);
    let nothing = restore(&caches, "job name/main", &second.project()).await;
    assert_eq!(nothing, None);
    for format in [Format::Zip, Format::ZipZstd, Format::TarZstd] {
        first.write("a", format.name().as_bytes());
        let files = CacheFiles {
            format,
            ..first.files(&["a"])
        };
        let names = files.names();
        let saved = save(&caches, "job name/main", files).await;
        let object = server.object("ci/runner/abcdefghi/project/42/job name/main");
        let size = fs::metadata(&object).expect("an object").len();
        let skipped = Vec::new();
        assert_eq!(saved, SavedCache::Created { size, skipped });
        assert!(caches.contains(&key("job name/main")).await);
        let restored = restore(&caches, "job name/main", &second.project()).await;
        let expect = RestoredCache {
            files: 1,
            size,
            names,
        };
        assert_eq!(restored, Some(expect));
        assert_eq!(second.read("a"), format.name().as_bytes());
    }
    first.check_scratch();
}

#[tokio::test(flavor = "multi_thread")]
async fn large_archive_is_transferred_in_parts() {
    let server = S3Server::start().await;
    let (first, second) = (Place::new(), Place::new());
    let caches = first.caches(&server.settings(), "abcdefghi");
    let content = noise(40 << 20);
    first.write("a", &content);
    save(&caches, "large", first.files(&["a"])).await;
    assert!(!server.has_parts());
    let seen = server.seen();
    let sent = seen.iter().filter(|it| it.query.contains("partNumber"));
    assert_eq!(sent.count(), 3);
    restore(&caches, "large", &second.project()).await;
    assert!(second.read("a") == content);
    let seen = server.seen();
    let got = seen.iter().filter(|it| it.method == Method::GET);
    let ranges: Vec<&str> = got.flat_map(|it| &it.range).map(String::as_str).collect();
    assert_eq!(ranges.len(), 3);
    assert!(ranges.contains(&"bytes=16777216-33554431"), "{ranges:?}");
    first.check_scratch();
}

#[tokio::test(flavor = "multi_thread")]
async fn runners_share_caches_only_with_shared() {
    let server = S3Server::start().await;
    let (first, second) = (Place::new(), Place::new());
    first.write("a", b"hello");
    let settings = server.settings();
    save(&first.caches(&settings, "one"), "k", first.files(&["a"])).await;
    let other = second.caches(&settings, "two");
    assert_eq!(restore(&other, "k", &second.project()).await, None);
    let shared = CacheSettings {
        shared: true,
        ..settings
    };
    save(&first.caches(&shared, "one"), "k", first.files(&["a"])).await;
    assert!(server.object("ci/project/42/k").exists());
    let other = second.caches(&shared, "two");
    assert!(restore(&other, "k", &second.project()).await.is_some());
    assert_eq!(second.read("a"), b"hello");
}

#[tokio::test(flavor = "multi_thread")]
async fn unchanged_files_are_not_uploaded_while_the_object_is_there() {
    let server = S3Server::start().await;
    let place = Place::new();
    let caches = place.caches(&server.settings(), "one");
    place.write("a", b"hello");
    let files = CacheFiles {
        are_as_restored: true,
        ..place.files(&["a"])
    };
    let created = save(&caches, "k", files.clone()).await;
    assert!(matches!(created, SavedCache::Created { .. }));
    assert_eq!(save(&caches, "k", files).await, SavedCache::UpToDate);
    let puts = server.seen().into_iter();
    assert_eq!(puts.filter(|it| it.method == Method::PUT).count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn corrupt_object_is_an_error_until_it_is_replaced() {
    let server = S3Server::start().await;
    let place = Place::new();
    let caches = place.caches(&server.settings(), "one");
    place.write("a", b"hello");
    save(&caches, "k", place.files(&["a"])).await;
    let object = server.object("ci/runner/one/project/42/k");
    for damaged in [&b""[..], b"nonsense", b"PK\x05\x06"] {
        fs::write(&object, damaged).expect("written");
        let restored = try_restore(&caches, "k", &place.project()).await;
        let error = restored.expect_err("damaged");
        assert!(matches!(error, CacheError::Archive { .. }), "{error:?}");
    }
    save(&caches, "k", place.files(&["a"])).await;
    assert!(restore(&caches, "k", &place.project()).await.is_some());
    place.check_scratch();
}

#[tokio::test(flavor = "multi_thread")]
async fn too_large_archive_is_not_uploaded() {
    let server = S3Server::start().await;
    let place = Place::new();
    let settings = CacheSettings {
        largest_archive: Some(1000),
        ..server.settings()
    };
    let caches = place.caches(&settings, "one");
    place.write("a", &noise(2000));
    let saved = try_save(&caches, "k", place.files(&["a"]));
    let error = saved.await.expect_err("too large").to_string();
    assert!(
        error.ends_with("bytes, and `MaxUploadedArchiveSize` allows 1000"),
        "{error}"
    );
    assert!(server.seen().is_empty());
    place.write("a", b"small");
    save(&caches, "k", place.files(&["a"])).await;
    place.check_scratch();
}

#[tokio::test(flavor = "multi_thread")]
async fn overloaded_server_is_asked_three_times() {
    let server = S3Server::start().await;
    let place = Place::new();
    let caches = place.caches(&server.settings(), "one");
    place.write("a", b"hello");
    let mut left = 2;
    server.fault(move |_| {
        left -= 1;
        (left >= 0).then_some(StatusCode::SERVICE_UNAVAILABLE)
    });
    save(&caches, "k", place.files(&["a"])).await;
    assert_eq!(server.seen().len(), 3);
    server.fault(|_| Some(StatusCode::SERVICE_UNAVAILABLE));
    // The restore is to say why.
    assert!(caches.contains(&key("k")).await);
    let restored = try_restore(&caches, "k", &place.project()).await;
    let error = chain(&restored.expect_err("overloaded"));
    assert_eq!(
        error,
        "look it up: the bucket answers 503 Service Unavailable"
    );
    place.check_scratch();
}

#[tokio::test(flavor = "multi_thread")]
async fn stopped_upload_leaves_no_parts() {
    let server = S3Server::start().await;
    let place = Place::new();
    let caches = place.caches(&server.settings(), "one");
    place.write("a", &noise(70 << 20));
    server.let_parts(1);
    let stop = Cancellation::new();
    let key = key("k");
    let saving = caches.save(&key, place.files(&["a"]), &stop);
    let stopping = async {
        server
            .wait("two parts", |seen| {
                seen.iter()
                    .filter(|it| it.query.contains("partNumber"))
                    .count()
                    >= 2
            })
            .await;
        assert!(server.has_parts());
        stop.cancel(CancelCause::User);
    };
    let (saved, ()) = tokio::join!(saving, stopping);
    assert!(matches!(saved, Err(CacheError::Stopped)), "{saved:?}");
    let seen = server.seen();
    assert!(seen.iter().any(|it| it.method == Method::DELETE));
    assert!(!server.has_parts());
    assert!(!caches.contains(&key).await);
    place.check_scratch();
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_upload_leaves_no_parts_and_the_previous_object() {
    let server = S3Server::start().await;
    let place = Place::new();
    let caches = place.caches(&server.settings(), "one");
    place.write("a", b"before");
    save(&caches, "k", place.files(&["a"])).await;
    place.write("a", &noise(20 << 20));
    server.fault(|seen| {
        let refused = seen.query.contains("partNumber=2");
        refused.then_some(StatusCode::FORBIDDEN)
    });
    let saved = try_save(&caches, "k", place.files(&["a"])).await;
    let error = chain(&saved.expect_err("refused"));
    assert_eq!(error, "upload it: the bucket answers 403 Forbidden");
    assert!(!server.has_parts());
    restore(&caches, "k", &place.project()).await;
    assert_eq!(place.read("a"), b"before");
}

#[tokio::test(flavor = "multi_thread")]
async fn stopped_download_ends_soon() {
    let silent = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = silent.local_addr().expect("an address").to_string();
    let place = Place::new();
    let caches = place.caches(&S3Server::settings_at(&address), "one");
    let stop = Cancellation::new();
    let began = Instant::now();
    let (key_k, project) = (key("k"), place.project());
    let restoring = caches.restore(&key_k, &project, &stop);
    let stopping = async {
        let asked = silent.accept().await.expect("a request");
        stop.cancel(CancelCause::User);
        asked
    };
    let (restored, _asked) = tokio::join!(restoring, stopping);
    assert!(matches!(restored, Err(CacheError::Stopped)), "{restored:?}");
    // Not a limit on speed: the server is waited for thirty seconds.
    assert!(began.elapsed() < Duration::from_secs(20));
    let stop = Cancellation::new();
    stop.cancel(CancelCause::User);
    let restored = caches.restore(&key("k"), &place.project(), &stop).await;
    assert!(matches!(restored, Err(CacheError::Stopped)), "{restored:?}");
    let saved = caches.save(&key("k"), place.files(&[]), &stop).await;
    assert!(matches!(saved, Err(CacheError::Stopped)), "{saved:?}");
    place.check_scratch();
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_are_not_shown() {
    let server = S3Server::start().await;
    let place = Place::new();
    let settings = server.settings();
    let caches = place.caches(&settings, "one");
    place.write("a", b"hello");
    let shown = format!("{settings:?} {caches:?}");
    assert!(!shown.contains(SECRET), "{shown}");
    let mut wrong = settings;
    let CacheBucket::S3(bucket) = &mut wrong.bucket else {
        panic!("a bucket of S3");
    };
    let keys = bucket.keys.as_mut().expect("keys");
    keys.secret_key = "another-secret".into();
    let caches = place.caches(&wrong, "one");
    let saved = try_save(&caches, "a-hunter2", place.files(&["a"]));
    let error = saved.await.expect_err("refused");
    let shown = format!("{} {error:?}", chain(&error));
    assert!(
        shown.contains("403 Forbidden (SignatureDoesNotMatch)"),
        "{shown}"
    );
    for secret in ["another-secret", "hunter2", "AKIA"] {
        assert!(!shown.contains(secret), "{secret} in {shown}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn unreachable_server_is_named() {
    let place = Place::new();
    let settings = S3Server::settings_at("127.0.0.1:1");
    let caches = place.caches(&settings, "one");
    let restored = try_restore(&caches, "k", &place.project()).await;
    let error = chain(&restored.expect_err("unreachable"));
    assert!(
        error.starts_with("look it up: http://127.0.0.1:1 cannot be reached"),
        "{error}"
    );
}
