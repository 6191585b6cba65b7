//! A real `ssh` and `sshd`, which runs the agent's proxy: no port is opened or forwarded.

use parking_lot::Mutex;
use std::fs;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use async_trait::async_trait;
use executor_core::ability::{Connection, StepsConnector};
use executor_core::{BuildError, Cancellation};
use process::Stream;
use steps::{RunId, RunSpec, StepsClient};
use tempfile::TempDir;
use tokio::net::unix::pipe::{Receiver, Sender};

use super::support::{Output, quick};
use crate::agent::support::Serving;

#[expect(
    clippy::disallowed_methods,
    reason = "the tests start the programs from outside"
)]
fn command(program: impl AsRef<std::ffi::OsStr>) -> Command {
    Command::new(program)
}

/// Keys and settings of a server that is started for each connection by the client's `ProxyCommand`.
#[derive(Debug)]
struct Host {
    folder: TempDir,
    sshd: PathBuf,
    user: String,
    socket: PathBuf,
    /// The clients, which end with the test.
    clients: Mutex<Vec<Child>>,
}

impl Host {
    fn new(socket: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().display().to_string();
        for name in ["host", "key"] {
            let made = command("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-C", "test", "-f"])
                .arg(folder.path().join(name))
                .status();
            assert!(made.unwrap().success());
        }
        let user = command("id").arg("-un").output().unwrap().stdout;
        let user = String::from_utf8(user).unwrap().trim().to_owned();
        let pam = if user == "root" { "no" } else { "yes" };
        let settings = format!(
            "HostKey {place}/host\nAuthorizedKeysFile {place}/key.pub\nAuthenticationMethods publickey\n\
             PermitRootLogin yes\nStrictModes no\nUsePAM {pam}\nUseDNS no\nPidFile none\n"
        );
        fs::write(folder.path().join("config"), settings).unwrap();
        if user == "root" {
            // As the init script does: the directory is empty, and `sshd` of root requires it.
            fs::create_dir_all("/run/sshd").unwrap();
        }
        let places = ["/usr/sbin", "/usr/local/sbin", "/usr/bin"];
        let sshd = places
            .map(|folder| Path::new(folder).join("sshd"))
            .into_iter()
            .find(|sshd| sshd.exists());
        Self {
            folder,
            sshd: sshd.expect("`sshd` is installed: Debian's package openssh-server"),
            user,
            socket: socket.to_owned(),
            clients: Mutex::default(),
        }
    }

    fn ssh(&self) -> Child {
        let place = self.folder.path().display();
        let server = format!("ProxyCommand={} -i -f {place}/config", self.sshd.display());
        let proxy = format!(
            "{} proxy --socket {}",
            env!("CARGO_BIN_EXE_runwright-agent"),
            self.socket.display()
        );
        command("ssh")
            .args(["-F", "/dev/null", "-l", &self.user, "-i"])
            .arg(self.folder.path().join("key"))
            .args(["-o", "BatchMode=yes", "-o", "IdentitiesOnly=yes"])
            .args(["-o", "StrictHostKeyChecking=no"])
            .args(["-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR"])
            .args(["-o", &server, "127.0.0.1", &proxy])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// Breaks all connections at once, like a network failure.
    fn cut(&self) -> usize {
        let mut clients = std::mem::take(&mut *self.clients.lock());
        for client in &mut clients {
            // It may have ended before.
            let _ = client.kill();
            client.wait().unwrap();
        }
        clients.len()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.cut();
    }
}

#[async_trait]
impl StepsConnector for Host {
    async fn connect(&self, _: &Cancellation) -> Result<Box<dyn Connection>, BuildError> {
        let mut client = self.ssh();
        let input = OwnedFd::from(client.stdin.take().unwrap());
        let output = OwnedFd::from(client.stdout.take().unwrap());
        self.clients.lock().push(client);
        let reader = Receiver::from_owned_fd(output).unwrap();
        let writer = Sender::from_owned_fd(input).unwrap();
        Ok(Box::new(tokio::io::join(reader, writer)))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn scripts_over_ssh_survive_a_cut() {
    // R-STEP-45
    let folder = tempfile::tempdir().unwrap();
    let agent = Serving::in_directory(folder.path());
    let host = Arc::new(Host::new(&agent.socket));
    let client = StepsClient::new(Arc::clone(&host) as _, quick());
    let info = client.hello(&Cancellation::new()).await.unwrap();
    assert_eq!(info.pid, agent.child.id());

    let work = folder.path().join("work");
    fs::create_dir(&work).unwrap();
    let script =
        "echo x >> started; seq 1 1000; until [ -e go ]; do sleep 0.01; done; seq 1001 30000";
    let run = RunSpec {
        working_dir: work.display().to_string(),
        ..RunSpec::script(RunId::new("1"), script)
    };
    let mut output = Output::default();
    let (mut seen, mut cuts) = (0, 0);
    let mut cutting = |_: Stream, bytes: &[u8]| {
        output.stdout.extend_from_slice(bytes);
        seen += bytes.len();
        if seen > 3_000 && cuts == 0 {
            cuts = host.cut();
            fs::write(work.join("go"), "").unwrap();
        }
    };
    let ended = client
        .execute(&run, &mut cutting, &Cancellation::new())
        .await;
    assert!(ended.unwrap().status.is_success());
    assert!(cuts > 0);
    let expect = (1..=30_000).map(|number| number.to_string());
    assert!(output.text().lines().eq(expect));
    assert_eq!(fs::read(work.join("started")).unwrap(), b"x\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn host_without_the_service_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let host = Host::new(&folder.path().join("nothing"));
    let mut options = quick();
    options.ready_within = std::time::Duration::from_millis(300);
    let client = StepsClient::new(Arc::new(host), options);
    let error = client.hello(&Cancellation::new()).await.unwrap_err();
    let text = error.to_string();
    assert!(text.contains("no step-runner service answers"), "{text}");
}
