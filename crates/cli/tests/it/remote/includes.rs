//! Each kind of include, and the requests it causes.

use super::remote_project::RemoteProject;
use gitlab_testkit::{Fault, GitLab, Page, Project, Request};

/// Returns a private project with templates: one that includes other files of the project, and one on its own.
fn templates(gitlab: &GitLab) -> Project {
    let project = gitlab.project("group/templates").private();
    project.commit(&[
        (
            "ci/all.yml",
            "include:\n  - local: /ci/nested.yml\n  - local: ci/parts/*.yml\nfrom-all:\n  script: echo all\n",
        ),
        ("ci/nested.yml", "from-nested:\n  script: echo nested\n"),
        ("ci/parts/b.yml", "from-b:\n  script: echo b\n"),
        ("ci/parts/a.yml", "from-a:\n  script: echo a\n"),
        ("ci/alone.yml", "from-alone:\n  script: echo alone at v1\n"),
    ]);
    project.tag("v1");
    project.commit(&[(
        "ci/alone.yml",
        "from-alone:\n  script: echo alone at main\n",
    )]);
    project
}

/// Returns a project with components: one of each layout, and one that includes a file of its project.
fn components(gitlab: &GitLab) -> Project {
    let project = gitlab.project("group/components").private();
    let component = |version: &str| {
        format!(
            "spec:\n  inputs:\n    name: {{default: file}}\n---\n$[[ inputs.name ]]:\n  script: echo {version}\n"
        )
    };
    for version in ["1.2.0", "1.10.0", "1.2.1", "2.0.0", "2.1.0-rc.1"] {
        let text = component(version);
        project.commit(&[
            ("templates/file.yml", text.as_str()),
            (
                "templates/folder/template.yml",
                &text.replace("echo", "echo folder"),
            ),
            (
                "templates/nesting.yml",
                "include: {local: /parts/nested.yml}\nnesting:\n  script: echo nesting\n",
            ),
            (
                "parts/nested.yml",
                "nested-in-component:\n  script: echo nested\n",
            ),
        ]);
        project.tag(version);
    }
    project
}

#[test]
fn project_files_are_fetched_with_their_local_includes() {
    // R-GLCI-150
    let gitlab = GitLab::start();
    let templates = templates(&gitlab);
    let remote_project = RemoteProject::new(
        gitlab,
        "include:\n  - project: group/templates\n    ref: v1\n    file: [ci/all.yml, /ci/alone.yml]\n",
    );
    assert_eq!(
        remote_project.jobs(&[]),
        [
            "from-a: echo a",
            "from-all: echo all",
            "from-alone: echo alone at v1",
            "from-b: echo b",
            "from-nested: echo nested",
        ]
    );
    // One request for the tag, one for the paths that the wildcard matches, one for each file.
    assert_eq!(remote_project.asked(&templates), [1, 0, 1, 5]);
    let requests = remote_project.gitlab.requests();
    let tokens = requests.iter().filter(|it| it.token().is_some());
    assert_eq!(tokens.count(), requests.len(), "each says who asks");

    remote_project
        .runwright(&["run", "from-alone"])
        .expect_code(0)
        .expect_text("alone at v1");
}

#[test]
fn project_include_without_ref_uses_the_default_branch() {
    let gitlab = GitLab::start();
    let _ = templates(&gitlab);
    let remote_project = RemoteProject::new(
        gitlab,
        "include: {project: GROUP/Templates, file: ci/alone.yml}\n",
    );
    remote_project
        .runwright(&["run"])
        .expect_code(0)
        .expect_text("alone at main");
}

