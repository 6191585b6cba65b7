//! Lists that come in pages.

use crate::client::{TOKEN, gitlab, stranger, with_token};
use gitlab_api::{ApiError, Fault as Wrong, Fresh, Tag};
use gitlab_testkit::{Fault, GitLab, Page, Project, Variable};

/// Returns a project with this many tags.
fn tagged(gitlab: &GitLab, count: usize) -> Project {
    let project = gitlab.project("g/p").private();
    project.commit(&[("a", "1")]);
    project.tags(&(0..count).map(|it| format!("v{it}")).collect::<Vec<_>>());
    project
}

fn whole(tags: Fresh<Vec<Tag>>) -> (Vec<Tag>, Option<String>) {
    match tags {
        Fresh::New { value, etag } => (value, etag),
        Fresh::Unchanged => panic!("nothing was known before"),
    }
}

#[tokio::test]
async fn three_pages_of_tags_take_three_requests() {
    // R-GLCI-152
    let gitlab = gitlab(&["read_api"]);
    let project = tagged(&gitlab, 250);
    let tags = with_token(&gitlab).tags("g/p", None).await;
    let (tags, etag) = whole(tags.expect("tags"));
    let mut names: Vec<&str> = tags.iter().map(|tag| &*tag.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 250);
    assert_eq!(gitlab.count("GET", &project.api("/repository/tags")), 3);
    assert_eq!(gitlab.total(), 3);
    for request in gitlab.requests() {
        assert_eq!(request.parameter("per_page").as_deref(), Some("100"));
        assert_eq!(request.token().as_deref(), Some(TOKEN));
    }
    assert_eq!(etag, None, "a page's name is none of all pages");
}

#[tokio::test]
async fn etag_covers_a_list_of_one_partial_page() {
    let gitlab = gitlab(&["read_api"]);
    let project = tagged(&gitlab, 99);
    let client = with_token(&gitlab);
    let (_, etag) = whole(client.tags("g/p", None).await.expect("tags"));
    let etag = etag.expect("the page is all");
    let again = client.tags("g/p", Some(&etag)).await.expect("an answer");
    assert_eq!(again, Fresh::Unchanged);
    project.tag("more");
    let (tags, etag) = whole(client.tags("g/p", Some(&etag)).await.expect("tags"));
    assert_eq!((tags.len(), etag), (100, None));
    project.tag("still-more");
    gitlab.reset_count();
    let tags = client.tags("g/p", Some("\"old\"")).await.expect("tags");
    assert_eq!(whole(tags).0.len(), 101);
    let requests = gitlab.requests();
    let asked: Vec<_> = requests
        .iter()
        .map(|it| it.header("if-none-match"))
        .collect();
    assert_eq!(
        asked,
        [Some("\"old\""), None],
        "the name is the first page's"
    );
}

#[tokio::test]
async fn files_and_variables_are_paged() {
    let gitlab = gitlab(&["read_api"]);
    let names: Vec<String> = (0..130).map(|it| format!("ci/{it:03}.yml")).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (&**name, "a")).collect();
    let mut project = gitlab.project("g/p");
    let sha = project.commit(&files);
    for number in 0..101 {
        project = project.variable(Variable::new(&format!("V{number}"), "1"));
    }
    let client = with_token(&gitlab);
    let tree = client.tree("g/p", &sha).await.expect("a tree");
    let paths = tree
        .iter()
        .filter(|entry| entry.kind == "blob")
        .map(|entry| &entry.path);
    assert_eq!(paths.collect::<Vec<_>>(), names.iter().collect::<Vec<_>>());
    assert_eq!(gitlab.count("GET", &project.api("/repository/tree")), 2);
    let variables = client.project_variables("g/p").await.expect("variables");
    assert_eq!(variables.len(), 101);
    assert_eq!(gitlab.count("GET", &project.api("/variables")), 2);
}

#[tokio::test]
async fn link_does_not_lead_to_another_server() {
    let (gitlab, other) = (gitlab(&["read_api"]), GitLab::start());
    let project = tagged(&gitlab, 1);
    let link = format!("<{}/api/v4/stolen?page=2>; rel=\"next\"", other.url());
    let path = project.api("/repository/tags");
    gitlab.next(&path, Fault::Page(Page::new("[]").header("link", &link)));
    let tags = with_token(&gitlab).tags("g/p", None).await;
    tags.expect("the second page is the same server's");
    assert_eq!(other.total(), 0);
    let requests = gitlab.requests();
    let asked: Vec<_> = requests.iter().map(|it| it.parameter("page")).collect();
    assert_eq!(asked, [None, Some("2".to_owned())]);
}

#[tokio::test]
async fn endless_list_is_an_error() {
    let gitlab = GitLab::start();
    let project = gitlab.project("g/p");
    let path = project.api("/repository/tags");
    for page in 0..250 {
        let link = format!("<{}{path}?page={page}>; rel=\"next\"", gitlab.url());
        gitlab.next(&path, Fault::Page(Page::new("[]").header("link", &link)));
    }
    let error = stranger(&gitlab)
        .tags("g/p", None)
        .await
        .expect_err("no end");
    assert!(matches!(error, ApiError::TooMuch { .. }), "{error}");
    assert_eq!(gitlab.total(), 200);
}

#[tokio::test]
async fn page_that_links_to_itself_is_an_error() {
    let gitlab = GitLab::start();
    let project = gitlab.project("g/p");
    let page = Page::new("[]").header("link", "</x?page=2>; rel=\"next\"");
    gitlab.always(&project.api("/repository/tags"), Fault::Page(page));
    let error = stranger(&gitlab)
        .tags("g/p", None)
        .await
        .expect_err("a loop");
    let is_loop = matches!(
        &error,
        ApiError::BadAnswer {
            fault: Wrong::Nonsense(_),
            ..
        }
    );
    assert!(is_loop, "{error}");
    assert_eq!(gitlab.total(), 2);
}
