//! The client's requests, and how it reads the responses.

use crate::client::{TOKEN, client, gitlab, stranger, with_token};
use gitlab_api::{Fresh, LintRequest, TokenKind};
use gitlab_testkit::{GitLab, Variable};
use serde_json::json;

fn new<T: std::fmt::Debug>(fresh: Fresh<T>) -> T {
    match fresh {
        Fresh::New { value, .. } => value,
        Fresh::Unchanged => panic!("nothing was known before"),
    }
}

#[tokio::test]
async fn project_is_found_below_a_path() {
    let gitlab = GitLab::setup().below("/git/lab").start();
    let templates = gitlab.project("group/sub/templates");
    templates.commit(&[("a.yml", "a: b")]);
    let client = stranger(&gitlab);
    let project = client
        .project("group/sub/templates")
        .await
        .expect("a project");
    assert_eq!(project.path_with_namespace, "group/sub/templates");
    assert_eq!(project.default_branch.as_deref(), Some("main"));
    let path = "/git/lab/api/v4/projects/group%2Fsub%2Ftemplates";
    let paths: Vec<String> = gitlab.requests().into_iter().map(|it| it.path).collect();
    assert_eq!(paths, [path]);
}

#[tokio::test]
async fn commit_is_found_by_branch_tag_id_and_default() {
    let gitlab = gitlab(&["read_api"]);
    let project = gitlab.project("g/p").private();
    let first = project.commit(&[("a", "1")]);
    project.tag("v1");
    project.branch("feature/a%2F#+é&");
    let second = project.commit(&[("a", "2")]);
    let client = with_token(&gitlab);
    let check = async |reference, expect: &str| {
        let commit = client.commit("g/p", reference, None).await;
        assert_eq!(new(commit.expect("a commit")).id, expect, "{reference:?}");
    };
    check(None, &second).await;
    check(Some("main"), &second).await;
    check(Some("v1"), &first).await;
    check(Some("feature/a%2F#+é&"), &first).await;
    check(Some(&first), &first).await;
}

#[tokio::test]
async fn branch_reports_its_protection() {
    let gitlab = gitlab(&["read_api"]);
    let project = gitlab.project("g/p");
    let sha = project.commit(&[("a", "1")]);
    project.branch("feature/x");
    let client = with_token(&gitlab);
    let main = client.branch("g/p", "main").await.expect("a branch");
    assert_eq!((main.protected, main.commit.id), (true, sha.clone()));
    let other = client.branch("g/p", "feature/x").await.expect("a branch");
    assert_eq!((other.protected, other.commit.id), (false, sha));
}

#[tokio::test]
async fn files_of_any_name_are_read() {
    let names = [
        "a.yml",
        "a b/c+d.yml",
        "ä/ö.yml",
        "100%/%2F.yml",
        "a?b#c&d=e.yml",
        "a\\b",
        "..a/b..",
    ];
    let gitlab = GitLab::start();
    let project = gitlab.project("g/p");
    let files = names.map(|name| (name, format!("# {name}")));
    let sha = project.commit(&files);
    let client = stranger(&gitlab);
    for name in names {
        let bytes = new(client.file("g/p", &sha, name, None).await.expect("a file"));
        assert_eq!(&*bytes, format!("# {name}").as_bytes(), "{name}");
    }
}

#[tokio::test]
async fn unchanged_things_are_not_sent_again() {
    let gitlab = GitLab::start();
    let project = gitlab.project("g/p");
    let sha = project.commit(&[("a", "1")]);
    let client = stranger(&gitlab);
    let file = client.file("g/p", &sha, "a", None).await.expect("a file");
    let Fresh::New {
        etag: Some(etag), ..
    } = file
    else {
        panic!("there is a name for it: {file:?}");
    };
    let again = client.file("g/p", &sha, "a", Some(&etag)).await;
    assert_eq!(again.expect("an answer"), Fresh::Unchanged);
    let sent = gitlab.requests().pop().expect("a request");
    assert_eq!(sent.header("if-none-match"), Some(&*etag));
    assert_eq!(sent.status, Some(304));

    let commit = client
        .commit("g/p", Some("main"), None)
        .await
        .expect("a commit");
    let Fresh::New {
        etag: Some(etag), ..
    } = commit
    else {
        panic!("there is a name for it: {commit:?}");
    };
    let again = client.commit("g/p", Some("main"), Some(&etag)).await;
    assert_eq!(again.expect("an answer"), Fresh::Unchanged);
    let moved = project.commit(&[("a", "2")]);
    let again = client.commit("g/p", Some("main"), Some(&etag)).await;
    assert_eq!(new(again.expect("an answer")).id, moved);
}

