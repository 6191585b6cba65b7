//! Git over HTTP and SSH.

#![expect(
    clippy::disallowed_methods,
    reason = "the tests run Git as its user does"
)]

use gitlab_testkit::{GitLab, Sshd};
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

fn git(args: &[&str], environment: &[(&str, &str)]) -> Output {
    let mut command = Command::new("git");
    command.args(["-c", "credential.helper="]).args(args);
    command.env("GIT_CONFIG_GLOBAL", "/dev/null");
    command.env("GIT_TERMINAL_PROMPT", "0");
    command.envs(environment.iter().copied());
    command.output().expect("git starts")
}

fn printed(output: &Output) -> String {
    let both = [output.stdout.as_slice(), &output.stderr].concat();
    String::from_utf8_lossy(&both).into_owned()
}

#[test]
fn repository_is_cloned_over_http() {
    let gitlab = GitLab::setup().below("/gitlab").start();
    let project = gitlab.project("group/project");
    let sha = project.commit(&[("a.yml", "a: 1")]);
    project.commit(&[("a.yml", "a: 2")]);
    let scratch = tempfile::tempdir().unwrap();
    let copy = scratch.path().join("copy");
    let copy = copy.to_str().unwrap();
    let cloned = git(&["clone", "--depth=1", &project.clone_url(), copy], &[]);
    assert!(cloned.status.success(), "{}", printed(&cloned));
    let file = std::fs::read_to_string(Path::new(copy).join("a.yml")).unwrap();
    assert_eq!(file, "a: 2");
    // No branch points at this commit.
    let fetched = git(&["-C", copy, "fetch", "--depth=1", "origin", &sha], &[]);
    assert!(fetched.status.success(), "{}", printed(&fetched));
}

#[test]
fn private_repository_requires_a_token_as_password() {
    let gitlab = GitLab::start();
    let project = gitlab.project("group/project").private();
    let sha = project.commit(&[("a.yml", "a: 1")]);
    gitlab.token("secret", &["read_repository"]);
    let check = |user: &str, expect: &str, works: bool| {
        let url = project.clone_url().replace("://", &format!("://{user}"));
        let output = git(&["ls-remote", &url, "HEAD"], &[]);
        let text = printed(&output);
        assert!(text.contains(expect), "{user}: {text}");
        assert_eq!(output.status.success(), works, "{user}: {text}");
    };
    check("any:secret@", &sha, true);
    check("any:wrong@", "Authentication failed", false);
    check("", "could not read Username", false);
    let first = &gitlab.requests()[0];
    assert_eq!(first.status, Some(401));
}

#[test]
fn repository_is_read_over_ssh_while_the_server_is_down() {
    let gitlab = GitLab::start();
    let project = gitlab.project("group/project").private();
    let sha = project.commit(&[("a.yml", "a: 1")]);
    let sshd = Sshd::start(&gitlab);
    gitlab.stop();
    let ssh = sshd.command();
    let environment = [("GIT_SSH_COMMAND", ssh.as_str())];
    let url = sshd.url("group/project");
    assert!(url.starts_with("ssh://git@127.0.0.1:"), "{url}");

    let listed = git(&["ls-remote", &url, "HEAD"], &environment);
    let said = String::from_utf8_lossy(&listed.stdout);
    assert_eq!(said, format!("{sha}\tHEAD\n"), "{}", sshd.log());
    let archive = git(
        &["archive", &format!("--remote={url}"), "HEAD", "a.yml"],
        &environment,
    );
    assert!(archive.status.success(), "{}", sshd.log());
    let none = git(&["ls-remote", &sshd.url("group/none")], &environment);
    assert!(
        printed(&none).contains("could not be found"),
        "{}",
        printed(&none)
    );
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path().to_str().unwrap();
    assert!(git(&["init", "-q", folder], &[]).status.success());
    let pushed = git(&["-C", folder, "push", &url, "HEAD:main"], &environment);
    assert!(!pushed.status.success());
    assert_eq!(sshd.connections(), 3);
}

#[test]
fn ssh_refuses_clients_without_the_key() {
    let gitlab = GitLab::start();
    gitlab.project("group/project").commit(&[("a.yml", "a: 1")]);
    let sshd = Sshd::start(&gitlab);
    let key = sshd.key().display().to_string();
    let ssh = sshd.command().replace(&key, "/dev/null");
    let url = sshd.url("group/project");
    let refused = git(&["ls-remote", &url], &[("GIT_SSH_COMMAND", &ssh)]);
    assert!(
        printed(&refused).contains("Permission denied"),
        "{}",
        printed(&refused)
    );
}

#[test]
fn drop_ends_open_ssh_connections() {
    let gitlab = GitLab::start();
    gitlab.project("group/project").commit(&[("a.yml", "a: 1")]);
    let sshd = Sshd::start(&gitlab);
    // `sshd` sends its banner, then waits for a client banner that never arrives.
    let mut stream = std::net::TcpStream::connect(sshd.address()).unwrap();
    let mut hello = [0; 4];
    std::io::Read::read_exact(&mut stream, &mut hello).unwrap();
    assert_eq!(&hello, b"SSH-");
    let folder = sshd.key().parent().unwrap().to_owned();
    drop(sshd);
    assert!(!folder.exists());
    let needle = folder.to_str().unwrap();
    let left = || {
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let left = processes.filter(|entry| {
            let words = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&words).contains(needle)
        });
        left.count()
    };
    // `sshd`'s child takes a moment to notice that its client is gone.
    let began = Instant::now();
    while left() > 0 {
        assert!(began.elapsed() < Duration::from_secs(30), "{}", left());
        std::thread::sleep(Duration::from_millis(10));
    }
}
