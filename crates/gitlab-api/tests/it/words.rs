//! Messages about requests that GitLab refuses.

use crate::client::{TOKEN, client, gitlab, stranger, with_token};
use gitlab_api::{ApiError, Thing, TokenKind, TokenMatter};
use gitlab_testkit::{GitLab, Role};

/// Checks that an error shows no token.
fn is_silent(error: &ApiError) {
    for shown in [
        format!("{error}"),
        format!("{error:?}"),
        error.help().unwrap_or_default(),
    ] {
        assert!(!shown.contains(TOKEN), "{shown}");
    }
}

#[tokio::test]
async fn refused_token_is_reported_with_its_reason() {
    let check = async |prepare: &dyn Fn(&GitLab), expect, words: &str| {
        let gitlab = GitLab::start();
        prepare(&gitlab);
        gitlab.project("g/p").commit(&[("a", "1")]);
        let error = with_token(&gitlab).commit("g/p", None, None).await;
        let error = error.expect_err("the token is refused");
        is_silent(&error);
        let ApiError::Unauthorized { matter, .. } = &error else {
            panic!("{error}");
        };
        assert_eq!(*matter, expect);
        let start = format!(
            "{} refuses the token from `GITLAB_TOKEN`: {words}",
            gitlab.url()
        );
        assert_eq!(error.to_string(), start);
    };
    let words = "it is none of this GitLab's, or is no longer valid";
    check(&|_| {}, TokenMatter::Unsaid, words).await;
    let expire = |gitlab: &GitLab| drop(gitlab.token(TOKEN, &["api"]).expire());
    check(&expire, TokenMatter::Expired, "it has expired").await;
    let revoke = |gitlab: &GitLab| drop(gitlab.token(TOKEN, &["api"]).revoke());
    check(&revoke, TokenMatter::Revoked, "it was revoked").await;
}

#[tokio::test]
async fn missing_scope_is_named() {
    let gitlab = gitlab(&["read_user"]);
    gitlab.project("g/p").commit(&[("a", "1")]);
    let client = with_token(&gitlab);
    let error = client
        .tags("g/p", None)
        .await
        .expect_err("the scope is missing");
    is_silent(&error);
    assert!(
        error.to_string().contains("lacks the scope `read_api`"),
        "{error}"
    );
    let request = gitlab_api::LintRequest::new("a: {}");
    let error = client
        .ci_lint("g/p", &request)
        .await
        .expect_err("the scope is missing");
    assert!(
        error.to_string().contains("lacks the scope `api`"),
        "{error}"
    );
}

#[tokio::test]
async fn private_project_looks_missing() {
    let gitlab = GitLab::start();
    gitlab.token(TOKEN, &["read_api"]).only(&["other"]);
    gitlab.project("g/p").private().commit(&[("a", "1")]);
    let check = async |kind: Option<TokenKind>, project: &str, words: &str, help: &str| {
        let error = client(&gitlab, kind, &[]).project(project).await;
        let error = error.expect_err("it is hidden");
        is_silent(&error);
        let missing = matches!(
            &error,
            ApiError::NotFound {
                missing: Thing::Project,
                ..
            }
        );
        assert!(missing, "{error:?}");
        assert!(error.to_string().ends_with(words), "{error}");
        let said = error.help().unwrap_or_default();
        assert!(said.contains(help), "{said}");
    };
    let strangers = "hides it from strangers, and there is no token";
    check(
        None,
        "g/p",
        strangers,
        "searched: `GITLAB_TOKEN`; `~/.netrc`",
    )
    .await;
    check(None, "g/none", strangers, "`read_api`").await;
    let owner = "hides it from the owner of the token from `GITLAB_TOKEN`";
    check(Some(TokenKind::Access), "g/p", owner, "is a member").await;
}

#[tokio::test]
async fn missing_things_in_a_project_are_distinguished() {
    let gitlab = GitLab::start();
    let sha = gitlab.project("g/p").commit(&[("a", "1")]);
    let client = stranger(&gitlab);
    let check = |error: ApiError, expect| {
        let ApiError::NotFound { missing, .. } = &error else {
            panic!("{error}");
        };
        assert_eq!(*missing, expect, "{error}");
    };
    let none = "0".repeat(40);
    check(
        client
            .commit("g/p", Some("none"), None)
            .await
            .expect_err("none"),
        Thing::Reference,
    );
    check(
        client.branch("g/p", "none").await.expect_err("none"),
        Thing::Reference,
    );
    check(
        client
            .file("g/p", &sha, "none", None)
            .await
            .expect_err("none"),
        Thing::File,
    );
    check(
        client
            .file("g/p", &none, "a", None)
            .await
            .expect_err("none"),
        Thing::Reference,
    );
    check(
        client.commit("g/x", None, None).await.expect_err("none"),
        Thing::Project,
    );
    check(
        client.template("none").await.expect_err("none"),
        Thing::Other,
    );
}

#[tokio::test]
async fn required_role_for_variables_is_named() {
    let gitlab = GitLab::start();
    gitlab.token(TOKEN, &["read_api"]).role(Role::Developer);
    gitlab.project("g/p").commit(&[("a", "1")]);
    let client = with_token(&gitlab);
    let check = |error: ApiError, role: &str| {
        is_silent(&error);
        assert!(matches!(error, ApiError::Forbidden { .. }), "{error}");
        assert_eq!(error.help().unwrap_or_default(), format!("it takes {role}"));
    };
    let error = client.project_variables("g/p").await.expect_err("refused");
    check(error, "the role Maintainer in the project");
    let error = client.group_variables("g").await.expect_err("refused");
    check(error, "the role Owner in the group");
    let error = client.instance_variables().await.expect_err("refused");
    check(error, "to be an administrator");
}

#[tokio::test]
async fn invalid_name_is_not_requested() {
    let gitlab = GitLab::start();
    let client = stranger(&gitlab);
    let sha = "0".repeat(40);
    for path in ["../x", "a/../b", "", "/a", "a\nb"] {
        let error = client
            .file("g/p", &sha, path, None)
            .await
            .expect_err("refused");
        assert!(
            matches!(
                error,
                ApiError::Invalid {
                    what: Thing::File,
                    ..
                }
            ),
            "{error}"
        );
        let error = client.project(path).await.expect_err("refused");
        assert!(
            matches!(
                error,
                ApiError::Invalid {
                    what: Thing::Project,
                    ..
                }
            ),
            "{error}"
        );
    }
    let error = client
        .commit("g/p", Some(".."), None)
        .await
        .expect_err("refused");
    assert!(
        matches!(
            error,
            ApiError::Invalid {
                what: Thing::Reference,
                ..
            }
        ),
        "{error}"
    );
    assert_eq!(gitlab.total(), 0);
}
