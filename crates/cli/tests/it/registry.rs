//! A real registry for one test.

#![expect(clippy::disallowed_methods, reason = "a server of the test's own")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// A `docker-registry` open to every user of this machine, which is stopped on drop.
pub(crate) struct Registry {
    child: Child,
    /// The address and port of the registry.
    pub(crate) host: String,
    _directory: TempDir,
}

impl Registry {
    pub(crate) fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().display();
        let config = format!(
            "version: 0.1\nlog: {{level: info, accesslog: {{disabled: true}}}}\n\
             storage: {{filesystem: {{rootdirectory: {root}/data}}}}\n\
             http: {{addr: '127.0.0.1:0'}}\n"
        );
        let path = directory.path().join("config.yml");
        fs::write(&path, config).unwrap();
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
            digits.parse::<u16>().ok()
        });
        // Later output is read too, so that the registry never blocks on a full pipe.
        std::thread::spawn(move || log.for_each(drop));
        let port = port.expect("the registry says where it listens");
        Self {
            child,
            host: format!("127.0.0.1:{port}"),
            _directory: directory,
        }
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        // A registry that exited by itself fails the test anyway.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
