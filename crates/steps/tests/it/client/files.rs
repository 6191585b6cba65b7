use std::fs;
use std::io::{self, Cursor};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::time::{Duration, SystemTime};

use executor_core::ability::ByteStream;
use executor_core::{BuildError, CancelCause, Cancellation, FailureReason};
use tar::{Builder, EntryType, Header};
use tokio::io::AsyncReadExt;

use super::support::Served;

fn stream(bytes: Vec<u8>) -> ByteStream {
    Box::new(Cursor::new(bytes))
}

fn header(kind: EntryType, size: usize) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(0o640);
    header.set_size(size as u64);
    header
}

/// Adds an entry with any name, which the tar crate would refuse.
fn add(builder: &mut Builder<Vec<u8>>, kind: EntryType, name: &str, link: &str, text: &[u8]) {
    let mut header = header(kind, text.len());
    let bytes = header.as_mut_bytes();
    bytes[..name.len()].copy_from_slice(name.as_bytes());
    bytes[157..157 + link.len()].copy_from_slice(link.as_bytes());
    header.set_cksum();
    builder.append(&header, text).unwrap();
}

async fn put(served: &Served, directory: &Path, archive: Vec<u8>) -> Result<(), BuildError> {
    let directory = directory.display().to_string();
    let files = served.client().files();
    files
        .put(&directory, stream(archive), &Cancellation::new())
        .await
}

async fn get(served: &Served, directory: &Path, paths: &[&str]) -> io::Result<Vec<u8>> {
    let directory = directory.display().to_string();
    let paths: Vec<_> = paths.iter().map(|path| (*path).to_owned()).collect();
    let files = served.client().files();
    let got = files.get(&directory, &paths, &Cancellation::new()).await;
    let mut archive = Vec::new();
    let mut stream = got.map_err(io::Error::other)?;
    stream.read_to_end(&mut archive).await?;
    Ok(archive)
}

