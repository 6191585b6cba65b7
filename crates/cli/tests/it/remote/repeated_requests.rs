//! Which requests are repeated, and which are not.

use super::remote_project::{RemoteProject, TOKEN};
use crate::project::files_below;
use gitlab_testkit::{GitLab, Project};
use std::os::unix::fs::PermissionsExt as _;

/// Returns a remote_project with an include of each kind, and the two projects they come from.
pub(super) fn everything() -> (RemoteProject, Project, Project) {
    let gitlab = GitLab::start();
    let files = gitlab.project("group/files").private();
    files.commit(&[
        (
            "a.yml",
            "include: {local: b.yml}\nfrom-project: {script: no-such-program}\n",
        ),
        ("b.yml", "nested: {script: nested}\n"),
    ]);
    let components = gitlab.project("group/components").private();
    components.commit(&[("templates/c.yml", "component: {script: one}\n")]);
    components.tag("1.0.0");
    gitlab.page("/remote.yml", "remote: {script: remote}\n");
    gitlab.page(
        "/templates/T.gitlab-ci.yml",
        "template: {script: template}\n",
    );
    let remote_project = RemoteProject::new(
        gitlab,
        "include:\n  - {project: group/files, file: a.yml}\n  - {component: $CI_SERVER_FQDN/group/components/c@1}\n  \
         - {template: T.gitlab-ci.yml}\n  - {remote: URL/remote.yml}\n",
    );
    (remote_project, files, components)
}

pub(super) const ALL: [&str; 5] = [
    "component: one",
    "from-project: no-such-program",
    "nested: nested",
    "remote: remote",
    "template: template",
];

#[test]
fn recently_fetched_files_are_not_requested_again() {
    // R-GLCI-150
    // R-GLCI-151
    let (remote_project, files, components) = everything();
    assert_eq!(remote_project.jobs(&[]), ALL);
    assert_eq!(remote_project.asked(&files), [1, 0, 0, 2]);
    assert_eq!(remote_project.asked(&components), [0, 1, 0, 1]);
    assert_eq!(remote_project.gitlab.total(), 7);
    remote_project.gitlab.reset_count();
    assert_eq!(remote_project.jobs(&[]), ALL);
    remote_project.runwright(&["lint"]).expect_code(0);
    remote_project.runwright(&["plan"]).expect_code(0);
    assert_eq!(remote_project.gitlab.total(), 0);
}

#[test]
fn refresh_requests_only_what_may_have_changed() {
    // R-GLCI-148
    // R-GLCI-149
    // R-GLCI-152
    let (remote_project, files, components) = everything();
    assert_eq!(remote_project.jobs(&[]), ALL);
    remote_project.gitlab.reset_count();
    assert_eq!(remote_project.jobs(&["--refresh"]), ALL);
    // The branch and the tags are requested again; files at a fixed commit are not.
    assert_eq!(remote_project.asked(&files), [1, 0, 0, 0]);
    assert_eq!(remote_project.asked(&components), [0, 1, 0, 0]);
    assert_eq!(remote_project.gitlab.count("GET", "/remote.yml"), 1);
    assert_eq!(remote_project.gitlab.count("GET", "/templates/*"), 1);
    assert_eq!(remote_project.gitlab.total(), 4);
    let requests = remote_project.gitlab.requests();
    let unchanged = requests.iter().filter(|it| it.status == Some(304));
    assert_eq!(unchanged.count(), 4, "each names what it has");

    remote_project.gitlab.reset_count();
    files.commit(&[("b.yml", "nested: {script: changed}\n")]);
    components.commit(&[("templates/c.yml", "component: {script: two}\n")]);
    components.tag("1.1.0");
    remote_project
        .gitlab
        .page("/remote.yml", "remote: {script: changed}\n");
    assert_eq!(
        remote_project.jobs(&["--refresh"]),
        [
            "component: two",
            "from-project: no-such-program",
            "nested: changed",
            "remote: changed",
            "template: template",
        ]
    );
    assert_eq!(remote_project.asked(&files), [1, 0, 0, 2]);
    assert_eq!(remote_project.asked(&components), [0, 1, 0, 1]);
}

#[test]
fn other_project_of_the_user_reuses_fetched_files() {
    let (remote_project, files, _) = everything();
    assert_eq!(remote_project.jobs(&[]), ALL);
    remote_project.gitlab.reset_count();
    let other = remote_project.project.scratch().join("other");
    let status = std::fs::create_dir(&other);
    status.unwrap();
    let pipeline = "include: {project: group/files, file: b.yml, ref: main}\n";
    std::fs::write(other.join(".gitlab-ci.yml"), pipeline).unwrap();
    let url = remote_project.gitlab.url();
    let mut command = remote_project.command(&["list", "--gitlab", &url]);
    let done = command.current_dir(&other).output().unwrap();
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(said.contains("nested"), "{done:?}");
    assert_eq!(remote_project.asked(&files)[3], 0, "the file is there");
}

#[test]
fn offline_sends_no_request() {
    let (remote_project, ..) = everything();
    let done = remote_project
        .runwright(&["list", "--offline"])
        .expect_code(2);
    for text in ["not fetched before", "offline"] {
        assert!(done.stderr.contains(text), "{}", done.stderr);
    }
    assert_eq!(remote_project.gitlab.total(), 0);

    assert_eq!(remote_project.jobs(&[]), ALL);
    remote_project.gitlab.reset_count();
    assert_eq!(remote_project.jobs(&["--offline"]), ALL);
    assert_eq!(remote_project.gitlab.total(), 0);
    remote_project.gitlab.stop();
    assert_eq!(remote_project.jobs(&["--offline"]), ALL);
    // Fetched files remain usable when the server is unreachable, also without `--offline`.
    assert_eq!(remote_project.jobs(&["--refresh"]), ALL);
}

#[test]
fn cache_is_private_to_its_user_and_holds_no_token() {
    let (remote_project, ..) = everything();
    assert_eq!(remote_project.jobs(&[]), ALL);
    let home = remote_project.project.home();
    let kept = files_below(&home.join("cache"));
    assert!(!kept.is_empty());
    for path in kept {
        let metadata = std::fs::metadata(&path).unwrap();
        let mode = metadata.permissions().mode() & 0o777;
        if metadata.is_dir() {
            assert_eq!(mode, 0o700, "{}", path.display());
            continue;
        }
        assert_eq!(mode, 0o600, "{}", path.display());
        let bytes = std::fs::read(&path).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains(TOKEN), "{}", path.display());
    }
}
