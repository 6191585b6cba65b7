//! Files, commits, branches, tags, trees.

use crate::client::{Said, get, try_ask};
use gitlab_testkit::{GitLab, Project};

fn project(gitlab: &GitLab) -> (Project, String) {
    let project = gitlab.project("Group/templates");
    let sha = project.commit(&[("a.yml", "a: 1\n"), ("dir/b.yml", "b: 2\n")]);
    (project, sha)
}

fn message(said: &Said) -> String {
    said.json()["message"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

#[test]
fn file_is_read_at_any_revision() {
    let gitlab = GitLab::start();
    let (project, sha) = project(&gitlab);
    project.tag("1.0");
    project.branch("dev/x");
    let newer = project.commit(&[("a.yml", "a: 2\n")]);
    let check = |reference: &str, expect: &str| {
        let path = project.api(&format!("/repository/files/a.yml/raw{reference}"));
        let said = get(&gitlab, &path);
        assert_eq!(
            (said.status, said.body.as_str()),
            (200, expect),
            "{reference}"
        );
        said
    };
    check("?ref=1.0", "a: 1\n");
    check("?ref=dev%2Fx", "a: 1\n");
    check(&format!("?ref={sha}"), "a: 1\n");
    check("?ref=main", "a: 2\n");
    let said = check("", "a: 2\n");
    assert_eq!(said.header("x-gitlab-commit-id"), newer);
    assert_eq!(said.header("x-gitlab-last-commit-id"), newer);
    assert_eq!(said.header("x-gitlab-file-path"), "a.yml");

    let id = format!(
        "/api/v4/projects/{}/repository/files/dir%2Fb.yml/raw",
        project.id()
    );
    assert_eq!(get(&gitlab, &id).body, "b: 2\n");
    let small = get(
        &gitlab,
        "/api/v4/projects/group%2FTEMPLATES/repository/files/a.yml/raw",
    );
    assert_eq!(small.body, "a: 2\n");
    let web = get(&gitlab, "/Group/templates/-/raw/dev/x/dir/b.yml");
    assert_eq!(web.body, "b: 2\n");
}

#[test]
fn missing_resources_are_named() {
    let gitlab = GitLab::start();
    let (project, _) = project(&gitlab);
    let check = |path: &str, expect: &str| {
        let said = get(&gitlab, path);
        assert_eq!(
            (said.status, message(&said).as_str()),
            (404, expect),
            "{path}"
        );
    };
    check(
        "/api/v4/projects/group%2Fnone/repository/tags",
        "404 Project Not Found",
    );
    check(
        &project.api("/repository/files/none.yml/raw"),
        "404 File Not Found",
    );
    check(
        &project.api("/repository/files/dir/raw"),
        "404 File Not Found",
    );
    check(
        &project.api("/repository/files/a.yml/raw?ref=none"),
        "404 Commit Not Found",
    );
    check(
        &project.api("/repository/commits/none"),
        "404 Commit Not Found",
    );
    check(
        &project.api("/repository/branches/none"),
        "404 Branch Not Found",
    );
    check(&project.api("/repository/tags/none"), "404 Tag Not Found");
    check(
        &project.api("/repository/tree?ref=none"),
        "404 Tree Not Found",
    );
    check(
        &project.api("/repository/tree?path=none"),
        "404 invalid revision or path Not Found",
    );
    let said = get(&gitlab, "/api/v4/nothing");
    assert_eq!(
        (said.status, said.body.as_str()),
        (404, r#"{"error":"404 Not Found"}"#)
    );
}

#[test]
fn commits_and_branches_are_described_as_json() {
    let gitlab = GitLab::start();
    let (project, sha) = project(&gitlab);
    let project = project.protect("stable");
    project.branch("stable");
    project.branch("dev");
    for name in ["main", "HEAD", "stable", &sha] {
        let said = get(
            &gitlab,
            &project.api(&format!("/repository/commits/{name}")),
        );
        assert_eq!(said.json()["id"], sha.as_str(), "{name}");
    }
    let branch = |name: &str| {
        get(
            &gitlab,
            &project.api(&format!("/repository/branches/{name}")),
        )
        .json()
    };
    assert_eq!(branch("main")["protected"], true);
    assert_eq!(branch("main")["default"], true);
    assert_eq!(branch("stable")["protected"], true);
    assert_eq!(branch("dev")["protected"], false);
    assert_eq!(branch("dev")["commit"]["id"], sha.as_str());
}

#[test]
fn numbered_pages_report_the_total() {
    let gitlab = GitLab::start();
    let (project, sha) = project(&gitlab);
    let names: Vec<String> = (0..250).map(|number| format!("1.{number}.0")).collect();
    project.tags(&names);
    let tags = project.api("/repository/tags");

    let first = get(&gitlab, &tags);
    assert_eq!(first.json().as_array().unwrap().len(), 20);
    assert_eq!(first.header("x-total"), "250");
    assert_eq!(first.header("x-next-page"), "2");
    assert_eq!(first.json()[0]["commit"]["id"], sha.as_str());

    // The server caps pages at 100 entries.
    let last = get(
        &gitlab,
        &format!("{tags}?per_page=500&page=3&order_by=version&sort=asc"),
    );
    assert_eq!(last.header("x-per-page"), "100");
    assert_eq!(last.header("x-next-page"), "");
    assert_eq!(last.json().as_array().unwrap().len(), 50);
    assert_eq!(last.json()[49]["name"], "1.249.0");
    let link = last.header("link");
    assert!(
        link.contains("page=2&per_page=100>; rel=\"prev\""),
        "{link}"
    );
    assert!(!link.contains("rel=\"next\""), "{link}");

    let found = get(
        &gitlab,
        &format!("{tags}?search=%5E1.24&order_by=name&sort=asc"),
    );
    assert_eq!(found.header("x-total"), "11");
    assert_eq!(found.json()[0]["name"], "1.24.0");
}

#[test]
fn keyset_pages_cover_the_list() {
    let gitlab = GitLab::start();
    let (project, _) = project(&gitlab);
    let files: Vec<String> = (0..150)
        .map(|number| format!("f/{number:03}.yml"))
        .collect();
    let files: Vec<(&str, &str)> = files.iter().map(|path| (path.as_str(), "x: 1")).collect();
    project.commit(&files);
    let mut target = project.api("/repository/tree?recursive=true&per_page=100&pagination=keyset");
    let mut paths = Vec::new();
    loop {
        let said = get(&gitlab, &target);
        let entries = said.json();
        let blobs = entries
            .as_array()
            .unwrap()
            .iter()
            .filter(|it| it["type"] == "blob");
        paths.extend(blobs.map(|it| it["path"].as_str().unwrap().to_owned()));
        let link = said.header("link");
        let next = link
            .split_once(&gitlab.url())
            .and_then(|(_, rest)| rest.split_once('>'));
        let Some((next, _)) = next else { break };
        target = next.to_owned();
    }
    assert_eq!(paths.len(), 152);
    assert!(paths.contains(&"dir/b.yml".to_owned()));
    assert_eq!(gitlab.count("GET", &project.api("/repository/tree")), 2);

    let folder = get(&gitlab, &project.api("/repository/tree?path=dir"));
    assert_eq!(folder.json()[0]["path"], "dir/b.yml");
}

#[test]
fn annotated_tag_differs_from_its_commit() {
    let gitlab = GitLab::start();
    let (project, sha) = project(&gitlab);
    project.annotated_tag("2.0");
    let tag = get(&gitlab, &project.api("/repository/tags/2.0")).json();
    assert_eq!(tag["commit"]["id"], sha.as_str());
    assert_ne!(tag["target"], sha.as_str());
    assert_eq!(tag["message"], "notes");
}

#[test]
fn unchanged_responses_are_not_sent_again() {
    let gitlab = GitLab::start();
    let (project, _) = project(&gitlab);
    let path = project.api("/repository/files/a.yml/raw?ref=main");
    let etag = get(&gitlab, &path).header("etag").to_owned();
    let ask = || try_ask(&gitlab, "GET", &path, &[("if-none-match", &etag)], "").unwrap();
    let same = ask();
    assert_eq!((same.status, same.body.as_str()), (304, ""));
    project.commit(&[("a.yml", "a: 2\n")]);
    let other = ask();
    assert_eq!((other.status, other.body.as_str()), (200, "a: 2\n"));
}

#[test]
fn head_request_describes_a_file() {
    let gitlab = GitLab::start();
    let (project, sha) = project(&gitlab);
    let path = project.api("/repository/files/dir%2Fb.yml/raw");
    let said = try_ask(&gitlab, "HEAD", &path, &[], "").unwrap();
    assert_eq!((said.status, said.body.as_str()), (200, ""));
    assert_eq!(said.header("x-gitlab-commit-id"), sha);
    assert_eq!(said.header("x-gitlab-size"), "5");
    assert_eq!(said.header("content-length"), "5");
    assert_eq!(gitlab.count("HEAD", &path), 1);
}

#[test]
fn template_is_served() {
    let gitlab = GitLab::start();
    gitlab.template("Jobs/Build", "build: {script: make}");
    let said = get(&gitlab, "/api/v4/templates/gitlab_ci_ymls/Jobs%2FBuild");
    assert_eq!(said.json()["content"], "build: {script: make}");
    assert_eq!(
        get(&gitlab, "/api/v4/templates/gitlab_ci_ymls/No").status,
        404
    );
}