#[test]
fn component_is_the_highest_matching_version() {
    // R-GLCI-151
    // R-GLCI-152
    let gitlab = GitLab::start();
    let components = components(&gitlab);
    let first = components.commit_of("1.2.0").unwrap();
    let remote_project = RemoteProject::new(gitlab, "");
    let check = |component: &str, expect: &[&str]| {
        remote_project.pipeline(&format!(
            "include:\n  - component: HOST/group/components/{component}\n"
        ));
        assert_eq!(remote_project.jobs(&[]), expect, "{component}");
    };
    check("file@~latest", &["file: echo 2.0.0"]);
    check("file@1", &["file: echo 1.10.0"]);
    check("file@1.2", &["file: echo 1.2.1"]);
    check("file@1.2.0", &["file: echo 1.2.0"]);
    check("file@2.1.0-rc.1", &["file: echo 2.1.0-rc.1"]);
    check("file@main", &["file: echo 2.1.0-rc.1"]);
    check(&format!("file@{first}"), &["file: echo 1.2.0"]);
    check("folder@~latest", &["file: echo folder 2.0.0"]);
    check(
        "nesting@1",
        &["nested-in-component: echo nested", "nesting: echo nesting"],
    );
    check("file@1\n    inputs: {name: other}", &["other: echo 1.10.0"]);
}

#[test]
fn version_is_found_on_any_page_of_the_tags() {
    // R-GLCI-152
    let gitlab = GitLab::start();
    let components = gitlab.project("group/components");
    let file = |text: &str| [("templates/a.yml", format!("a: {{script: {text}}}\n"))];
    // The newest tags come first, and the highest version is the oldest.
    components.commit(&file("highest"));
    components.annotated_tag("9.9.9");
    components.commit(&file("other"));
    let names: Vec<String> = (0..230).map(|number| format!("1.0.{number}")).collect();
    components.tags(&names);
    let remote_project = RemoteProject::new(
        gitlab,
        "include: [{component: HOST/group/components/a@~latest}]\n",
    );
    assert_eq!(remote_project.jobs(&[]), ["a: highest"]);
    let [commits, tags, trees, files] = remote_project.asked(&components);
    assert_eq!((commits, tags, trees, files), (0, 3, 0, 1));
}

#[test]
fn template_is_fetched_from_the_configured_server() {
    // R-GLCI-149
    let gitlab = GitLab::start();
    gitlab.page(
        "/templates/Jobs/Build.gitlab-ci.yml",
        "include: {template: Other.gitlab-ci.yml}\nbuild: {script: template}\n",
    );
    gitlab.page("/templates/Other.gitlab-ci.yml", "other: {script: other}\n");
    let remote_project =
        RemoteProject::new(gitlab, "include: {template: Jobs/Build.gitlab-ci.yml}\n");
    assert_eq!(
        remote_project.jobs(&[]),
        ["build: template", "other: other"]
    );
    let count = |path: &str| remote_project.gitlab.count("GET", path);
    assert_eq!(count("/templates/*"), 2);
}

/// A remote file and its digest.
const REMOTE: &str = "from-remote:\n  script: echo told by a remote file\n";
const DIGEST: &str = "sha256-MEXFUq8DAsnaxNP1hsH2tRHavmEIbDeEV3fCNx2E/j0=";

#[test]
fn remote_file_is_verified_against_its_digest() {
    // R-GLCI-148
    // R-PIPE-06
    let gitlab = GitLab::start();
    gitlab.page("/ci.yml", REMOTE);
    gitlab.page(
        "/moved.yml",
        Page::new("").status(302).header("location", "/ci.yml"),
    );
    let remote_project = RemoteProject::new(
        gitlab,
        &format!("include:\n  - remote: URL/moved.yml\n    integrity: {DIGEST}\n"),
    );
    let jobs = ["from-remote: echo told by a remote file"];
    assert_eq!(remote_project.jobs(&[]), jobs);
    let requests = remote_project.gitlab.requests();
    let tokens = requests.iter().filter_map(Request::token);
    assert_eq!(
        tokens.count(),
        0,
        "a file names any server, which learns nothing"
    );

    remote_project
        .gitlab
        .page("/ci.yml", format!("{REMOTE}# changed"));
    let done = remote_project
        .runwright(&["list", "--refresh"])
        .expect_code(2);
    assert!(done.stderr.contains(DIGEST), "{}", done.stderr);
}

