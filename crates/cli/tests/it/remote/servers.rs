//! Which servers are contacted, how, and as which user.

use super::remote_project::{RemoteProject, TOKEN};
use crate::project::Done;
use gitlab_testkit::{Fault, GitLab, Request, Sshd};

const INCLUDE: &str =
    "include:\n  - {project: group/files, file: a.yml}\n  - {component: HOST/group/files/c@1}\n";

/// Adds the files that [`INCLUDE`] includes to a GitLab.
fn fill(gitlab: &GitLab) {
    let files = gitlab.project("group/files").private();
    files.commit(&[
        ("a.yml", "include: {local: /b.yml}\na: {script: a}\n"),
        ("b.yml", "b: {script: b}\n"),
        ("templates/c.yml", "c: {script: c}\n"),
    ]);
    files.tag("1.0.0");
}

const JOBS: [&str; 3] = ["a: a", "b: b", "c: c"];

#[test]
fn self_managed_gitlab_may_have_its_own_authority_and_a_path() {
    // R-GLCI-150
    let gitlab = GitLab::setup().tls().below("/gitlab").start();
    fill(&gitlab);
    let remote_project = RemoteProject::new(gitlab, INCLUDE);
    let refused = remote_project.runwright(&["list"]).expect_code(2);
    assert!(refused.stderr.contains("certificate"), "{}", refused.stderr);
    assert_eq!(remote_project.gitlab.total(), 0);

    let authority = remote_project
        .gitlab
        .authority()
        .unwrap()
        .display()
        .to_string();
    remote_project.settings(&format!("ca-file = \"{authority}\"\n"));
    assert_eq!(remote_project.jobs(&[]), JOBS);
}

#[test]
fn jobs_see_the_configured_gitlab_and_not_its_ssh_host() {
    let gitlab = GitLab::setup().below("/gitlab").start();
    fill(&gitlab);
    let pipeline = "include: {component: $CI_SERVER_FQDN/group/files/c@1}\n";
    let remote_project = RemoteProject::new(gitlab, pipeline);
    let known = |expect: &[String]| {
        let shown = remote_project
            .runwright(&["variables"])
            .expect_code(0)
            .stdout;
        for expect in expect {
            assert!(shown.contains(expect), "no {expect} in {shown}");
        }
    };
    let (url, name) = (remote_project.gitlab.url(), remote_project.gitlab.name());
    let expect = [
        format!("CI_SERVER_URL = {url}\n"),
        format!("CI_SERVER_FQDN = {name}\n"),
        format!("CI_PROJECT_URL = {url}/group/app\n"),
        format!("CI_API_V4_URL = {url}/api/v4\n"),
    ];
    known(&expect);
    let remote = [
        "remote",
        "set-url",
        "origin",
        "git@ssh.example:group/app.git",
    ];
    remote_project.project.git(&remote);
    remote_project.settings("ssh-host = \"ssh.example\"\n");
    known(&expect);
    assert_eq!(remote_project.jobs(&[]), ["c: c"]);
    remote_project.only_settings("");
    remote_project
        .project
        .write(".gitlab-ci.yml", "a: {script: make}\n");
    known(&["CI_SERVER_FQDN = ssh.example\n".to_owned()]);
}

#[test]
fn token_may_come_from_the_environment() {
    let gitlab = GitLab::start();
    fill(&gitlab);
    let remote_project = RemoteProject::new(gitlab, INCLUDE);
    remote_project.only_settings("");
    let list = |variables: &[(&str, &str)]| {
        let mut command = remote_project.command(&["list"]);
        command.envs(variables.iter().copied());
        Done::from(command.output().unwrap())
    };
    let nobody = list(&[]).expect_code(2);
    assert!(nobody.stderr.contains("group/files"), "{}", nobody.stderr);
    assert!(nobody.stderr.contains("GITLAB_TOKEN"), "{}", nobody.stderr);
    // The token belongs to the GitLab of the project, which the project's remote names.
    list(&[("GITLAB_TOKEN", TOKEN)])
        .expect_code(0)
        .expect_text("c ");
    let host = remote_project.gitlab.url();
    remote_project.gitlab.reset_count();
    let other = [
        ("GITLAB_TOKEN", TOKEN),
        ("GITLAB_HOST", "https://gitlab.example.com"),
    ];
    list(&other);
    let tokens = remote_project
        .gitlab
        .requests()
        .iter()
        .filter_map(Request::token)
        .count();
    assert_eq!(tokens, 0, "a token for another GitLab than {host}");
}

