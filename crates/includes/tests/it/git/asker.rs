use gitlab_api::Instance;
use gitlab_testkit::{GitLab, Sshd};
use includes::{
    Answer, GitRoute, GitRoutes, GitServers, Library, LibraryError, ProjectAddress, Question,
};
use process::{CaptureLimits, Command, NeverStop, Settings, Supervisor};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A user with their own home directory and one route for Git.
#[derive(Debug)]
pub(super) struct Asker {
    pub(super) home: tempfile::TempDir,
    pub(super) library: GitServers,
    instance: Instance,
}

/// One route to all GitLabs, or none.
#[derive(Debug)]
pub(super) struct OneRoute(pub(super) Option<GitRoute>);

impl GitRoutes for OneRoute {
    fn route(&self, _: &Instance) -> Option<GitRoute> {
        self.0.clone()
    }
}

impl Asker {
    /// Returns a user with this route; `more` is in their environment.
    pub(super) fn on(route: Option<GitRoute>, more: &[(&str, &str)]) -> Self {
        let home = tempfile::tempdir().expect("a directory");
        let library = Self::library(home.path(), route, more);
        Self {
            home,
            library,
            instance: Instance::parse("gitlab.example.com").expect("an address"),
        }
    }

    fn library(home: &Path, route: Option<GitRoute>, more: &[(&str, &str)]) -> GitServers {
        let path = std::env::var("PATH").unwrap_or_default();
        let mut variables = vec![
            ("PATH".to_owned(), path),
            ("HOME".to_owned(), home.display().to_string()),
            ("GIT_CONFIG_NOSYSTEM".to_owned(), "1".to_owned()),
        ];
        let more = more.iter();
        variables.extend(more.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        GitServers::new(Arc::new(OneRoute(route)), home.join("cache/git"))
            .with_environment(variables)
    }

    /// Returns a user who comes over SSH, with the key that is let in.
    pub(super) fn over_ssh(sshd: &Sshd) -> Self {
        Self::on(
            Some(ssh_route(sshd)),
            &[("GIT_SSH_COMMAND", &sshd.command())],
        )
    }

    /// Returns a user who comes over HTTP.
    pub(super) fn over_http(gitlab: &GitLab) -> Self {
        Self::on(Some(http_route(gitlab)), &[])
    }

    /// Writes a file of the user's.
    pub(super) fn write(&self, name: &str, mode: u32, text: &str) -> PathBuf {
        let path = self.home.path().join(name);
        fs::write(&path, text).expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("set");
        path
    }

    /// Writes a program that records that it was asked for a password, and then hangs.
    /// Returns settings of Git that name it, and the record's path.
    pub(super) fn write_asking(&self) -> (String, PathBuf) {
        let note = self.home.path().join("asked");
        let script = format!(
            "#!/bin/sh\necho asked >>'{}'\nexec sleep 100\n",
            note.display()
        );
        let program = self.write("ask", 0o700, &script);
        let settings = format!("[core]\n\taskPass = {}\n", program.display());
        (settings, note)
    }

    pub(super) fn project(&self, path: &str) -> ProjectAddress {
        ProjectAddress {
            instance: self.instance.clone(),
            path: path.to_owned(),
        }
    }

    pub(super) async fn ask(&self, question: Question) -> Result<String, LibraryError> {
        match self.library.ask(&question, None).await? {
            Answer::Body { bytes, .. } => Ok(String::from_utf8_lossy(&bytes).into_owned()),
            Answer::Absent => Ok("absent".to_owned()),
            Answer::Unchanged => Ok("unchanged".to_owned()),
        }
    }

    pub(super) async fn commit(&self, project: &str, name: &str) -> Result<String, LibraryError> {
        let project = self.project(project);
        let reference = (name != "HEAD").then(|| name.to_owned());
        self.ask(Question::Commit { project, reference }).await
    }

    pub(super) async fn tags(&self, project: &str) -> Result<String, LibraryError> {
        let project = self.project(project);
        self.ask(Question::Tags { project }).await
    }

    pub(super) async fn file(
        &self,
        project: &str,
        sha: &str,
        path: &str,
    ) -> Result<String, LibraryError> {
        let (project, sha, path) = (self.project(project), sha.to_owned(), path.to_owned());
        self.ask(Question::File { project, sha, path }).await
    }

    pub(super) async fn tree(&self, project: &str, sha: &str) -> Result<String, LibraryError> {
        let (project, sha) = (self.project(project), sha.to_owned());
        self.ask(Question::Tree { project, sha }).await
    }
}

pub(super) fn ssh_route(sshd: &Sshd) -> GitRoute {
    GitRoute::Ssh {
        user: "git".to_owned(),
        host: sshd.address().ip().to_string(),
        port: Some(sshd.address().port()),
    }
}

pub(super) fn http_route(gitlab: &GitLab) -> GitRoute {
    GitRoute::Http {
        instance: Instance::parse(&gitlab.url()).expect("an address"),
        authority: gitlab.authority().map(Path::to_owned),
        login: None,
    }
}

/// Returns an error and its help, with the port replaced.
pub(super) fn words<T: std::fmt::Debug>(answer: Result<T, LibraryError>, port: u16) -> String {
    let error = answer.expect_err("refused");
    let kind = format!("{error:?}");
    let kind = kind.split([' ', '(']).next().unwrap_or_default();
    let help = error.help().unwrap_or("-");
    format!("{kind}: {error} ({help})").replace(&port.to_string(), "PORT")
}

/// Runs a program to its end.
pub(super) async fn run(program: &str, args: &[&str]) {
    let supervisor = Supervisor::start(Settings::default()).expect("processes can be started");
    let path = std::env::var("PATH").unwrap_or_default();
    let command = Command::new(program)
        .args(args.iter().copied())
        .env("PATH", path);
    let tree = supervisor.tree();
    let ran = tree
        .output(&command, &CaptureLimits::default(), &NeverStop)
        .await;
    assert!(ran.expect("it runs").outcome.success());
    tree.close().await.expect("nothing is left");
    supervisor.shutdown().await.expect("nothing is left");
}
