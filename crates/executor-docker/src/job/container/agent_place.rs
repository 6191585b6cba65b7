//! The agent's files in a container, and its socket on this host.

use crate::engine::labels::{Labels, Role};
use crate::error::DockerError;
use crate::job::files::tree::{Owner, Tree};
use bollard::models::{Mount, MountType, MountVolumeOptions};
use fail_point::fail_point;
use process::NewFile;
use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat};
use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use steps::agent::{ARGV_VARIABLE, Agent, proxy_command, serve_command};
use tokio::net::UnixStream;

/// The directory of all of them, in the container.
pub(crate) const PLACE: &str = "/.runwright";
/// The program, in the container.
const PROGRAM: &str = "/.runwright/agent";
/// The directory of its socket and its spool.
pub(crate) const DIRECTORY: &str = "/.runwright/run";

/// Returns the command of the container, whose agent ends after `orphan_grace` without a connection.
pub(crate) fn serve(orphan_grace: Option<Duration>) -> Vec<String> {
    serve_command(PROGRAM, DIRECTORY, orphan_grace)
}

/// Returns the command of the proxy to the agent.
pub(crate) fn proxy() -> Vec<String> {
    proxy_command(PROGRAM, DIRECTORY)
}

/// Returns the variable with the agent's arguments, in case an entry point drops them.
pub(crate) fn environment(orphan_grace: Option<Duration>) -> String {
    let words: Vec<_> = serve(orphan_grace).into_iter().skip(1).collect();
    format!("{ARGV_VARIABLE}={}", serde_json::json!(words))
}

/// Returns the mounts of the agent and of the directory `run` of this host.
pub(crate) fn mounts(agent: &Agent, root: &Path, run: &Path) -> Result<Vec<Mount>, DockerError> {
    let program = match agent.path() {
        Some(path) => path.to_owned(),
        None => unpacked(agent, root)?,
    };
    let made = fail_point!("executor_docker::agent_place::make_dir", make_open(run));
    made.map_err(|source| failed("make", run, source))?;
    Ok(vec![bind(&program, PROGRAM, true), run_mount(run)])
}

/// Returns the mount of the directory `run` of this host alone.
pub(crate) fn run_mount(run: &Path) -> Mount {
    bind(run, DIRECTORY, false)
}

fn bind(source: &Path, target: &str, read_only: bool) -> Mount {
    Mount {
        typ: Some(MountType::BIND),
        source: Some(source.to_string_lossy().into_owned()),
        target: Some(target.to_owned()),
        read_only: Some(read_only),
        ..Mount::default()
    }
}

/// Returns the mount of a volume for the agent's files: the container itself may be read-only.
pub(crate) fn volume(labels: &Labels) -> Mount {
    Mount {
        typ: Some(MountType::VOLUME),
        target: Some(PLACE.to_owned()),
        volume_options: Some(MountVolumeOptions {
            labels: Some(labels.for_role(Role::Volume)),
            ..MountVolumeOptions::default()
        }),
        ..Mount::default()
    }
}

/// Returns an archive for [`PLACE`] in a created container.
pub(crate) fn archive(agent: &Agent) -> Result<Vec<u8>, DockerError> {
    let bytes = agent.bytes();
    let bytes = bytes.map_err(|source| failed("read", Path::new(PROGRAM), source))?;
    let mut tree = Tree::new(Owner { uid: 0, gid: 0 });
    let below = |path: &'static str| path.trim_start_matches(PLACE).trim_start_matches('/');
    tree.only_directory(".", 0o755)?;
    tree.file(below(PROGRAM), 0o755, &bytes)?;
    // Writable for every user: the container has no others than the job's.
    tree.only_directory(below(DIRECTORY), 0o1777)?;
    tree.finish()
}

/// Creates a directory that every user of a container may write to. On this host, its parent is private.
fn make_open(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o1777))
}