fn names(archive: &[u8]) -> Vec<String> {
    let mut archive = tar::Archive::new(archive);
    let entries = archive.entries().unwrap();
    let name = |entry: io::Result<tar::Entry<'_, _>>| {
        String::from_utf8_lossy(&entry.unwrap().path_bytes()).into_owned()
    };
    entries.map(name).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn tree_round_trips_unchanged() {
    let served = Served::start();
    let (from, to) = (served.path("from"), served.path("a/b/to"));
    fs::create_dir_all(from.join("dir/empty")).unwrap();
    let large: Vec<u8> = (0..1_000_003_u32).map(|byte| (byte % 251) as u8).collect();
    fs::write(from.join("dir/large"), &large).unwrap();
    fs::write(from.join("tool"), "#!/bin/sh\n").unwrap();
    fs::set_permissions(from.join("tool"), fs::Permissions::from_mode(0o750)).unwrap();
    let deep = format!("{}/{}", "d".repeat(120), "f".repeat(120));
    fs::create_dir(from.join("d".repeat(120))).unwrap();
    fs::write(from.join(&deep), "deep").unwrap();
    symlink("../elsewhere", from.join("link")).unwrap();
    let time = SystemTime::UNIX_EPOCH + Duration::new(1_700_000_000, 123_456_789);
    for path in ["tool", "dir"] {
        fs::File::open(from.join(path))
            .unwrap()
            .set_modified(time)
            .unwrap();
    }

    let all = ["dir", "tool", "link", &"d".repeat(120), "not-there"];
    let archive = get(&served, &from, &all).await.unwrap();
    put(&served, &to, archive).await.unwrap();

    assert!(fs::read(to.join("dir/large")).unwrap() == large);
    assert!(to.join("dir/empty").is_dir());
    assert_eq!(fs::read(to.join(&deep)).unwrap(), b"deep");
    assert_eq!(
        fs::read_link(to.join("link")).unwrap(),
        Path::new("../elsewhere")
    );
    let tool = fs::metadata(to.join("tool")).unwrap();
    assert_eq!(tool.permissions().mode() & 0o777, 0o750);
    assert_eq!(tool.modified().unwrap(), time);
    let dir = fs::metadata(to.join("dir")).unwrap();
    assert_eq!(dir.modified().unwrap(), time);
    assert!(!to.join("not-there").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn unpacked_files_replace_existing_ones_only() {
    let served = Served::start();
    let to = served.path("to");
    fs::create_dir_all(to.join("keep")).unwrap();
    fs::write(to.join("victim"), "untouched").unwrap();
    symlink("victim", to.join("file")).unwrap();
    symlink("keep", to.join("dir")).unwrap();
    let mut builder = Builder::new(Vec::new());
    add(&mut builder, EntryType::Regular, "file", "", b"new");
    add(&mut builder, EntryType::Directory, "dir/", "", b"");
    add(
        &mut builder,
        EntryType::Regular,
        "dir/inside",
        "",
        b"inside",
    );
    add(&mut builder, EntryType::Link, "again", "file", b"");
    put(&served, &to, builder.into_inner().unwrap())
        .await
        .unwrap();
    assert_eq!(fs::read(to.join("victim")).unwrap(), b"untouched");
    assert_eq!(fs::read(to.join("file")).unwrap(), b"new");
    assert_eq!(fs::read(to.join("dir/inside")).unwrap(), b"inside");
    assert_eq!(fs::read_dir(to.join("keep")).unwrap().count(), 0);
    assert_eq!(fs::metadata(to.join("again")).unwrap().nlink(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn unsafe_archive_is_refused() {
    use EntryType::{Block, Char, Fifo, Link, Regular, Symlink};
    let served = Served::start();
    let outside = served.path("outside");
    fs::create_dir(&outside).unwrap();
    let outside_text = outside.display().to_string();
    let check = async |entries: &[(EntryType, &str, &str)], why: &str| {
        let to = served.path("to");
        let mut builder = Builder::new(Vec::new());
        for (kind, name, link) in entries {
            let text: &[u8] = if *kind == Regular { b"evil" } else { b"" };
            add(&mut builder, *kind, name, link, text);
        }
        let error = put(&served, &to, builder.into_inner().unwrap())
            .await
            .unwrap_err()
            .chain();
        assert!(error.contains(why), "{error}");
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    };
    check(&[(Regular, "../outside/a", "")], "leads out").await;
    check(&[(Regular, "a/../../outside/a", "")], "leads out").await;
    let absolute = format!("{outside_text}/a");
    check(&[(Regular, &absolute, "")], "absolute").await;
    let through = [(Symlink, "l", &*outside_text), (Regular, "l/a", "")];
    check(&through, "create l/a").await;
    let through = [(Symlink, "m", "../outside"), (Symlink, "m/n", "x")];
    check(&through, "create the link m/n").await;
    check(&[(Link, "a", "../outside/x")], "leads out").await;
    check(&[(Link, "a", &absolute)], "absolute").await;
    check(&[(Char, "null", "")], "is a device").await;
    check(&[(Block, "sda", "")], "is a device").await;
    check(&[(Fifo, "pipe", "")], "is a pipe").await;
    check(
        &[(Symlink, "nowhere", "")],
        "is a link without a valid target",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_or_truncated_archive_is_an_error() {
    let served = Served::start();
    let to = served.path("to");
    let mut builder = Builder::new(Vec::new());
    let large = vec![7; 300_000];
    builder
        .append_data(
            &mut header(EntryType::Regular, large.len()),
            "large",
            &large[..],
        )
        .unwrap();
    let mut archive = builder.into_inner().unwrap();
    archive.truncate(200_000);
    let error = put(&served, &to, archive).await.unwrap_err().chain();
    assert!(error.contains("read the archive"), "{error}");
    let error = put(&served, &to, vec![b'x'; 5_000])
        .await
        .unwrap_err()
        .chain();
    assert!(error.contains("read the archive"), "{error}");
    let error = put(&served, Path::new("relative"), Vec::new())
        .await
        .unwrap_err();
    let config = FailureReason::RunnerConfigurationError;
    assert_eq!(error.failure_reason(), config, "{error}");
    // An empty archive has no entries.
    put(&served, &served.path("new"), Vec::new()).await.unwrap();
    assert!(served.path("new").is_dir());
}

/// Returns some bytes, and then fails or stalls.
struct Broken {
    left: usize,
    fails: bool,
}

impl tokio::io::AsyncRead for Broken {
    fn poll_read(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
        buffer: &mut tokio::io::ReadBuf<'_>,
    ) -> std::task::Poll<io::Result<()>> {
        let count = self.left.min(buffer.remaining());
        if count == 0 && self.fails {
            return std::task::Poll::Ready(Err(io::Error::other("the disk is gone")));
        }
        if count == 0 {
            return std::task::Poll::Pending;
        }
        buffer.put_slice(&vec![0; count]);
        self.left -= count;
        std::task::Poll::Ready(Ok(()))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn unreadable_archive_is_reported_and_a_stalled_one_can_be_stopped() {
    let served = Served::start();
    let files = served.client().files();
    let to = served.path("to").display().to_string();
    let never = Cancellation::new();
    let broken = |fails| Box::new(Broken { left: 100, fails });
    let error = files.put(&to, broken(true), &never).await.unwrap_err();
    assert_eq!(error.chain(), "steps: read the archive: the disk is gone");
    let stop = Cancellation::new();
    let (put, ()) = tokio::join!(files.put(&to, broken(false), &stop), async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        stop.cancel(CancelCause::User);
    });
    let error = put.unwrap_err();
    assert!(
        matches!(error, BuildError::Canceled(CancelCause::User)),
        "{error:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn files_outside_the_directory_are_not_packed() {
    let served = Served::start();
    let from = served.path("from");
    fs::create_dir_all(from.join("real")).unwrap();
    fs::write(from.join("real/file"), "f").unwrap();
    fs::write(served.path("secret"), "s").unwrap();
    symlink("..", from.join("up")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, from.join("pipe"), rustix::fs::Mode::RWXU).unwrap();
    let archive = get(&served, &from, &["."]).await.unwrap();
    assert_eq!(names(&archive), ["real/", "real/file", "up"]);
    let archive = get(&served, &from, &["up/secret", "real"]).await.unwrap();
    assert_eq!(names(&archive), ["real/", "real/file"]);
    let error = get(&served, &from, &["../secret"]).await.unwrap_err();
    assert!(
        executor_core::chain(&error).contains("leads out"),
        "{error:?}"
    );
    let error = get(&served, &served.path("nothing"), &["a"])
        .await
        .unwrap_err();
    assert!(
        executor_core::chain(&error).contains("nothing"),
        "{error:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn chown_of_a_tree_follows_no_link() {
    let served = Served::start();
    let (tree, other) = (served.path("tree"), served.path("other"));
    fs::create_dir_all(tree.join("a/b")).unwrap();
    fs::write(tree.join("a/b/file"), "f").unwrap();
    fs::write(&other, "o").unwrap();
    symlink(&other, tree.join("link")).unwrap();
    let is_root = fs::metadata(&other).unwrap().uid() == 0;
    let before = fs::metadata(&other).unwrap();
    // Without root, only the own user is permitted.
    let (uid, gid) = if is_root {
        (4321, 1234)
    } else {
        (before.uid(), before.gid())
    };
    let client = served.client();
    let path = tree.display().to_string();
    client.own(&path, uid, gid).await.unwrap();
    for path in ["", "a", "a/b", "a/b/file", "link"] {
        let found = fs::symlink_metadata(tree.join(path)).unwrap();
        assert_eq!((found.uid(), found.gid()), (uid, gid), "{path}");
    }
    let after = fs::metadata(&other).unwrap();
    assert_eq!((after.uid(), after.gid()), (before.uid(), before.gid()));
    // The owner of a link itself is changed.
    client.own(&format!("{path}/link"), uid, gid).await.unwrap();
    assert_eq!(fs::metadata(&other).unwrap().uid(), before.uid());
    let error = client.own(&format!("{path}/gone"), uid, gid).await;
    assert!(error.unwrap_err().to_string().contains("gone"));
}

#[tokio::test(flavor = "multi_thread")]
async fn unread_stream_ends() {
    let served = Served::start();
    let from = served.path("from");
    fs::create_dir(&from).unwrap();
    fs::File::create(from.join("large"))
        .unwrap()
        .set_len(1 << 30)
        .unwrap();
    let client = served.client();
    let files = client.files();
    let (path, never) = (from.display().to_string(), Cancellation::new());
    let paths = ["large".to_owned()];
    let mut stream = files.get(&path, &paths, &never).await.unwrap();
    let mut some = [0; 4096];
    stream.read_exact(&mut some).await.unwrap();
    drop(stream);
    // The connection can be used by other calls.
    assert!(client.hello(&never).await.is_ok());
    assert!(some.windows(5).any(|name| name == b"large"));
}
