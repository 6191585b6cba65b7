//! A registry for one test, and images in it.

use crate::support::engine;
use bollard::auth::DockerCredentials;
use bollard::query_parameters::{
    ImportImageOptionsBuilder, PushImageOptionsBuilder, RemoveImageOptionsBuilder,
    TagImageOptionsBuilder,
};
use executor_core::job::Credentials as JobCredentials;
use executor_docker::Engine;
use futures_util::TryStreamExt;
use sha2::{Digest, Sha256};
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// The user who may pull from a registry with `Auth::Password`.
pub(crate) const USER: &str = "user";
/// Its base64 contains characters that differ between the two alphabets.
pub(crate) const PASSWORD: &str = "p~~~?>?~";
/// The htpasswd line for both.
const HTPASSWD: &str = "user:$2y$05$abcdefghijklmnopqrstuumUsf5gSTVC1QCWHknP2XGS90aBP003K\n";

/// Who may use a registry.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Auth {
    Anonymous,
    Password,
}

/// A `docker-registry`, stopped on drop.
pub(crate) struct Registry {
    child: Child,
    pub(crate) port: u16,
    auth: Auth,
    _directory: TempDir,
}

impl Registry {
    #[expect(clippy::disallowed_methods, reason = "a server of the test's own")]
    pub(crate) fn start(auth: Auth) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().display();
        std::fs::write(directory.path().join("htpasswd"), HTPASSWD).unwrap();
        let auth_config = match auth {
            Auth::Anonymous => String::new(),
            Auth::Password => {
                format!("auth: {{htpasswd: {{realm: test, path: {root}/htpasswd}}}}\n")
            }
        };
        let config = format!(
            "version: 0.1\nlog: {{level: info, accesslog: {{disabled: true}}}}\n\
             storage: {{filesystem: {{rootdirectory: {root}/data}}}}\n\
             http: {{addr: '127.0.0.1:0'}}\n{auth_config}"
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
        let port = log.find_map(|line| {
            let line = line.unwrap();
            let (_, rest) = line.split_once("listening on 127.0.0.1:")?;
            let digits = rest.split(|letter: char| !letter.is_ascii_digit()).next()?;
            digits.parse().ok()
        });
        // Its later output is read too, so that it never blocks on a full pipe.
        std::thread::spawn(move || log.for_each(drop));
        Self {
            child,
            port: port.expect("the registry says where it listens"),
            auth,
            _directory: directory,
        }
    }

    /// Creates an image of this many random bytes and pushes it. The engine does not keep it.
    pub(crate) async fn push(&self, path: &str, bytes: usize, architecture: &str) -> String {
        let engine = engine().await;
        let name = format!("127.0.0.1:{}/{path}", self.port);
        let archive = bollard::body_full(archive(&format!("{name}:1"), bytes, architecture).into());
        let options = ImportImageOptionsBuilder::default().build();
        let loaded = engine.api().import_image(options, archive, None);
        loaded.try_collect::<Vec<_>>().await.unwrap();
        self.push_and_remove(&engine, &name).await
    }

    /// Pushes an image of the engine under another name.
    pub(crate) async fn push_copy(&self, of: &str, path: &str) {
        let engine = engine().await;
        let name = format!("127.0.0.1:{}/{path}", self.port);
        let tag = TagImageOptionsBuilder::default()
            .repo(&name)
            .tag("1")
            .build();
        engine.api().tag_image(of, Some(tag)).await.unwrap();
        self.push_and_remove(&engine, &name).await;
    }

    /// Pushes an image, removes it from the engine, and returns its digest.
    async fn push_and_remove(&self, engine: &Engine, name: &str) -> String {
        let login = (self.auth == Auth::Password).then(|| DockerCredentials {
            username: Some(USER.to_owned()),
            password: Some(PASSWORD.to_owned()),
            ..DockerCredentials::default()
        });
        let options = PushImageOptionsBuilder::default().tag("1").build();
        let pushed = engine.api().push_image(name, Some(options), login);
        let steps = pushed.try_collect::<Vec<_>>().await.unwrap();
        let digest = steps.iter().find_map(|step| {
            let (_, rest) = step.status.as_deref()?.split_once("digest: ")?;
            Some(rest.split(' ').next()?.to_owned())
        });
        remove(engine, &format!("{name}:1")).await;
        digest.expect("a push ends with the digest")
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        // A registry that ended by itself makes the tests fail.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns a document of credentials, in the format of `DOCKER_AUTH_CONFIG`.
pub(crate) fn document(registry: u16, password: &str) -> String {
    let auth = serde_json::json!({ "username": USER, "password": password });
    serde_json::json!({ "auths": { format!("127.0.0.1:{registry}/team"): auth } }).to_string()
}

/// Returns credentials in the format of a job's payload.
pub(crate) fn payload(registry: u16, password: &str) -> JobCredentials {
    JobCredentials {
        kind: "registry".to_owned(),
        url: format!("127.0.0.1:{registry}"),
        username: USER.to_owned(),
        password: password.into(),
    }
}

/// Returns an image in the format of `docker save`, with one file that no other image has.
fn archive(name: &str, bytes: usize, architecture: &str) -> Vec<u8> {
    let mut content = Vec::new();
    let random = std::fs::File::open("/dev/urandom").unwrap();
    let bytes = u64::try_from(bytes).unwrap();
    random.take(bytes).read_to_end(&mut content).unwrap();
    let layer = tar(&[("content", &content)]);
    let digest = Sha256::digest(&layer);
    let config = serde_json::json!({
        "architecture": architecture,
        "os": "linux",
        "config": {},
        "rootfs": { "type": "layers", "diff_ids": [format!("sha256:{digest:x}")] },
    });
    let manifest = serde_json::json!([
        { "Config": "config.json", "RepoTags": [name], "Layers": ["layer.tar"] },
    ]);
    tar(&[
        ("config.json", config.to_string().as_bytes()),
        ("layer.tar", &layer),
        ("manifest.json", manifest.to_string().as_bytes()),
    ])
}

fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    for (name, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len().try_into().unwrap());
        header.set_mode(0o644);
        tar.append_data(&mut header, name, *content).unwrap();
    }
    tar.into_inner().unwrap()
}

/// Removes an image if the engine has it.
pub(crate) async fn remove(engine: &Engine, name: &str) {
    let options = RemoveImageOptionsBuilder::default().force(true).build();
    // A missing image is not an error.
    let _ = engine.api().remove_image(name, Some(options), None).await;
}
