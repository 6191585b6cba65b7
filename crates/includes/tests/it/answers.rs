//! Answers of servers, and where credentials are sent.

use gitlab_api::{Accounts, Instance, Token, TokenKind};
use gitlab_testkit::{Fault, GitLab, Page};
use includes::{Answer, Library, LibraryError, ProjectAddress, Question, Servers};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use web::{Origin, Url, Web, WebOptions};

const TOKEN: &str = "glpat-s3cret";

/// A user with one token for all GitLabs, or without one.
#[derive(Debug)]
struct User {
    has_token: bool,
    looked: AtomicUsize,
}

impl User {
    fn new(has_token: bool) -> Arc<Self> {
        Arc::new(Self {
            has_token,
            looked: AtomicUsize::new(0),
        })
    }
}

impl Accounts for User {
    fn own(&self) -> Option<Instance> {
        None
    }

    fn instance(&self, name: &str) -> Option<Instance> {
        Instance::parse(name).ok()
    }

    fn token(&self, _instance: &Instance) -> Option<Token> {
        self.looked.fetch_add(1, Ordering::Relaxed);
        self.has_token.then(|| Token {
            kind: TokenKind::Access,
            value: TOKEN.into(),
            found: "`GITLAB_TOKEN`".to_owned(),
        })
    }

    fn places(&self, _instance: &Instance) -> Vec<String> {
        vec!["`GITLAB_TOKEN`".to_owned()]
    }
}

/// Returns a GitLab that accepts the token.
fn gitlab() -> GitLab {
    let gitlab = GitLab::start();
    gitlab.token(TOKEN, &["read_api"]);
    gitlab
}

fn servers(gitlab: &GitLab, user: &Arc<User>) -> Servers {
    let mut options = WebOptions::default();
    // Requests are counted, so none may time out.
    options.limits.deadline = Duration::from_mins(1);
    options.limits.overall = Duration::from_mins(4);
    let url = Url::parse(&gitlab.url()).expect("an address");
    options.reach.named.extend(Origin::of(&url));
    let web = Web::new(options).expect("the options are valid");
    Servers::new(web, Arc::clone(user) as Arc<dyn Accounts>)
}

fn address(gitlab: &GitLab, path: &str) -> ProjectAddress {
    ProjectAddress {
        instance: Instance::parse(&gitlab.url()).expect("an address"),
        path: path.to_owned(),
    }
}

fn commit(project: &ProjectAddress, reference: Option<&str>) -> Question {
    Question::Commit {
        project: project.clone(),
        reference: reference.map(str::to_owned),
    }
}

fn file(project: &ProjectAddress, sha: &str, path: &str) -> Question {
    Question::File {
        project: project.clone(),
        sha: sha.to_owned(),
        path: path.to_owned(),
    }
}

fn page(url: &str) -> Question {
    Question::Page {
        url: Url::parse(url).expect("an address"),
        age: None,
    }
}

async fn text(servers: &Servers, question: &Question) -> String {
    match servers.ask(question, None).await {
        Ok(Answer::Body { bytes, .. }) => String::from_utf8(bytes.to_vec()).expect("a text"),
        other => panic!("{question:?}: {other:?}"),
    }
}

async fn refusal(servers: &Servers, question: &Question) -> LibraryError {
    let error = servers
        .ask(question, None)
        .await
        .expect_err("there is no answer");
    let shown = format!("{error} {error:?}");
    assert!(!shown.contains(TOKEN), "{shown}");
    error
}

