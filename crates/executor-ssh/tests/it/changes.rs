//! Files that the host has from an earlier job.

use crate::support::fault_proxy::FaultProxy;
use crate::support::run::{Opened, config, open};
use crate::support::sshd::Sshd;
use executor_core::prelude::*;
use executor_ssh::EngineChoice;
use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::time::{Duration, SystemTime};

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

/// Sends a tree to a new job, checks that the job has exactly that, and returns how many bytes went to the host.
async fn sent(server: &Sshd, proxy: &FaultProxy, engine: EngineChoice, tree: &Path) -> u64 {
    let mut job: Opened = open(config(server, proxy.port, engine)).await.unwrap();
    let mut archive = tar::Builder::new(Vec::new());
    archive.follow_symlinks(false);
    archive.append_dir_all("", tree).unwrap();
    let archive = archive.into_inner().unwrap();
    let project = format!("{}/project", job.environment.workspace.dirs().builds_dir);
    let transfer = job.executor.abilities().file_transfer.unwrap();
    let before = proxy.sent();
    let archive = Box::new(std::io::Cursor::new(archive));
    transfer
        .put(&project, archive, &Cancellation::new())
        .await
        .unwrap();
    let bytes = proxy.sent() - before;
    assert_eq!(listed(Path::new(&project)), listed(tree), "{engine:?}");
    job.executor.cleanup().await.unwrap();
    bytes
}

#[tokio::test(flavor = "multi_thread")]
async fn unchanged_files_are_sent_once() {
    let server = Sshd::start();
    let proxy = FaultProxy::start(server.port);
    let large: Vec<u8> = (0..LARGE).map(|it| (it * it).to_le_bytes()[1]).collect();
    for engine in ENGINES {
        let directory = tempfile::tempdir().unwrap();
        let tree = directory.path();
        let _ = fs::remove_dir_all(server.home().join(".cache/runwright/files"));
        write(tree, "large", &large);
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
        for file in fs::read_dir(server.home().join(".cache/runwright/files")).unwrap() {
            let path = file.unwrap().path();
            if path.extension().is_some_and(|it| it == "tar") {
                fs::write(path, "damaged").unwrap();
            }
        }
        let whole = sent(&server, &proxy, engine, tree).await;
        assert!(whole > LARGE as u64, "{engine:?}: {whole}");
    }
}
