//! A real OpenSSH server on a loopback port.

use rustix::process::{Pid, Signal, kill_process};
use std::fs::{self, File};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The password of root for servers that take one. It holds inside of the server's own mount namespace only.
pub(crate) const PASSWORD: &str = "correct horse";

/// A server, its keys, and a home directory for its users.
pub(crate) struct Sshd {
    child: Child,
    pub(crate) port: u16,
    directory: TempDir,
}

impl Sshd {
    /// Starts a server with its defaults.
    pub(crate) fn start() -> Self {
        Self::with("")
    }

    /// Starts a server with more lines of configuration.
    pub(crate) fn with(lines: &str) -> Self {
        Self::launch(lines, "exec \"$@\"")
    }

    /// Starts a server that takes the password of root.
    pub(crate) fn with_password() -> Self {
        let hash = "$(perl -e 'print crypt($ARGV[0], q($6$salt$))' 'correct horse')";
        let inside = format!(
            "sed \"s|^root:[^:]*:|root:{hash}:|\" /etc/shadow >\"$HOME/shadow\" &&\n\
             mount --bind \"$HOME/shadow\" /etc/shadow && exec \"$@\""
        );
        Self::launch("PasswordAuthentication yes\nPermitRootLogin yes\n", &inside)
    }

    /// Starts a server whose users have a home directory in memory, with these options of its mount.
    pub(crate) fn with_home(options: &str) -> Self {
        let mount = format!("mount -t tmpfs -o {options} none \"$HOME/home\" && exec \"$@\"");
        Self::launch("", &mount)
    }

