//! A real registry, and a fake one with scripted responses.

use parking_lot::Mutex;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use tempfile::TempDir;

/// The user of a private registry.
pub(crate) const USER: &str = "user";
pub(crate) const PASSWORD: &str = "p~~~?>?~";
/// Their line of htpasswd.
const HTPASSWD: &str = "user:$2y$05$abcdefghijklmnopqrstuumUsf5gSTVC1QCWHknP2XGS90aBP003K\n";

/// A `docker-registry`, stopped on drop.
pub(crate) struct Registry {
    child: Child,
    pub(crate) host: String,
    directory: TempDir,
}

impl Registry {
    /// Starts a public one.
    pub(crate) fn start() -> Self {
        Self::with("", "", tempfile::tempdir().unwrap())
    }

    /// Starts a private one for [`USER`].
    pub(crate) fn start_private() -> Self {
        let auth = "auth: {htpasswd: {realm: test, path: ROOT/htpasswd}}\n";
        Self::with(auth, "", tempfile::tempdir().unwrap())
    }

    /// Starts a public one with TLS and a certificate of [`Registry::authority`].
    pub(crate) fn start_tls() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let authority = CertifiedIssuer::self_signed(params, key).unwrap();
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &authority).unwrap();
        for (name, pem) in [
            ("authority.pem", authority.pem()),
            ("certificate.pem", certificate.pem()),
            ("key.pem", key.serialize_pem()),
        ] {
            std::fs::write(directory.path().join(name), pem).unwrap();
        }
        let tls = ", tls: {certificate: ROOT/certificate.pem, key: ROOT/key.pem}";
        Self::with("", tls, directory)
    }

    /// Returns the file with the certificate of its authority.
    pub(crate) fn authority(&self) -> PathBuf {
        self.directory.path().join("authority.pem")
    }

    #[expect(clippy::disallowed_methods, reason = "a server of the test's own")]
    fn with(auth: &str, tls: &str, directory: TempDir) -> Self {
        let root = directory.path().to_string_lossy().into_owned();
        std::fs::write(directory.path().join("htpasswd"), HTPASSWD).unwrap();
        let config = format!(
            "version: 0.1\nlog: {{level: info, accesslog: {{disabled: true}}}}\n\
             storage: {{filesystem: {{rootdirectory: {root}/data}}}}\n\
             http: {{addr: '127.0.0.1:0'{}}}\n{}",
            tls.replace("ROOT", &root),
            auth.replace("ROOT", &root)
        );
        let path = directory.path().join("config.yml");
        std::fs::write(&path, config).unwrap();
        let mut child = Command::new("docker-registry")
            .arg("serve")
            .arg(path)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("docker-registry is installed: run the tests by `cargo xtask test`");
        let mut log = BufReader::new(child.stderr.take().unwrap()).lines();
        let host = log.find_map(|line| {
            let line = line.unwrap();
            let (_, rest) = line.split_once("listening on ")?;
            Some(rest.split([',', '"', ' ']).next()?.to_owned())
        });
        // Its later output is read too, so that it never blocks on a full pipe.
        std::thread::spawn(move || log.for_each(drop));
        Self {
            child,
            host: host.expect("the registry says where it listens"),
            directory,
        }
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        // A registry that crashed makes its test fail.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the text of a `DOCKER_AUTH_CONFIG`.
pub(crate) fn auth_config(host: &str, password: &str) -> String {
    let auth = serde_json::json!({ "username": USER, "password": password });
    serde_json::json!({ "auths": { host: auth } }).to_string()
}

/// A request that the fake received.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) authorization: Option<String>,
    pub(crate) body: String,
}

/// A response of the fake: a status, headers and a body.
pub(crate) type Answer = (u16, Vec<(&'static str, String)>, Vec<u8>);

/// A fake registry whose responses come from a function, one request per connection.
pub(crate) struct Fake {
    pub(crate) host: String,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Fake {
    pub(crate) fn start(answer: impl Fn(&Seen, &str) -> Answer + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (own, log) = (host.clone(), Arc::clone(&seen));
        // It ends with the test's process.
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                // A client may disconnect before its response.
                let _ = serve(&stream.unwrap(), &log, |seen| answer(seen, &own));
            }
        });
        Self { host, seen }
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().clone()
    }
}

fn serve(
    stream: &TcpStream,
    log: &Mutex<Vec<Seen>>,
    answer: impl Fn(&Seen) -> Answer,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        // The client disconnected before its request.
        return Ok(());
    }
    let mut words = line.split(' ');
    let mut seen = Seen {
        method: words.next().unwrap_or_default().to_owned(),
        path: words.next().unwrap_or_default().to_owned(),
        authorization: None,
        body: String::new(),
    };
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        match line.trim_end().split_once(": ") {
            Some((name, value)) if name.eq_ignore_ascii_case("authorization") => {
                seen.authorization = Some(value.to_owned());
            }
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.parse().unwrap();
            }
            Some(_) => {}
            None => break,
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    seen.body = String::from_utf8_lossy(&body).into_owned();
    let (status, headers, body) = answer(&seen);
    let is_head = seen.method == "HEAD";
    log.lock().push(seen);
    let mut head = format!(
        "HTTP/1.1 {status} x\r\nconnection: close\r\ncontent-length: {}\r\n",
        body.len()
    );
    for (name, value) in headers {
        head.push_str(&[name, ": ", &value, "\r\n"].concat());
    }
    let mut stream = stream;
    stream.write_all(format!("{head}\r\n").as_bytes())?;
    if !is_head {
        stream.write_all(&body)?;
    }
    Ok(())
}
