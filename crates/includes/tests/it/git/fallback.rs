use super::asker::{OneRoute, http_route, ssh_route, words};
use gitlab_api::{Accounts, Instance, Token, TokenKind};
use gitlab_testkit::{GitLab, Sshd};
use includes::{
    Answer, GitRoute, GitServers, Library, LibraryChain, LibraryError, ProjectAddress, Question,
    Servers,
};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use web::{Limits, Reach, Web, WebOptions};

/// A user of one GitLab, with a token or without.
#[derive(Debug)]
struct User {
    instance: Instance,
    token: Option<&'static str>,
}

impl Accounts for User {
    fn own(&self) -> Option<Instance> {
        Some(self.instance.clone())
    }

    fn instance(&self, _: &str) -> Option<Instance> {
        self.own()
    }

    fn token(&self, _: &Instance) -> Option<Token> {
        let value = self.token?;
        Some(Token {
            kind: TokenKind::Access,
            value: value.into(),
            found: "GITLAB_TOKEN".to_owned(),
        })
    }

    fn places(&self, _: &Instance) -> Vec<String> {
        Vec::new()
    }
}

struct Asking {
    home: tempfile::TempDir,
    library: LibraryChain<Servers, GitServers>,
    instance: Instance,
}

impl Asking {
    fn new(
        gitlab: &GitLab,
        token: Option<&'static str>,
        route: Option<GitRoute>,
        ssh: &str,
    ) -> Self {
        let home = tempfile::tempdir().expect("a directory");
        let instance = Instance::parse(&gitlab.url()).expect("an address");
        let options = WebOptions {
            reach: Reach {
                named: HashSet::from([instance.origin().clone()]),
                ..Reach::default()
            },
            // Requests are counted, so none is to be late.
            limits: Limits {
                deadline: Duration::from_mins(1),
                overall: Duration::from_mins(4),
                ..Limits::default()
            },
            ..WebOptions::default()
        };
        let user = User {
            instance: instance.clone(),
            token,
        };
        let servers = Servers::new(Web::new(options).expect("a client"), Arc::new(user));
        let git = GitServers::new(Arc::new(OneRoute(route)), home.path().join("git"));
        let path = std::env::var("PATH").unwrap_or_default();
        let home_path = home.path().display().to_string();
        let git = git.with_environment([
            ("PATH", path.as_str()),
            ("HOME", &home_path),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_SSH_COMMAND", ssh),
        ]);
        Self {
            home,
            library: LibraryChain::new(servers, git),
            instance,
        }
    }

    fn project(&self, path: &str) -> ProjectAddress {
        ProjectAddress {
            instance: self.instance.clone(),
            path: path.to_owned(),
        }
    }

    async fn commit(&self, path: &str, name: &str) -> Result<String, LibraryError> {
        let question = Question::Commit {
            project: self.project(path),
            reference: Some(name.to_owned()),
        };
        self.ask(&question).await
    }

    async fn ask(&self, question: &Question) -> Result<String, LibraryError> {
        match self.library.ask(question, None).await? {
            Answer::Body { bytes, .. } => Ok(String::from_utf8_lossy(&bytes).into_owned()),
            other => Ok(format!("{other:?}")),
        }
    }
}

#[tokio::test]
async fn hidden_project_is_read_with_git_and_then_only_with_git() {
    // R-GLCI-150
    let gitlab = GitLab::start();
    let sha = gitlab.project("g/p").private().commit(&[("a.yml", "a")]);
    let sshd = Sshd::start(&gitlab);
    let user = Asking::new(&gitlab, None, Some(ssh_route(&sshd)), &sshd.command());
    assert_eq!(user.commit("g/p", "main").await.as_ref(), Ok(&sha));
    let asked = gitlab.total();
    assert!(asked > 0, "the API is asked first");
    let file = Question::File {
        project: user.project("g/p"),
        sha: sha.clone(),
        path: "a.yml".to_owned(),
    };
    assert_eq!(user.ask(&file).await.as_deref(), Ok("a"));
    assert_eq!(gitlab.total(), asked, "the API is not asked again");
}

#[tokio::test]
async fn visible_project_is_not_read_with_git() {
    let gitlab = GitLab::start();
    let public = gitlab.project("g/public").commit(&[("a.yml", "a")]);
    let private = gitlab
        .project("g/private")
        .private()
        .commit(&[("a.yml", "a")]);
    gitlab.token("glpat-x", &["read_api"]);
    let sshd = Sshd::start(&gitlab);
    let user = Asking::new(
        &gitlab,
        Some("glpat-x"),
        Some(ssh_route(&sshd)),
        &sshd.command(),
    );
    assert_eq!(user.commit("g/public", "main").await.as_ref(), Ok(&public));
    assert_eq!(
        user.commit("g/private", "main").await.as_ref(),
        Ok(&private)
    );
    let unknown = user.commit("g/private", "none").await;
    assert_eq!(unknown, Err(LibraryError::NoReference("none".to_owned())));
    assert_eq!(sshd.connections(), 0);
}

#[tokio::test]
async fn error_shows_both_attempts() {
    let gitlab = GitLab::start();
    gitlab.project("g/p").private().commit(&[("a.yml", "a")]);
    let port = gitlab.address().port();
    let user = Asking::new(
        &gitlab,
        Some("glpat-wrong"),
        Some(http_route(&gitlab)),
        "ssh",
    );
    let said = words(user.commit("g/p", "main").await, port);
    assert!(said.starts_with("Denied: "), "{said}");
    assert!(said.contains("GITLAB_TOKEN"), "{said}");
    assert!(
        said.contains("; http://127.0.0.1:PORT asks Git for a name"),
        "{said}"
    );
    assert!(!said.contains("glpat-wrong"), "{said}");
    // Without a route, what the API says stands alone.
    let user = Asking::new(&gitlab, Some("glpat-wrong"), None, "ssh");
    let said = words(user.commit("g/p", "main").await, port);
    assert!(
        said.contains("GITLAB_TOKEN") && !said.contains("Git for a name"),
        "{said}"
    );
    assert!(!user.home.path().join("git").exists());
}
