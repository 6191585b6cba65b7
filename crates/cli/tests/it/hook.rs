//! The pre-push hook of git, with real pushes.

#![expect(
    clippy::disallowed_methods,
    reason = "the tests drive the binary from outside"
)]

use crate::project::{Done, Project};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const FILE: &str = "all: {script: [\"test ! -e broken && echo ran >> $LOG\"]}\n";

/// A project with a bare repository to push to.
struct Pushing {
    project: Project,
    /// Each run of the project's job appends a line.
    log: PathBuf,
}

impl Pushing {
    fn new() -> Self {
        let project = Project::with_pipeline(FILE);
        let log = project.scratch().join("log");
        let bare = project.scratch().join("server.git");
        let bare = bare.to_str().unwrap();
        project.git(&["init", "-q", "--bare", "-b", "main", bare]);
        project.git(&["remote", "add", "origin", bare]);
        Self { project, log }
    }

    fn hooks(&self) -> PathBuf {
        self.project.dir().join(".git/hooks")
    }

    fn write_hook(&self, text: &str) {
        let path = self.hooks().join("pre-push");
        fs::create_dir_all(self.hooks()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn git_with(&self, path: &str, arguments: &[&str], variables: &[(&str, &str)]) -> Done {
        let mut command = Command::new("git");
        command
            .args(arguments)
            .current_dir(self.project.dir())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("RUNWRIGHT_HOME", self.project.home())
            .env("LOG", &self.log)
            .env("PATH", path)
            .envs(variables.iter().copied());
        command.output().unwrap().into()
    }

    fn git(&self, arguments: &[&str]) -> Done {
        let program = Path::new(env!("CARGO_BIN_EXE_runwright"));
        let path = std::env::var("PATH").unwrap();
        let path = format!("{}:{path}", program.parent().unwrap().display());
        self.git_with(&path, arguments, &[])
    }

    fn push(&self) -> Done {
        self.git(&["push", "-q", "origin", "HEAD"])
    }

    fn commit(&self, file: &str) {
        self.project.write(file, "");
        self.project.commit();
    }

    fn runs(&self) -> usize {
        fs::read_to_string(&self.log).map_or(0, |text| text.lines().count())
    }

    fn hook(&self, action: &str) -> Done {
        self.project.runwright(&["hook", action]).expect_code(0)
    }
}

#[test]
fn push_runs_the_touched_jobs_and_fails_with_them() {
    let it = Pushing::new();
    it.hook("status").expect_text("not installed: there is no");
    it.hook("install")
        .expect_text("runs the jobs that a push touches");
    it.hook("install").expect_text("already runs");
    it.hook("status").expect_text("installed: ");
    it.push().expect_code(0);
    assert_eq!(it.runs(), 1);
    // A push without commits runs nothing, and deleting a branch needs no test.
    it.push().expect_code(0);
    it.git(&["push", "-q", "origin", "HEAD:other"])
        .expect_code(0);
    let before = it.runs();
    it.git(&["push", "-q", "origin", "--delete", "other"])
        .expect_code(0);
    assert_eq!(it.runs(), before);
    it.commit("broken");
    let stopped = it.push().expect_code(1);
    assert!(
        stopped.stderr.contains("the push is stopped"),
        "{}",
        stopped.stderr
    );
    let skip = [("RUNWRIGHT_SKIP_HOOK", "1")];
    let path = std::env::var("PATH").unwrap();
    it.git_with(&path, &["push", "-q", "origin", "HEAD"], &skip)
        .expect_code(0);
    it.hook("uninstall").expect_text("removed the hook from");
    assert!(!it.hooks().join("pre-push").exists());
    it.hook("uninstall")
        .expect_text("the hook is not installed in");
    assert_eq!(it.runs(), before);
}

#[test]
fn changes_are_compared_with_the_commit_on_the_server() {
    let it = Pushing::new();
    it.push().expect_code(0);
    it.hook("install");
    it.commit("more");
    let pushed = it.push().expect_code(0);
    assert!(
        pushed.stderr.contains("runwright run --changed="),
        "{}",
        pushed.stderr
    );
    assert_eq!(it.runs(), 1);
}

#[test]
fn push_of_another_commit_than_the_checked_out_one_is_reported() {
    const NOTE: &str = "the pushed commit is not checked out";
    let it = Pushing::new();
    it.push().expect_code(0);
    it.hook("install");
    it.git(&["tag", "plain"]).expect_code(0);
    let author = ["-c", "user.name=a", "-c", "user.email=a@b"];
    it.git(&[&author[..], &["tag", "-m", "about", "noted"]].concat())
        .expect_code(0);
    for tag in ["plain", "noted"] {
        let pushed = it.git(&["push", "origin", tag]).expect_code(0);
        assert!(!pushed.stderr.contains(NOTE), "{tag}: {}", pushed.stderr);
    }
    it.commit("more");
    let pushed = it.git(&["push", "origin", "HEAD~1:refs/heads/old"]);
    let pushed = pushed.expect_code(0);
    assert!(pushed.stderr.contains(NOTE), "{}", pushed.stderr);
}

#[test]
fn hook_ignores_git_variables_of_another_repository() {
    let it = Pushing::new();
    it.push().expect_code(0);
    it.hook("install");
    it.commit("more");
    // Git sets variables that locate the repository for its hooks, and so may the caller.
    let other = it.project.scratch().join("other");
    it.project.git(&["init", "-q", other.to_str().unwrap()]);
    let other = other.join(".git/index");
    let path = format!(
        "{}:{}",
        Path::new(env!("CARGO_BIN_EXE_runwright"))
            .parent()
            .unwrap()
            .display(),
        std::env::var("PATH").unwrap()
    );
    let foreign = [
        ("GIT_INDEX_FILE", other.to_str().unwrap()),
        ("GIT_PREFIX", "src/"),
    ];
    let pushed = it.git_with(&path, &["push", "origin", "HEAD"], &foreign);
    let pushed = pushed.expect_code(0);
    assert!(
        pushed.stderr.contains("1 file changed"),
        "{}",
        pushed.stderr
    );
    assert_eq!(it.runs(), 1);
}

#[test]
fn hook_without_the_program_warns_and_lets_the_push_through() {
    let it = Pushing::new();
    it.hook("install");
    let git = it.git_with(&std::env::var("PATH").unwrap(), &["--exec-path"], &[]);
    assert_eq!(git.code, Some(0));
    let pushed = it.git_with("/usr/bin:/bin", &["push", "-q", "origin", "HEAD"], &[]);
    let pushed = pushed.expect_code(0);
    assert!(
        pushed.stderr.contains("nothing is run before this push"),
        "{}",
        pushed.stderr
    );
}

#[test]
fn existing_hook_keeps_running_and_its_exit_code_counts() {
    for (hook, kept) in [
        ("#!/bin/sh\ncat > told\nexit $(cat code)\n", false),
        (
            "#!/usr/bin/env python3\nimport sys\nopen('told', 'w').write(sys.stdin.read())\nsys.exit(int(open('code').read()))\n",
            true,
        ),
    ] {
        let it = Pushing::new();
        it.write_hook(hook);
        it.project.write("code", "0");
        it.hook("install")
            .expect_text("and then what it ran before");
        assert_eq!(it.hooks().join("pre-push.before-runwright").exists(), kept);
        it.push().expect_code(0);
        assert_eq!(it.runs(), 1);
        let received = fs::read_to_string(it.project.dir().join("told")).unwrap();
        assert!(
            received.starts_with("HEAD ") || received.starts_with("refs/heads/main "),
            "{received}"
        );
        assert_eq!(received.lines().count(), 1, "{received}");
        it.project.write("code", "7");
        it.project.commit();
        it.push().expect_code(1);
        it.hook("uninstall");
        assert_eq!(
            fs::read_to_string(it.hooks().join("pre-push")).unwrap(),
            hook
        );
        let files = fs::read_dir(it.hooks()).unwrap().flatten();
        let files = files.filter(|it| it.file_name().to_string_lossy().starts_with("pre-push"));
        let files = files.filter(|it| it.file_name() != "pre-push.sample");
        assert_eq!(files.count(), 1);
    }
}

#[test]
fn worktrees_and_custom_hook_directories_are_respected() {
    let it = Pushing::new();
    it.project.git(&["config", "core.hooksPath", "my hooks"]);
    it.hook("install");
    assert!(it.project.dir().join("my hooks/pre-push").exists());
    it.hook("uninstall");
    it.project.git(&["config", "--unset", "core.hooksPath"]);
    it.project.git(&["worktree", "add", "-q", "../side"]);
    let side = it.project.scratch().join("side");
    let side = side.to_str().unwrap();
    it.project
        .runwright(&["hook", "install", "-C", side])
        .expect_code(0);
    assert!(it.hooks().join("pre-push").exists());
    fs::write(it.project.scratch().join("side/new"), "").unwrap();
    it.project.git(&["-C", side, "add", "-A"]);
    it.project.git(&["-C", side, "commit", "-q", "-m", "new"]);
    it.git(&["-C", side, "push", "-q", "origin", "HEAD"])
        .expect_code(0);
    assert_eq!(it.runs(), 1);
}

#[test]
fn detects_hook_manager() {
    let it = Pushing::new();
    it.project.git(&["config", "core.hooksPath", ".husky/_"]);
    it.project
        .runwright(&["hook", "install"])
        .expect_code(2)
        .expect_text("husky manages the hooks")
        .expect_text(".husky/pre-push");
    let it = Pushing::new();
    it.write_hook("#!/bin/sh\n# File generated by pre-commit: https://pre-commit.com\n");
    it.hook("install")
        .expect_text("pre-commit manages hooks here");
    Project::empty_directory()
        .runwright(&["hook", "install"])
        .expect_code(2)
        .expect_text("not inside a git repository");
}

#[test]
fn interrupted_installation_is_repaired() {
    let hook = "#!/usr/bin/python3\n";
    for next in ["install", "uninstall"] {
        let it = Pushing::new();
        fs::create_dir_all(it.hooks()).unwrap();
        let kept = it.hooks().join("pre-push.before-runwright");
        fs::write(&kept, hook).unwrap();
        fs::write(it.hooks().join("pre-push.runwright-new"), "#!/bin/sh\n").unwrap();
        it.hook(next);
        it.hook("uninstall");
        let given_back = fs::read_to_string(it.hooks().join("pre-push")).unwrap();
        assert_eq!(given_back, hook);
        assert!(!kept.exists());
        assert!(!it.hooks().join("pre-push.runwright-new").exists());
    }
}
