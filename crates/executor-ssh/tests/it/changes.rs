//! Files that the host has from an earlier job.

use crate::support::fault_proxy::FaultProxy;
use crate::support::run::{Opened, config, open};
use crate::support::sshd::{Sshd, ends_soon};
use executor_core::prelude::*;
use executor_ssh::EngineChoice;
use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};
use tokio::io::AsyncReadExt;

const ENGINES: [EngineChoice; 2] = [EngineChoice::Agent, EngineChoice::Shell];
/// A file that does not compress, much larger than what a job sends otherwise.
const LARGE: usize = 2_000_000;

/// Writes a file with a time in the past.
fn write(root: &Path, name: &str, content: &[u8]) {
    let path = root.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, content).unwrap();
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    File::options()
        .write(true)
        .open(path)
        .unwrap()
        .set_modified(time)
        .unwrap();
}

/// Returns all entries below a directory: name, kind and permissions, time, content.
fn listed(root: &Path) -> Vec<(String, u32, i64, Vec<u8>)> {
    let mut found = Vec::new();
    let mut open = vec![root.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let metadata = fs::symlink_metadata(&path).unwrap();
            let content = if metadata.is_dir() {
                open.push(path.clone());
                Vec::new()
            } else if metadata.is_symlink() {
                fs::read_link(&path)
                    .unwrap()
                    .into_os_string()
                    .into_encoded_bytes()
            } else {
                fs::read(&path).unwrap()
            };
            let name = path.strip_prefix(root).unwrap().display().to_string();
            // The time of a link is not kept by every tar.
            let time = if metadata.is_symlink() {
                0
            } else {
                metadata.mtime()
            };
            found.push((name, metadata.mode(), time, content));
        }
    }
    found.sort();
    found
}

fn archive_of(tree: &Path) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    archive.follow_symlinks(false);
    archive.append_dir_all("", tree).unwrap();
    archive.into_inner().unwrap()
}

fn project(job: &Opened) -> String {
    format!("{}/project", job.environment.workspace.dirs().builds_dir)
}

async fn put(job: &Opened, archive: Vec<u8>) {
    let transfer = job.executor.abilities().file_transfer.unwrap();
    let archive = Box::new(std::io::Cursor::new(archive));
    let (project, cancellation) = (project(job), Cancellation::new());
    let put = transfer.put(&project, archive, &cancellation).await;
    put.unwrap();
}

/// Sends a tree to a new job, checks that the job has exactly that, and returns how many bytes went to the host.
async fn sent(server: &Sshd, proxy: &FaultProxy, engine: EngineChoice, tree: &Path) -> u64 {
    let mut job = open(config(server, proxy.port, engine)).await.unwrap();
    let before = proxy.sent();
    put(&job, archive_of(tree)).await;
    let bytes = proxy.sent() - before;
    let project = project(&job);
    assert_eq!(listed(Path::new(&project)), listed(tree), "{engine:?}");
    let transfer = job.executor.abilities().file_transfer.unwrap();
    let (paths, never) = (["src/unchanged".to_owned()], Cancellation::new());
    let mut fetched = transfer.get(&project, &paths, &never).await.unwrap();
    let mut archive = Vec::new();
    fetched.read_to_end(&mut archive).await.unwrap();
    let fetched = tar::Archive::new(&*archive).entries().unwrap().count();
    assert_eq!(
        fetched,
        paths.iter().filter(|it| tree.join(it).exists()).count()
    );
    job.executor.cleanup().await.unwrap();
    server.wait_until_clean().await;
    bytes
}

/// Returns a file of the host that is kept.
fn kept(server: &Sshd, extension: &str) -> PathBuf {
    let files = fs::read_dir(server.home().join(".cache/runwright/files")).unwrap();
    let mut paths = files.map(|file| file.unwrap().path());
    let is_wanted = |path: &PathBuf| path.extension().is_some_and(|it| it == extension);
    paths.find(is_wanted).unwrap()
}

