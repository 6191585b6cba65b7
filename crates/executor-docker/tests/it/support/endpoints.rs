//! Endpoints that lead to the engine of the tests: a port, a port with TLS, and an sshd.

use crate::support::{address, patient_options};
use executor_docker::engine::{Address, EngineOptions, TlsFiles};
use executor_docker::{DockerHost, Engine};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustix::process::{Pid, Signal, kill_process};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncWrite, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

/// Returns the socket of the engine of the tests, whichever transport they use.
pub(crate) fn socket() -> PathBuf {
    if let Some(path) = std::env::var_os("RUNWRIGHT_TEST_DOCKER_SOCKET") {
        return path.into();
    }
    match DockerHost::parse(&address()).unwrap().address {
        Address::Unix(path) => path,
        other => panic!("RUNWRIGHT_TEST_DOCKER_SOCKET does not say which socket {other} leads to"),
    }
}

/// A port that forwards to a socket, closed on drop.
pub(crate) struct Port {
    pub(crate) number: u16,
    _tasks: JoinSet<()>,
}

impl Port {
    pub(crate) fn plain() -> Self {
        Self::start(None, &socket())
    }

    pub(crate) fn tls(certificates: &Certificates) -> Self {
        Self::tls_to(certificates, &socket())
    }

    pub(crate) fn tls_to(certificates: &Certificates, socket: &Path) -> Self {
        Self::start(Some(certificates.acceptor()), socket)
    }

    fn start(tls: Option<TlsAcceptor>, socket: &Path) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let number = listener.local_addr().unwrap().port();
        let listener = TcpListener::from_std(listener).unwrap();
        let socket = socket.to_owned();
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                connections.spawn(serve(client, tls.clone(), socket.clone()));
            }
        });
        Self {
            number,
            _tasks: tasks,
        }
    }
}

async fn serve(client: TcpStream, tls: Option<TlsAcceptor>, socket: PathBuf) {
    match tls {
        None => join(client, &socket).await,
        Some(tls) => {
            // A failed handshake is what some tests expect.
            if let Ok(client) = tls.accept(client).await {
                join(client, &socket).await;
            }
        }
    }
}

async fn join(mut client: impl AsyncRead + AsyncWrite + Unpin, socket: &Path) {
    // A missing engine is what some tests expect.
    let Ok(mut engine) = UnixStream::connect(socket).await else {
        return;
    };
    // Both sides observe how a connection ends.
    let _ = copy_bidirectional(&mut client, &mut engine).await;
}

/// An authority with certificates for a server and a client, in the files that docker uses.
pub(crate) struct Certificates {
    path: PathBuf,
    _directory: Option<TempDir>,
}

impl Certificates {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: String| {
            std::fs::write(directory.path().join(name), text).unwrap();
        };
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        write("ca.pem", authority.pem());
        for (name, host) in [("server-", "127.0.0.1"), ("", "client")] {
            let key = KeyPair::generate().unwrap();
            let params = CertificateParams::new(vec![host.to_owned()]).unwrap();
            let certificate = params.signed_by(&key, &authority).unwrap();
            write(&format!("{name}cert.pem"), certificate.pem());
            write(&format!("{name}key.pem"), key.serialize_pem());
        }
        Self {
            path: directory.path().to_owned(),
            _directory: Some(directory),
        }
    }

    /// Returns the existing certificates in a directory.
    pub(crate) fn of(path: PathBuf) -> Self {
        Self {
            path,
            _directory: None,
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn files(&self, verify: bool) -> TlsFiles {
        TlsFiles {
            directory: Some(self.path().to_owned()),
            verify,
        }
    }

    fn acceptor(&self) -> TlsAcceptor {
        let certificates = |name: &str| -> Vec<CertificateDer<'static>> {
            let file = CertificateDer::pem_file_iter(self.path().join(name)).unwrap();
            file.collect::<Result<_, _>>().unwrap()
        };
        let mut roots = RootCertStore::empty();
        roots.add(certificates("ca.pem").remove(0)).unwrap();
        let provider = Arc::new(ring::default_provider());
        let roots = Arc::new(roots);
        let clients = WebPkiClientVerifier::builder_with_provider(roots, Arc::clone(&provider));
        let key = PrivateKeyDer::from_pem_file(self.path().join("server-key.pem")).unwrap();
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_client_cert_verifier(clients.build().unwrap())
            .with_single_cert(certificates("server-cert.pem"), key)
            .unwrap();
        TlsAcceptor::from(Arc::new(config))
    }
}

/// A real `sshd` with default limits, stopped on drop.
pub(crate) struct Sshd {
    directory: TempDir,
    pub(crate) port: u16,
    child: Child,
}

#[expect(clippy::disallowed_methods, reason = "a server of the test's own")]
impl Sshd {
    pub(crate) async fn start() -> Self {
        Self::with("").await
    }

    /// Starts an sshd with these additional lines in its settings.
    pub(crate) async fn with(settings: &str) -> Self {
        let mut log = String::new();
        for _ in 0..3 {
            let mut sshd = Self::launch(settings);
            if sshd.listens().await {
                return sshd;
            }
            log = sshd.log();
        }
        panic!("sshd ended: {log}");
    }