#[test]
fn git_over_ssh_reads_what_the_api_does_not_show() {
    // R-GLCI-150
    let gitlab = GitLab::start();
    fill(&gitlab);
    let sshd = Sshd::start(&gitlab);
    let remote_project = RemoteProject::new(gitlab, INCLUDE);
    remote_project.only_settings(&format!(
        "[[gitlab.instance]]\nurl = \"{}\"\ngit = \"ssh\"\nssh-host = \"{}\"\n",
        remote_project.gitlab.url(),
        sshd.address()
    ));
    let list = |arguments: &[&str]| {
        let mut command = remote_project.command(arguments);
        command.env("GIT_SSH_COMMAND", sshd.command());
        Done::from(command.output().unwrap())
    };
    let done = list(&["list"]).expect_code(0);
    for job in ["a ", "b ", "c "] {
        assert!(done.stdout.contains(job), "{}", done.stdout);
    }
    let connections = sshd.connections();
    assert!(connections > 0);
    list(&["list", "--offline"]).expect_code(0);
    assert_eq!(sshd.connections(), connections);
}

#[test]
fn no_redirect_carries_a_token_to_another_server() {
    let gitlab = GitLab::start();
    fill(&gitlab);
    let other = GitLab::start();
    let remote_project = RemoteProject::new(gitlab, INCLUDE);
    let away = format!("{}/api/v4/", other.url());
    remote_project
        .gitlab
        .always("/api/*", Fault::Redirect(away));
    remote_project.runwright(&["list"]).expect_code(2);
    assert!(remote_project.gitlab.total() > 0);
    let tokens = other.requests().iter().filter_map(Request::token).count();
    assert_eq!(tokens, 0);
}

#[test]
fn private_network_includes_require_the_consent_of_the_user() {
    // R-GLCI-148
    let inside = GitLab::start();
    inside.page("/inside.yml", "inside: {script: inside}\n");
    let include = format!("include: [\"{}/inside.yml\"]\n", inside.url());
    let remote_project = RemoteProject::new(GitLab::start(), &include);
    let check = |settings: &str, expect: &str| {
        remote_project.settings(settings);
        let refused = remote_project.runwright(&["list"]).expect_code(2);
        assert!(
            refused.stderr.contains(expect),
            "{settings}: {}",
            refused.stderr
        );
        assert_eq!(inside.total(), 0, "{settings}");
    };
    check("", "allow-private");
    check("[include]\nallow-private = [\"127.0.0.1\"]\n", "allow-http");
    remote_project
        .settings("[include]\nallow-http = [\"127.0.0.1\"]\nallow-private = [\"127.0.0.0/8\"]\n");
    assert_eq!(remote_project.jobs(&[]), ["inside: inside"]);
}

#[test]
fn oversized_response_is_refused() {
    // R-GLCI-148
    let gitlab = GitLab::start();
    let remote_project = RemoteProject::new(gitlab, "include: [URL/long.yml]\n");
    remote_project
        .gitlab
        .always("/long.yml", Fault::Long(64 << 20));
    let long = remote_project.runwright(&["list"]).expect_code(2);
    assert!(long.stderr.contains("long.yml"), "{}", long.stderr);
    assert!(long.stderr.contains("file-too-large"), "{}", long.stderr);
    assert!(long.stderr.contains("more than 16 MiB"), "{}", long.stderr);
}