#[test]
fn failed_request_is_retried() {
    // R-GLCI-148
    let gitlab = GitLab::start();
    gitlab.page("/ci.yml", REMOTE);
    gitlab.next_times("/ci.yml", 2, Fault::Status(503));
    let remote_project = RemoteProject::new(gitlab, "include: [URL/ci.yml]\n");
    assert_eq!(remote_project.jobs(&[]).len(), 1);
    assert_eq!(remote_project.gitlab.count("GET", "/ci.yml"), 3);
}

#[test]
fn missing_include_is_reported_at_its_line() {
    let gitlab = GitLab::start();
    let _ = templates(&gitlab);
    let _ = components(&gitlab);
    let remote_project = RemoteProject::new(gitlab, "");
    let check = |include: &str, expect: &[&str]| {
        remote_project.pipeline(&format!("include:\n  - {include}\na: {{script: a}}\n"));
        let done = remote_project.runwright(&["lint"]).expect_code(2);
        let said = done.all();
        for text in expect {
            assert!(said.contains(text), "{include}: no {text:?} in {said}");
        }
        assert!(said.contains(".gitlab-ci.yml:2:"), "{include}: {said}");
    };
    let project = "{project: group/templates, ";
    check(&format!("{project} file: none.yml}}"), &["none.yml"]);
    check(&format!("{project} file: a.yml, ref: none}}"), &["`none`"]);
    check("{project: group/none, file: a.yml}", &["group/none"]);
    check(
        "{component: HOST/group/components/file@7}",
        &["no version `7`", "`2.0.0`"],
    );
    check(
        "{component: HOST/group/components/none@1}",
        &["templates/none.yml"],
    );
    check("URL/none.yml", &["none.yml"]);
}

#[test]
fn rejected_token_is_named_and_not_shown() {
    let gitlab = GitLab::start();
    let _ = templates(&gitlab);
    let remote_project = RemoteProject::new(
        gitlab,
        "include: {project: group/templates, file: ci/alone.yml}\n",
    );
    remote_project.gitlab.always("/api/*", Fault::Status(401));
    let done = remote_project.runwright(&["list"]).expect_code(2);
    assert!(done.stderr.contains("config.toml"), "{}", done.stderr);
    assert!(done.stderr.contains("refuses the token"), "{}", done.stderr);
}

#[test]
fn file_included_twice_is_fetched_once() {
    // R-GLCI-150
    let gitlab = GitLab::start();
    let project = gitlab.project("group/diamond");
    project.commit(&[
        (
            "top.yml",
            "include: [{local: left.yml}, {local: right.yml}]\n",
        ),
        (
            "left.yml",
            "include: {local: below.yml}\nleft: {script: left}\n",
        ),
        (
            "right.yml",
            "include: {local: below.yml}\nright: {script: right}\n",
        ),
        ("below.yml", "below: {script: below}\n"),
    ]);
    let remote_project = RemoteProject::new(
        gitlab,
        "include:\n  - {project: group/diamond, file: top.yml}\n  - {project: group/diamond, file: below.yml}\n",
    );
    assert_eq!(
        remote_project.jobs(&[]),
        ["below: below", "left: left", "right: right"]
    );
    for file in ["top.yml", "left.yml", "right.yml", "below.yml"] {
        let path = project.api(&format!("/repository/files/{file}/raw"));
        assert_eq!(remote_project.gitlab.count("GET", &path), 1, "{file}");
    }
    assert_eq!(remote_project.asked(&project), [1, 0, 0, 4]);
}

#[test]
fn url_in_bitrab_is_a_remote_include() {
    // R-PIPE-06
    let gitlab = GitLab::start();
    gitlab.page("/ci.yml", REMOTE);
    let remote_project = RemoteProject::new(gitlab, "include:\n  - url: URL/ci.yml\n");
    let jobs = remote_project.jobs(&["--dialect", "bitrab"]);
    assert_eq!(jobs, ["from-remote: echo told by a remote file"]);
    assert_eq!(remote_project.gitlab.count("GET", "/ci.yml"), 1);
    // GitLab does not have this keyword.
    remote_project.runwright(&["list"]).expect_code(2);
}