#[tokio::test]
async fn lint_requests_all_jobs_without_a_dry_run() {
    // R-GLCI-167
    let gitlab = gitlab(&["api"]);
    let project = gitlab.project("g/p").lint(json!({
        "valid": true, "errors": [], "warnings": ["w"], "merged_yaml": "---\na:\n  script: b\n",
        "includes": [], "jobs": [{"name": "a", "stage": "test", "script": ["b"], "needs": null}],
    }));
    let client = with_token(&gitlab);
    let answer = client
        .ci_lint("g/p", &LintRequest::new("a: {script: b}"))
        .await;
    let answer = answer.expect("an answer");
    assert!(answer.valid);
    assert_eq!(
        answer.merged_yaml.as_deref(),
        Some("---\na:\n  script: b\n")
    );
    assert_eq!(answer.jobs[0].script, ["b"]);
    let sent = gitlab.requests().pop().expect("a request");
    assert_eq!(
        (&*sent.method, sent.path.clone()),
        ("POST", project.api("/ci/lint"))
    );
    assert_eq!(
        sent.json(),
        json!({"content": "a: {script: b}", "dry_run": false, "include_jobs": true}),
    );
    assert_eq!(sent.token().as_deref(), Some(TOKEN));
}

#[tokio::test]
async fn variables_are_listed_by_owner() {
    let gitlab = GitLab::start();
    gitlab.token(TOKEN, &["read_api"]).admin();
    gitlab
        .project("g/p")
        .variable(Variable::new("A", "1").scope("review/*").protected())
        .variable(Variable::new("B", "2").hidden());
    gitlab.group("g").variable(Variable::new("C", "3").file());
    gitlab.variable(Variable::new("D", "4").raw());
    let client = with_token(&gitlab);
    let shown = |list: Result<Vec<gitlab_api::Variable>, _>| {
        let list = list.expect("variables").into_iter();
        list.map(|it| (it.key, it.value.map(|it| it.expose().to_owned())))
            .collect::<Vec<_>>()
    };
    let some = |key: &str, value: &str| (key.to_owned(), Some(value.to_owned()));
    let own = shown(client.project_variables("g/p").await);
    assert_eq!(own, [some("A", "1"), ("B".to_owned(), None)]);
    assert_eq!(shown(client.group_variables("g").await), [some("C", "3")]);
    assert_eq!(shown(client.instance_variables().await), [some("D", "4")]);
}

#[tokio::test]
async fn token_and_its_user_are_reported() {
    let gitlab = gitlab(&["read_api", "read_user"]);
    let client = with_token(&gitlab);
    let token = client.token_info().await.expect("a token");
    assert_eq!(token.scopes, ["read_api", "read_user"]);
    assert!(token.active && !token.revoked);
    assert!(!client.user().await.expect("a user").username.is_empty());
    assert!(
        !client
            .version()
            .await
            .expect("a version")
            .version
            .is_empty()
    );
}

#[tokio::test]
async fn templates_are_read() {
    let gitlab = GitLab::start();
    gitlab.template("Bash", "build: {script: make}");
    let text = stranger(&gitlab).template("Bash").await;
    assert_eq!(text.expect("a template"), "build: {script: make}");
}

#[tokio::test]
async fn each_kind_of_token_has_its_header() {
    let gitlab = gitlab(&["read_api"]);
    gitlab.oauth_token(TOKEN, &["read_api"]);
    gitlab.job_token(TOKEN);
    gitlab.project("g/p").commit(&[("a", "1")]);
    let check = async |kind, header: &str, value: &str| {
        let tags = client(&gitlab, Some(kind), &[]).tags("g/p", None).await;
        assert!(tags.is_ok(), "{kind:?} {tags:?}");
        let sent = gitlab.requests().pop().expect("a request");
        assert_eq!(sent.header(header), Some(value));
    };
    check(TokenKind::Access, "private-token", TOKEN).await;
    check(TokenKind::OAuth, "authorization", "Bearer glpat-s3cret").await;
    check(TokenKind::Job, "job-token", TOKEN).await;
}