/// Writes the agent embedded in this program to a file, which later jobs reuse.
fn unpacked(agent: &Agent, root: &Path) -> Result<PathBuf, DockerError> {
    let digest = agent.digest();
    let digest = digest.map_err(|source| failed("read", Path::new(PROGRAM), source))?;
    let path = root.join(format!(".agent-{digest}"));
    if path.is_file() {
        return Ok(path);
    }
    let write = || agent.bytes().and_then(|bytes| put(&bytes, &path));
    let written = fail_point!("executor_docker::agent_place::unpack", write());
    written.map_err(|source| failed("write", &path, source))?;
    Ok(path)
}

/// Writes a program. A rename publishes the complete file, because concurrent jobs may write it too.
fn put(bytes: &[u8], path: &Path) -> io::Result<()> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let partial = path.with_added_extension(format!("{}-{number}", std::process::id()));
    if let Some(root) = path.parent() {
        fs::create_dir_all(root)?;
    }
    let new = NewFile::write(partial, bytes, 0o700)?;
    new.set_mode(0o755)?;
    new.replace(path)
}

fn failed(doing: &str, path: &Path, source: io::Error) -> DockerError {
    DockerError::Broken {
        doing: format!("{doing} {}", path.display()),
        source: source.into(),
    }
}

/// Connects to a socket in a directory that a container may write to.
///
/// The container controls the directory, so links are not followed: one could lead to any socket of this host.
///
/// # Errors
///
/// When there is no socket, no listener, or no permission. An engine on another or a virtual machine may show the file
/// without its listener.
pub(crate) async fn connect(socket: &Path) -> io::Result<UnixStream> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(CWD, socket, flags, Mode::empty())?;
    if FileType::from_raw_mode(fstat(&file)?.st_mode) != FileType::Socket {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a socket"));
    }
    // The same file that was checked, whatever has its name by now; and a path that is never too long.
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    fail_point!(
        "executor_docker::agent_place::connect",
        UnixStream::connect(path).await
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    #[test]
    fn concurrent_jobs_find_a_complete_program() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("builds/.agent-0123");
        let program = vec![7; 4 << 20];
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    put(&program, &path).unwrap();
                    assert!(
                        fs::read(&path).unwrap() == program,
                        "the program is complete"
                    );
                });
            }
        });
        let entries = fs::read_dir(root.path().join("builds")).unwrap();
        assert_eq!(entries.count(), 1, "no partial file is left");
    }

    #[test]
    fn a_partial_program_is_removed() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("agent");
        fs::create_dir(&path).unwrap();
        assert!(put(b"program", &path).is_err());
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1);
    }

    #[tokio::test]
    async fn a_socket_with_a_long_path_is_reached() {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join("d".repeat(200));
        fs::create_dir(&directory).unwrap();
        let short = root.path().join("s");
        let listener = UnixListener::bind(&short).unwrap();
        let path = directory.join("agent.sock");
        fs::rename(&short, &path).unwrap();
        let mut stream = connect(&path).await.unwrap();
        let (other, _) = listener.accept().unwrap();
        other.set_nonblocking(true).unwrap();
        let mut other = UnixStream::from_std(other).unwrap();
        other.write_all(b"here").await.unwrap();
        let mut read = [0; 4];
        stream.read_exact(&mut read).await.unwrap();
        assert_eq!(&read, b"here");
    }

    #[tokio::test]
    async fn links_are_not_followed() {
        let root = tempfile::tempdir().unwrap();
        let precious = root.path().join("engine.sock");
        let _listener = UnixListener::bind(&precious).unwrap();
        let link = root.path().join("agent.sock");
        symlink(&precious, &link).unwrap();
        assert!(connect(&precious).await.is_ok());
        assert!(connect(&link).await.is_err());
        fs::remove_file(&link).unwrap();
        fs::write(&link, "no socket").unwrap();
        assert!(connect(&link).await.is_err());
    }
}
