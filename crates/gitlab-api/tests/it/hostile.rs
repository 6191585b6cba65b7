//! Servers that are broken, hostile, or not a GitLab.

use crate::client::{client, gitlab, stranger, with_token};
use gitlab_api::{ApiError, Fault as Wrong, TokenKind};
use gitlab_testkit::{Fault, GitLab, Page};
use web::WebError;

/// Returns a client's error when the request for tags meets this fault.
async fn tags(fault: Fault) -> ApiError {
    let gitlab = gitlab(&["read_api"]);
    let project = gitlab.project("g/p");
    gitlab.always(&project.api("/repository/tags"), fault);
    let tags = with_token(&gitlab).tags("g/p", None).await;
    tags.expect_err("this is no answer")
}

#[tokio::test]
async fn invalid_responses_are_errors() {
    let check = async |page: Page, expect: &str| {
        let error = tags(Fault::Page(page)).await;
        assert!(error.to_string().ends_with(expect), "{error}");
    };
    let nonsense = "as GitLab's API does: what cannot be read as its API's JSON";
    check(Page::new("{}"), nonsense).await;
    check(Page::new("[{}]"), nonsense).await;
    check(Page::new("[1,"), nonsense).await;
    check(Page::new(""), nonsense).await;
    check(Page::new("[".repeat(100_000)), nonsense).await;
    let tag = r#"[{"name": "1", "commit": {"id": "../../x"}}]"#;
    check(Page::new(tag), "a commit whose id is none").await;
    let html = Page::new("<html>").header("content-type", "text/html");
    check(
        html.clone(),
        "answers with a page, not as GitLab's API does",
    )
    .await;
    check(
        html.status(404),
        "answers with a page, not as GitLab's API does",
    )
    .await;
    check(
        Page::new("").status(304),
        "that nothing changed, which was not requested",
    )
    .await;
}

#[tokio::test]
async fn sign_in_page_is_reported() {
    let gitlab = gitlab(&["read_api"]);
    let project = gitlab.project("g/p");
    let to = format!("{}/users/sign_in", gitlab.url());
    gitlab.always(&project.api("*"), Fault::Redirect(to));
    let error = with_token(&gitlab)
        .project("g/p")
        .await
        .expect_err("no answer");
    let is_told = matches!(
        &error,
        ApiError::BadAnswer {
            fault: Wrong::SignIn,
            ..
        }
    );
    assert!(is_told, "{error}");
    assert!(error.help().unwrap_or_default().contains("SSO"));
}

#[tokio::test]
async fn redirect_to_another_server_carries_no_token() {
    let (gitlab, other) = (gitlab(&["read_api"]), GitLab::start());
    let project = gitlab.project("g/p").private();
    project.commit(&[("a", "1")]);
    other.project("g/p").commit(&[("a", "evil")]);
    let to = format!("{}/api/v4/projects/g%2Fp", other.url());
    gitlab.always(&project.api("*"), Fault::Redirect(to));
    let client = client(&gitlab, Some(TokenKind::Access), &[&other]);
    let error = client
        .project("g/p")
        .await
        .expect_err("the other is not asked");
    assert!(error.to_string().contains("redirects to"), "{error}");
    for request in other.requests() {
        assert_eq!(request.token(), None);
    }
}

#[tokio::test]
async fn moved_project_is_followed_with_the_token() {
    let gitlab = gitlab(&["read_api"]);
    gitlab.project("new/p").private().commit(&[("a", "1")]);
    let old = gitlab.project("old/p").api("");
    let to = format!("{}/api/v4/projects/new%2Fp", gitlab.url());
    gitlab.always(&old, Fault::Redirect(to));
    let project = with_token(&gitlab).project("old/p").await;
    assert_eq!(project.expect("a project").path_with_namespace, "new/p");
}

#[tokio::test]
async fn failing_server_is_retried() {
    let gitlab = GitLab::start();
    let project = gitlab.project("g/p");
    project.commit(&[("a", "1")]);
    gitlab.next_times(&project.api(""), 2, Fault::Status(502));
    stranger(&gitlab)
        .project("g/p")
        .await
        .expect("the third answer is right");
    assert_eq!(gitlab.count("GET", &project.api("")), 3);
}

#[tokio::test]
async fn broken_server_is_reported() {
    let error = tags(Fault::Status(503)).await;
    assert!(
        matches!(error, ApiError::Server { status: 503, .. }),
        "{error}"
    );
    assert!(error.is_temporary());
}

#[tokio::test]
async fn endless_response_is_not_read() {
    let error = tags(Fault::Long(1 << 30)).await;
    let ApiError::Web(error) = &error else {
        panic!("{error}");
    };
    assert!(matches!(**error, WebError::TooLong(_)), "{error}");
}