fn large() -> Vec<u8> {
    (0..LARGE).map(|it| (it * it).to_le_bytes()[1]).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn unchanged_files_are_sent_once() {
    let server = Sshd::start();
    let proxy = FaultProxy::start(server.port);
    // What the user's shell prints at its start is not a part of any transfer.
    let start_file = "seq 20000\nprintf '= no line'\n";
    fs::write(server.home().join(".bashrc"), start_file).unwrap();
    for engine in ENGINES {
        let directory = tempfile::tempdir().unwrap();
        let tree = directory.path();
        let _ = fs::remove_dir_all(server.home().join(".cache/runwright/files"));
        write(tree, "large", &large());
        write(tree, "src/unchanged", b"as it was");
        write(tree, "src/changed", b"old");
        write(tree, "src/mode", b"as it was");
        write(tree, "removed/inner", b"old");
        write(tree, "becomes-file/inner", b"old");
        write(tree, "becomes-directory", b"old");
        write(tree, "a b/*[x]?", b"a name like a pattern");
        write(tree, "a b/xx1", b"would match it");
        symlink("src/changed", tree.join("link")).unwrap();
        let first = sent(&server, &proxy, engine, tree).await;
        assert!(first > LARGE as u64, "{engine:?}: {first}");
        let again = sent(&server, &proxy, engine, tree).await;
        assert!(again < 50_000, "{engine:?}: {again}");

        write(tree, "src/changed", b"new");
        write(tree, "src/added", b"new");
        let executable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(tree.join("src/mode"), executable).unwrap();
        fs::remove_dir_all(tree.join("removed")).unwrap();
        fs::remove_dir_all(tree.join("becomes-file")).unwrap();
        write(tree, "becomes-file", b"new");
        fs::remove_file(tree.join("becomes-directory")).unwrap();
        write(tree, "becomes-directory/inner", b"new");
        fs::remove_file(tree.join("a b/*[x]?")).unwrap();
        fs::remove_file(tree.join("link")).unwrap();
        symlink("src", tree.join("link")).unwrap();
        let changed = sent(&server, &proxy, engine, tree).await;
        assert!(changed < 50_000, "{engine:?}: {changed}");

        // A damaged archive of the host is no obstacle.
        fs::write(kept(&server, "tar"), "damaged").unwrap();
        let whole = sent(&server, &proxy, engine, tree).await;
        assert!(whole > LARGE as u64, "{engine:?}: {whole}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn incomplete_index_is_replaced() {
    let server = Sshd::start();
    let proxy = FaultProxy::start(server.port);
    let directory = tempfile::tempdir().unwrap();
    let tree = directory.path();
    write(tree, "large", &large());
    for name in ["a", "b", "c", "d"] {
        write(tree, name, b"content");
    }
    sent(&server, &proxy, EngineChoice::Shell, tree).await;
    // Cut inside of a line, and after one.
    for extra in [1, 0] {
        let path = kept(&server, "index");
        let index = fs::read_to_string(&path).unwrap();
        let lines: Vec<_> = index.lines().collect();
        let is_small = |line: &&&str| !line.starts_with("= ") && !line.ends_with(" large");
        let missing = *lines.iter().rfind(is_small).unwrap();
        let start = index.find(missing).unwrap();
        fs::write(path, &index[..start + extra]).unwrap();
        let name = missing.rsplit(' ').next().unwrap();
        fs::remove_file(tree.join(name)).unwrap();
        let whole = sent(&server, &proxy, EngineChoice::Shell, tree).await;
        assert!(whole > LARGE as u64, "{extra}: {whole}");
        let again = sent(&server, &proxy, EngineChoice::Shell, tree).await;
        assert!(again < 50_000, "{extra}: {again}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn names_are_left_out_exactly() {
    let server = Sshd::start();
    let proxy = FaultProxy::start(server.port);
    let directory = tempfile::tempdir().unwrap();
    let tree = directory.path();
    write(tree, "large", &large());
    write(tree, "name", b"stays");
    write(tree, "name ", b"removed");
    sent(&server, &proxy, EngineChoice::Shell, tree).await;
    fs::remove_file(tree.join("name ")).unwrap();
    sent(&server, &proxy, EngineChoice::Shell, tree).await;

    // The second archive lacks the directory's own entry.
    for directories in [&["directory"][..], &[]] {
        let mut archive = tar::Builder::new(Vec::new());
        for directory in directories {
            archive.append_dir(directory, tree).unwrap();
        }
        for name in ["directory/large", "directory/small"] {
            let path = tree.join(if name.ends_with("large") {
                "large"
            } else {
                "name"
            });
            archive.append_path_with_name(path, name).unwrap();
        }
        let mut job = open(config(&server, proxy.port, EngineChoice::Shell))
            .await
            .unwrap();
        let before = proxy.sent();
        put(&job, archive.into_inner().unwrap()).await;
        let bytes = proxy.sent() - before;
        assert_eq!(bytes < 50_000, directories.is_empty(), "{bytes}");
        let inner = Path::new(&project(&job)).join("directory");
        assert_eq!(fs::read(inner.join("small")).unwrap(), b"stays");
        assert_eq!(fs::read(inner.join("large")).unwrap(), large());
        job.executor.cleanup().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn broken_transfer_changes_no_file_later() {
    let server = Sshd::with_held_tar();
    let proxy = FaultProxy::start(server.port);
    let directory = tempfile::tempdir().unwrap();
    let tree = directory.path();
    write(tree, "large", &large());
    let (hold, pid_file) = (server.path("hold"), server.path("held"));
    for engine in ENGINES {
        sent(&server, &proxy, engine, tree).await;
        fs::write(&hold, "").unwrap();
        let mut job = open(config(&server, proxy.port, engine)).await.unwrap();
        let ((), pid) = tokio::join!(put(&job, archive_of(tree)), async {
            let end = Instant::now() + Duration::from_mins(1);
            while !pid_file.exists() {
                assert!(Instant::now() < end, "no transfer of changes begins");
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            server.kill_sessions();
            fs::read_to_string(&pid_file).unwrap().trim().to_owned()
        });
        assert!(ends_soon(&pid).await, "{engine:?}");
        assert_eq!(
            listed(Path::new(&project(&job))),
            listed(tree),
            "{engine:?}"
        );
        job.executor.cleanup().await.unwrap();
        fs::remove_file(&hold).unwrap();
        fs::remove_file(&pid_file).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_the_host_does_not_keep_are_sent_once() {
    if std::env::var_os(fail_point::VARIABLE).is_none() {
        #[expect(clippy::disallowed_methods, reason = "the same test with a fail point")]
        let mut command = Command::new(std::env::current_exe().unwrap());
        let status = command
            .args([
                "--exact",
                "changes::files_that_the_host_does_not_keep_are_sent_once",
            ])
            .env(
                fail_point::VARIABLE,
                "error at executor_ssh::changes::store",
            )
            .status();
        assert!(status.unwrap().success());
        return;
    }
    let server = Sshd::start();
    let proxy = FaultProxy::start(server.port);
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), "large", &large());
    for engine in ENGINES {
        let bytes = sent(&server, &proxy, engine, directory.path()).await;
        assert!(bytes < 2 * LARGE as u64, "{engine:?}: {bytes}");
    }
}