    fn launch(settings: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root_directory = directory.path();
        let root = root_directory.display();
        for name in ["host", "key"] {
            let made = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f"])
                .arg(root_directory.join(name))
                .status();
            assert!(made.expect("openssh-client is installed").success());
        }
        // An sshd cannot report a port that it chose itself.
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let host = std::fs::read_to_string(root_directory.join("host.pub")).unwrap();
        let known = format!("[127.0.0.1]:{port} {host}");
        std::fs::write(root_directory.join("known_hosts"), known).unwrap();
        let config = format!(
            "ListenAddress 127.0.0.1\nPort {port}\nHostKey {root}/host\n\
             AuthorizedKeysFile {root}/key.pub\nAuthenticationMethods publickey\n\
             PermitRootLogin yes\nStrictModes no\nUsePAM no\nUseDNS no\nPidFile none\n{settings}"
        );
        std::fs::write(root_directory.join("config"), config).unwrap();
        if rustix::process::geteuid().is_root() {
            std::fs::create_dir_all("/run/sshd").unwrap();
        }
        let program = ["/usr/sbin/sshd", "/usr/local/sbin/sshd"];
        let program = program
            .into_iter()
            .find(|program| Path::new(program).exists());
        let child = Command::new(program.expect("openssh-server is installed"))
            .arg("-D")
            .arg("-f")
            .arg(root_directory.join("config"))
            .arg("-E")
            .arg(root_directory.join("log"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self {
            directory,
            port,
            child,
        }
    }

    /// Waits until it listens. Returns false if it ended, as when another process has taken its port.
    async fn listens(&mut self) -> bool {
        let end = Instant::now() + Duration::from_mins(1);
        while !self.log().contains("Server listening") {
            if self.child.try_wait().unwrap().is_some() {
                return false;
            }
            assert!(Instant::now() < end, "sshd does not listen: {}", self.log());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        true
    }

    /// Returns the engine behind this sshd, and the options to log in.
    pub(crate) fn engine(&self, known_hosts: &str) -> (DockerHost, EngineOptions) {
        let root = self.directory.path().display();
        let ssh = format!(
            "ssh -F /dev/null -i {root}/key -o IdentitiesOnly=yes \
             -o StrictHostKeyChecking=yes -o UserKnownHostsFile={root}/{known_hosts}"
        );
        let mut options = patient_options();
        options.ssh = ssh.split(' ').map(str::to_owned).collect();
        let address = format!("ssh://127.0.0.1:{}{}", self.port, socket().display());
        (DockerHost::parse(&address).unwrap(), options)
    }

    /// Returns the number of logins.
    pub(crate) fn logins(&self) -> usize {
        self.log().matches("Accepted publickey").count()
    }

    /// Waits until the sshd has logged this.
    pub(crate) async fn wait_for_log(&self, what: &str) {
        let logged = async {
            while !self.log().contains(what) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let logged = tokio::time::timeout(Duration::from_mins(1), logged).await;
        logged.unwrap_or_else(|_| panic!("no {what:?} in {}", self.log()));
    }

    /// Ends all sessions.
    pub(crate) fn end_sessions(&self) {
        let id = self.child.id();
        let children = format!("/proc/{id}/task/{id}/children");
        for child in std::fs::read_to_string(children).unwrap().split(' ') {
            if let Some(child) = child.parse().ok().and_then(Pid::from_raw) {
                kill_process(child, Signal::KILL).unwrap();
            }
        }
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.directory.path().join("log")).unwrap_or_default()
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        // Sessions outlive the sshd.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Connects, and checks that bytes flow both ways over a hijacked connection, including the end of input.
pub(crate) async fn check_connection(host: &DockerHost, options: EngineOptions) -> Engine {
    use bollard::models::ContainerCreateBody;
    use bollard::models::ExecConfig;
    use bollard::query_parameters::RemoveContainerOptionsBuilder;
    use futures_util::StreamExt;
    use tokio::io::AsyncWriteExt;

    let engine = Engine::connect_with(host, options).await.unwrap();
    let api = engine.api();
    let words = |text: &[&str]| Some(text.iter().map(|word| (*word).to_owned()).collect());
    let body = ContainerCreateBody {
        image: Some("runwright-test/busybox:1".to_owned()),
        cmd: words(&["sleep", "60"]),
        ..ContainerCreateBody::default()
    };
    let container = api.create_container(None, body).await.unwrap().id;
    api.start_container(&container, None).await.unwrap();
    let exec = ExecConfig {
        attach_stdin: Some(true),
        attach_stdout: Some(true),
        cmd: words(&["sh", "-c", "cat; echo end"]),
        ..ExecConfig::default()
    };
    let exec = api.create_exec(&container, exec).await.unwrap().id;
    let started = api.start_exec(&exec, None).await.unwrap();
    let bollard::exec::StartExecResults::Attached {
        mut output,
        mut input,
    } = started
    else {
        panic!("it is attached");
    };
    let sent: Vec<u8> = (0..300_000)
        .map(|number: u32| b'a' + (number % 26) as u8)
        .collect();
    let write = async {
        input.write_all(&sent).await.unwrap();
        input.shutdown().await.unwrap();
    };
    let read = async {
        let mut received = Vec::new();
        while let Some(part) = output.next().await {
            received.extend_from_slice(&part.unwrap().into_bytes());
        }
        received
    };
    let ((), received) = tokio::join!(write, read);
    let options = RemoveContainerOptionsBuilder::default().force(true).build();
    api.remove_container(&container, Some(options))
        .await
        .unwrap();
    assert_eq!(received.len(), sent.len() + 4);
    assert!(received.starts_with(&sent) && received.ends_with(b"end\n"));
    engine
}