    /// Starts a server whose `tar`, where it leaves out names, writes its process to the file `held` and waits as long as there
    /// is a file `hold`.
    pub(crate) fn with_held_tar() -> Self {
        let before = r#"program=$(command -v tar) && cp "$program" "$HOME/tar-program" && cat >"$HOME/tar" <<'END' &&
#!/bin/sh
case " $* " in
*" -X "*)
  if [ -e "$HOME/../hold" ]; then
    echo $$ >"$HOME/../held.new" && mv "$HOME/../held.new" "$HOME/../held"
  fi
  while [ -e "$HOME/../hold" ]; do sleep 0.02; done
  ;;
esac
exec "$HOME/../tar-program" "$@"
END
chmod 755 "$HOME/tar" && mount --bind "$HOME/tar" "$program" && exec "$@""#;
        Self::launch("", before)
    }

    fn launch(lines: &str, before: &str) -> Self {
        let mut log = String::new();
        for _ in 0..3 {
            let mut server = Self::launch_once(lines, before);
            if server.listens() {
                return server;
            }
            log = server.log();
        }
        panic!("sshd does not listen: {log}");
    }

    fn launch_once(lines: &str, before: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::create_dir(at("home")).unwrap();
        fs::create_dir(at("tmp")).unwrap();
        for (name, kind) in [("host", "ed25519"), ("host-rsa", "rsa"), ("key", "ed25519")] {
            keygen(&["-q", "-t", kind, "-N", "", "-f"], &at(name));
        }
        fs::copy(at("key.pub"), at("authorized")).unwrap();
        let port = free_port();
        let shown = directory.path().display();
        // The first value of a keyword counts.
        let config = format!(
            "{lines}ListenAddress 127.0.0.1:{port}\nHostKey {shown}/host\nHostKey {shown}/host-rsa\n\
             AuthorizedKeysFile {shown}/authorized\nStrictModes no\nUsePAM no\nPidFile none\n\
             PasswordAuthentication no\nSetEnv HOME={shown}/home TMPDIR={shown}/tmp\n"
        );
        fs::write(at("config"), config).unwrap();
        fs::create_dir_all("/run/sshd").unwrap();
        let log = File::create(at("log")).unwrap();
        #[expect(clippy::disallowed_methods, reason = "a server of the test")]
        let mut command = Command::new("unshare");
        command
            .args([
                "--mount",
                "sh",
                "-c",
                before,
                "sh",
                "/usr/sbin/sshd",
                "-D",
                "-e",
                "-f",
            ])
            .arg(at("config"))
            .env("HOME", directory.path())
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .process_group(0);
        let child = command.spawn().unwrap();
        Self {
            child,
            port,
            directory,
        }
    }

    /// Waits until it listens. Returns false if it does not, as when another process has taken its port.
    fn listens(&mut self) -> bool {
        let end = Instant::now() + Duration::from_secs(20);
        while !self.log().contains("Server listening") {
            if Instant::now() > end || self.child.try_wait().unwrap().is_some() {
                return false;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        true
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.path("log")).unwrap()
    }

    /// Returns a file beside the server's configuration.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Returns the home directory of its users.
    pub(crate) fn home(&self) -> PathBuf {
        self.path("home")
    }

    /// Returns a path of the server, through its mounts, as a path of the test.
    pub(crate) fn seen(&self, path: &Path) -> PathBuf {
        let root = PathBuf::from(format!("/proc/{}/root", self.child.id()));
        root.join(path.strip_prefix("/").unwrap())
    }

    /// Returns the key that it accepts.
    pub(crate) fn key(&self) -> PathBuf {
        self.path("key")
    }

    /// Returns a line for `known_hosts` with its key, for a server at this port.
    pub(crate) fn known(&self, port: u16) -> String {
        let key = fs::read_to_string(self.path("host.pub")).unwrap();
        format!("[127.0.0.1]:{port} {key}")
    }

    /// Returns the directories of jobs that are left, parts of files that are kept, and the processes that know one of them.
    pub(crate) fn left(&self) -> Vec<String> {
        let jobs = self.home().join(".cache/runwright/jobs");
        let entries = fs::read_dir(self.seen(&jobs)).into_iter().flatten();
        let mut left: Vec<_> = entries
            .map(|entry| entry.unwrap().path().display().to_string())
            .collect();
        let kept = self.home().join(".cache/runwright/files");
        for entry in fs::read_dir(self.seen(&kept)).into_iter().flatten() {
            let path = entry.unwrap().path();
            if !path
                .extension()
                .is_some_and(|it| it == "tar" || it == "index")
            {
                left.push(path.display().to_string());
            }
        }
        for entry in fs::read_dir("/proc").unwrap() {
            let command = fs::read(entry.unwrap().path().join("cmdline")).unwrap_or_default();
            let command = String::from_utf8_lossy(&command).replace('\0', " ");
            if command.contains(jobs.to_str().unwrap()) {
                left.push(command);
            }
        }
        left
    }

    /// Waits until nothing of jobs is left.
    pub(crate) async fn wait_until_clean(&self) {
        let end = Instant::now() + Duration::from_mins(1);
        while !self.left().is_empty() {
            assert!(Instant::now() < end, "{:?}", self.left());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Ends all sessions; the server itself goes on.
    pub(crate) fn kill_sessions(&self) {
        self.signal_sessions(Signal::KILL);
    }

    /// Stops all sessions, so that the system answers and the server does not.
    pub(crate) fn freeze_sessions(&self) {
        self.signal_sessions(Signal::STOP);
    }

    fn signal_sessions(&self, signal: Signal) {
        for entry in fs::read_dir("/proc").unwrap() {
            let path = entry.unwrap().path();
            let Ok(stat) = fs::read_to_string(path.join("stat")) else {
                continue;
            };
            let parent = stat
                .rsplit_once(')')
                .and_then(|it| it.1.split_whitespace().nth(1));
            if parent == Some(&self.child.id().to_string()) {
                let pid = path.file_name().unwrap().to_str().unwrap().parse().unwrap();
                send(pid, signal);
            }
        }
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        // The number of one that has ended may be that of another process.
        if let Ok(None) = self.child.try_wait() {
            self.kill_sessions();
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Kills a process that the test started.
pub(crate) fn kill(pid: i32) {
    send(pid, Signal::KILL);
}

fn send(pid: i32, signal: Signal) {
    let _ = kill_process(Pid::from_raw(pid).unwrap(), signal);
}

pub(crate) fn keygen(arguments: &[&str], file: &Path) {
    #[expect(clippy::disallowed_methods, reason = "makes a key for the test")]
    let status = Command::new("ssh-keygen")
        .args(arguments)
        .arg(file)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status();
    assert!(status.unwrap().success());
}

pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.local_addr().unwrap().port()
}

/// Waits for the end of a process, and returns whether it comes: one that was killed may run a little longer.
pub(crate) async fn ends_soon(pid: &str) -> bool {
    let end = Instant::now() + Duration::from_secs(20);
    while is_alive(pid) {
        if Instant::now() > end {
            return false;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    true
}

/// Returns whether a process is there and runs.
fn is_alive(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}