#[tokio::test]
async fn private_project_is_read_with_its_gitlabs_token() {
    // R-GLCI-150
    let gitlab = gitlab();
    let project = gitlab.project("group/sub/ci").private();
    let first = project.commit(&[("a.yml", "a: 1"), ("ci/b c.yml", "b: 1")]);
    project.branch("stable/1");
    let second = project.commit(&[("a.yml", "a: 2")]);
    let user = User::new(true);
    let servers = servers(&gitlab, &user);
    let project = address(&gitlab, "group/sub/ci");
    assert_eq!(text(&servers, &commit(&project, None)).await, second);
    assert_eq!(
        text(&servers, &commit(&project, Some("stable/1"))).await,
        first
    );
    assert_eq!(
        text(&servers, &file(&project, &first, "a.yml")).await,
        "a: 1"
    );
    assert_eq!(
        text(&servers, &file(&project, &second, "a.yml")).await,
        "a: 2"
    );
    assert_eq!(
        text(&servers, &file(&project, &first, "ci/b c.yml")).await,
        "b: 1"
    );
    let sha = second;
    let tree = Question::Tree { project, sha };
    assert_eq!(text(&servers, &tree).await, "a.yml\nci/b c.yml\n");
    let tokens = gitlab.requests().into_iter().map(|it| it.token());
    assert!(tokens.into_iter().all(|it| it.as_deref() == Some(TOKEN)));
    assert_eq!(user.looked.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn all_pages_of_tags_are_read() {
    // R-GLCI-152
    let gitlab = gitlab();
    let project = gitlab.project("g/p");
    let sha = project.commit(&[("a.yml", "a: 1")]);
    project.tags(&(0..250).map(|it| format!("1.{it}.0")).collect::<Vec<_>>());
    project.annotated_tag("2.0.0");
    let servers = servers(&gitlab, &User::new(true));
    let tags = Question::Tags {
        project: address(&gitlab, "g/p"),
    };
    let lines = text(&servers, &tags).await;
    assert_eq!(lines.lines().count(), 251);
    assert!(lines.lines().any(|line| line == format!("{sha} 1.249.0")));
    assert!(lines.lines().any(|line| line == format!("{sha} 2.0.0")));
    assert_eq!(gitlab.count("GET", &project.api("/repository/tags")), 3);
    assert_eq!(gitlab.total(), 3);
}

#[tokio::test]
async fn unchanged_answers_are_recognized() {
    let gitlab = gitlab();
    let sha = gitlab.project("g/p").commit(&[("a.yml", "a: 1")]);
    gitlab.project("g/p").tag("1.0");
    let url = gitlab.page("/a.yml", "a: 1");
    let servers = servers(&gitlab, &User::new(true));
    let project = address(&gitlab, "g/p");
    let tags = Question::Tags {
        project: project.clone(),
    };
    let questions = [
        commit(&project, Some("main")),
        file(&project, &sha, "a.yml"),
        tags,
        page(&url),
    ];
    for question in questions {
        let answer = servers.ask(&question, None).await;
        let Ok(Answer::Body {
            etag: Some(etag), ..
        }) = answer
        else {
            panic!("{answer:?}");
        };
        let again = servers.ask(&question, Some(&etag)).await;
        assert_eq!(again, Ok(Answer::Unchanged), "{question:?}");
        let other = servers.ask(&question, Some("\"other\"")).await;
        assert!(matches!(other, Ok(Answer::Body { .. })), "{other:?}");
    }
}

#[tokio::test]
async fn page_is_requested_without_credentials() {
    let gitlab = gitlab();
    gitlab.project("g/p").commit(&[("a.yml", "a: 1")]);
    let servers = servers(&gitlab, &User::new(true));
    // An address of the GitLab itself, which was requested with its token before.
    text(&servers, &commit(&address(&gitlab, "g/p"), None)).await;
    gitlab.reset_count();
    let url = format!("{}/g/p/-/raw/main/a.yml", gitlab.url());
    assert_eq!(text(&servers, &page(&url)).await, "a: 1");
    assert_eq!(gitlab.requests()[0].token(), None);
}

#[tokio::test]
async fn missing_items_are_distinguished() {
    let gitlab = gitlab();
    let sha = gitlab.project("g/p").commit(&[("a.yml", "a: 1")]);
    let servers = servers(&gitlab, &User::new(true));
    let project = address(&gitlab, "g/p");
    let absent = servers.ask(&file(&project, &sha, "b.yml"), None).await;
    assert_eq!(absent, Ok(Answer::Absent));
    let absent = servers
        .ask(&page(&format!("{}/none.yml", gitlab.url())), None)
        .await;
    assert_eq!(absent, Ok(Answer::Absent));
    let error = refusal(&servers, &commit(&project, Some("v9"))).await;
    assert_eq!(error, LibraryError::NoReference("v9".to_owned()));
    let none = "0".repeat(40);
    let error = refusal(&servers, &file(&project, &none, "a.yml")).await;
    assert_eq!(error, LibraryError::NoReference(none));
    let error = refusal(&servers, &commit(&address(&gitlab, "g/none"), None)).await;
    assert!(matches!(error, LibraryError::NoProject { .. }), "{error:?}");
    let error = refusal(&servers, &file(&project, &sha, "../a.yml")).await;
    assert!(matches!(error, LibraryError::Refused { .. }), "{error:?}");
}

#[tokio::test]
async fn missing_token_error_lists_searched_sources() {
    let gitlab = gitlab();
    gitlab.project("g/p").private().commit(&[("a.yml", "a: 1")]);
    let servers = servers(&gitlab, &User::new(false));
    let error = refusal(&servers, &commit(&address(&gitlab, "g/p"), None)).await;
    assert!(matches!(error, LibraryError::NoProject { .. }), "{error:?}");
    assert!(error.to_string().contains("there is no token"), "{error}");
    let help = error.help().expect("there is help");
    assert!(help.ends_with("searched: `GITLAB_TOKEN`"), "{help}");
}

#[tokio::test]
async fn refused_token_is_named_by_its_source() {
    let gitlab = GitLab::start();
    gitlab.token(TOKEN, &["read_api"]).expire();
    gitlab.project("g/p").commit(&[("a.yml", "a: 1")]);
    let servers = servers(&gitlab, &User::new(true));
    let error = refusal(&servers, &commit(&address(&gitlab, "g/p"), None)).await;
    assert!(matches!(error, LibraryError::Denied { .. }), "{error:?}");
    let words = "refuses the token from `GITLAB_TOKEN`: it has expired";
    assert!(error.to_string().ends_with(words), "{error}");
}

#[tokio::test]
async fn sign_in_page_is_not_a_file() {
    let gitlab = gitlab();
    gitlab.project("g/p").private().commit(&[("a.yml", "a: 1")]);
    let servers = servers(&gitlab, &User::new(true));
    let check = async |url: &str| {
        let error = refusal(&servers, &page(url)).await;
        assert!(matches!(error, LibraryError::Denied { .. }), "{error:?}");
        let help = error.help().unwrap_or_default();
        assert!(help.contains("`include: project`"), "{help}");
    };
    check(&format!("{}/g/p/-/raw/main/a.yml", gitlab.url())).await;
    let html = Page::new("<!DOCTYPE html>").header("content-type", "text/html");
    check(&gitlab.page("/html.yml", html)).await;
    check(&gitlab.page("/401.yml", Page::new("no").status(401))).await;
}

#[tokio::test]
async fn server_failure_is_temporary() {
    let gitlab = gitlab();
    let project = gitlab.project("g/p");
    project.commit(&[("a.yml", "a: 1")]);
    let url = gitlab.page("/a.yml", "a: 1");
    let servers = servers(&gitlab, &User::new(true));
    gitlab.always("/a.yml", Fault::Status(503));
    gitlab.always(&project.api("*"), Fault::Status(503));
    for question in [page(&url), commit(&address(&gitlab, "g/p"), None)] {
        let error = refusal(&servers, &question).await;
        assert!(matches!(error, LibraryError::Unavailable(_)), "{error:?}");
    }
    gitlab.repair();
    assert_eq!(text(&servers, &page(&url)).await, "a: 1");
}
