//! The working copies of jobs: snapshots of every kind, worktrees, and the tree itself.

#![expect(
    clippy::disallowed_methods,
    reason = "the tests drive the binary from outside"
)]

use crate::killed_runner::guardian;
use crate::project::{Done, Project, copy_program, mounts_below, wait_until};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

/// Two parallel jobs that inspect the same tree and change it.
const LOOKERS: &str = r#"
.look:
  script:
    - test "$(cat modified)" = new
    - test "$(cat added)" = added && test "$(cat untracked)" = untracked
    - test ! -e deleted && test ! -e ignored
    - test ! -e before && test "$(cat after)" = renamed
    - test -x tool && ./tool
    - test "$(readlink link)" = added && test "$(cat link)" = added
    - test "$(git rev-parse HEAD)" = "$CI_COMMIT_SHA"
    - git status --porcelain
    - echo dirty > modified; rm -r added; mkdir added; mv directory moved
    - test -e moved/file && test ! -e directory
    - git -c user.name=x -c user.email=x@y commit -qam mine
    - echo looked
one: {extends: .look}
two: {extends: .look}
"#;

/// Returns a project whose tree differs from its commit in every possible way.
fn dirty_project(pipeline: &str) -> Project {
    let project = Project::with_pipeline(pipeline);
    project.write(".gitignore", "ignored\n");
    for name in ["modified", "deleted", "directory/file"] {
        project.write(name, "old");
    }
    project.write("before", "renamed");
    project.write("tool", "#!/bin/sh\nexit 0\n");
    // Enough files for `auto` to mount an overlay where it can.
    for number in 0..100 {
        project.write(&format!("many/{}/{number}", number % 7), "x");
    }
    project.commit();
    project.write("modified", "new");
    project.write("added", "added");
    project.git(&["add", "added"]);
    project.write("untracked", "untracked");
    project.write("ignored", "ignored");
    let path = |name: &str| project.dir().join(name);
    fs::remove_file(path("deleted")).unwrap();
    project.git(&["mv", "before", "after"]);
    fs::set_permissions(path("tool"), fs::Permissions::from_mode(0o755)).unwrap();
    symlink("added", path("link")).unwrap();
    project
}

fn status(directory: &Path) -> String {
    let output = Command::new("git")
        .args(["status", "--porcelain"])
        .current_dir(directory)
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

fn is_root() -> bool {
    fs::metadata("/proc/self").unwrap().uid() == 0
}

/// Reports a test as not run where the user lacks the permissions for it.
pub(crate) fn needs_root(what: &str) -> bool {
    if !is_root() {
        executor_testkit::not_tested(what, "needs root");
    }
    is_root()
}

fn expect_looked(project: &Project, arguments: &[&str]) -> Done {
    let before = status(&project.dir());
    let done = project.runwright(arguments).expect_code(0);
    for job in ["one", "two"] {
        let looked = format!("{job} | looked");
        assert!(done.stdout.contains(&looked), "{}", done.stdout);
        // Deleted and untracked files are as in the tree, too.
        assert!(
            done.stdout.contains(&format!("{job} |  D deleted")),
            "{}",
            done.stdout
        );
        assert!(
            done.stdout.contains(&format!("{job} | ?? untracked")),
            "{}",
            done.stdout
        );
    }
    assert_eq!(
        status(&project.dir()),
        before,
        "nothing of ours is in the tree"
    );
    assert_eq!(project.leftovers(), Vec::<std::path::PathBuf>::new());
    assert_eq!(mounts_below(&project.home()), Vec::<String>::new());
    done
}

#[test]
fn jobs_see_the_uncommitted_tree_with_every_kind_of_snapshot() {
    let project = dirty_project(LOOKERS);
    expect_looked(&project, &["run"]);
    let done = expect_looked(&project, &["run", "-v", "--snapshot", "copy"]);
    assert!(done.stdout.contains("Copied"), "{}", done.stdout);
    if needs_root("overlays in the namespace of the host") {
        let done = expect_looked(&project, &["run", "-v", "--snapshot", "overlay"]);
        assert!(done.stdout.contains("Showing"), "{}", done.stdout);
    }
}

#[test]
fn jobs_see_the_tree_as_it_was_when_the_run_started() {
    let pipeline = "stages: [a, b]
first:
  stage: a
  script: [cat file, echo go, \"while test ! -e $RELEASE; do sleep 0.05; done\"]
later:
  stage: b
  retry: 1
  script: [cat file, \"test ! -e new\", \"test -e $RELEASE.again || { touch $RELEASE.again; exit 1; }\"]
";
    for means in ["auto", "copy"] {
        let project = Project::with_pipeline(pipeline);
        project.write("file", "then");
        let release = project.scratch().join("release");
        let variable = format!("RELEASE={}", release.display());
        let mut run = project.start(&["run", "--snapshot", means, "--variable", &variable]);
        project.wait_for("first | go");
        project.write("file", "now");
        project.write("new", "");
        fs::write(&release, "").unwrap();
        assert!(run.wait().unwrap().success(), "{}", project.printed());
        let printed = project.printed();
        assert_eq!(printed.matches("later | then").count(), 2, "{printed}");
    }
}

/// A job that stays in its directory until it is killed.
const STAYS: &str = "
stays:
  script:
    - setsid sh -c 'exec 3>held; sleep 600' &
    - echo changed > file
    - echo $CI_PROJECT_DIR
    - sleep 600
";

#[test]
fn overlay_does_not_outlive_a_killed_runner() {
    if !needs_root("overlays of a killed runner") {
        return;
    }
    for with_guardian in [false, true] {
        let project = Project::with_pipeline(STAYS);
        project.write("file", "x");
        let mut run = project.start(&["run", "--snapshot", "overlay"]);
        project.wait_for("stays | /");
        assert_eq!(
            mounts_below(&project.home()).len(),
            1,
            "{}",
            project.printed()
        );
        let guardian = guardian(&project);
        let mut pids = vec![run.id()];
        if with_guardian {
            // The guardian is killed first, or it would react to the death of the run.
            pids.insert(0, guardian);
        }
        let pids = pids.iter().map(ToString::to_string);
        Command::new("kill")
            .arg("-KILL")
            .args(pids)
            .status()
            .unwrap();
        run.wait().unwrap();
        if with_guardian {
            assert_eq!(mounts_below(&project.home()).len(), 1);
            // The next start cleans up and continues.
            project.write(".gitlab-ci.yml", "job: {script: [\"true\"]}\n");
            project.runwright(&["run"]).expect_code(0);
        }
        wait_until("mounts and directories to be gone", || {
            mounts_below(&project.home()).is_empty() && project.leftovers().is_empty()
        });
    }
}

#[test]
fn user_without_root_gets_overlays_in_a_namespace() {
    if !needs_root("becoming another user") {
        return;
    }
    let project = dirty_project(LOOKERS);
    let binary = project.scratch().join("runwright");
    copy_program(&binary);
    fs::create_dir(project.home()).unwrap();
    let nobody = 65_534;
    let given = Command::new("chown")
        .args(["-R", &format!("{nobody}:{nobody}")])
        .arg(project.scratch())
        .status();
    assert!(given.unwrap().success());
    chown(project.scratch(), Some(nobody), Some(nobody)).unwrap();
    let as_nobody = |arguments: &[&str]| {
        let id = nobody.to_string();
        let mut command = Command::new("setpriv");
        command
            .args(["--reuid", &id, "--regid", &id, "--clear-groups"])
            .arg(&binary)
            .args(arguments)
            .current_dir(project.dir())
            .env("HOME", project.home())
            .env("RUNWRIGHT_HOME", project.home())
            .stdin(Stdio::null());
        command
    };
    let done = Done::from(
        as_nobody(&["run", "-v", "--snapshot", "overlay"])
            .output()
            .unwrap(),
    );
    let done = done.expect_code(0);
    assert!(done.stdout.contains("two | looked"), "{}", done.stdout);
    assert!(done.stdout.contains("Showing"), "{}", done.stdout);
    assert_eq!(project.leftovers(), Vec::<std::path::PathBuf>::new());
    // Without `--snapshot overlay`, no namespace is entered.
    let done = Done::from(as_nobody(&["run", "-v"]).output().unwrap()).expect_code(0);
    assert!(done.stdout.contains("Copied"), "{}", done.stdout);

    // A file that this user cannot read is named.
    project.write("closed", "x");
    fs::set_permissions(
        project.dir().join("closed"),
        fs::Permissions::from_mode(0o000),
    )
    .unwrap();
    let done = Done::from(as_nobody(&["run"]).output().unwrap()).expect_code(3);
    assert!(
        done.stdout.contains("copy closed: Permission denied"),
        "{}",
        done.stdout
    );
    fs::remove_file(project.dir().join("closed")).unwrap();

    project.write(".gitlab-ci.yml", STAYS);
    let out = fs::File::create(project.scratch().join("out")).unwrap();
    let mut run = as_nobody(&["run", "--snapshot", "overlay"])
        .stdout(out)
        .spawn()
        .unwrap();
    project.wait_for("stays | /");
    assert_eq!(
        mounts_below(&project.home()),
        Vec::<String>::new(),
        "only inside"
    );
    guardian(&project);
    run.kill().unwrap();
    run.wait().unwrap();
    wait_until("directories to be gone", || project.leftovers().is_empty());
}

#[test]
fn overlays_without_namespaces_are_refused_with_advice() {
    if !needs_root("a system without namespaces for users") {
        return;
    }
    let project = Project::with_pipeline("job: {script: [\"true\"]}\n");
    // A namespace that allows no nested one, and root without capabilities.
    let script = "echo 0 >/proc/sys/user/max_user_namespaces && \
        exec setpriv --bounding-set=-all \"$@\"";
    let command = project.command(&["run", "--snapshot", "overlay"]);
    let done = Command::new("unshare")
        .args(["--user", "--map-root-user", "sh", "-c", script, "sh"])
        .arg(command.get_program())
        .args(command.get_args())
        .current_dir(project.dir())
        .env("RUNWRIGHT_HOME", project.home())
        .output();
    let done = Done::from(done.unwrap()).expect_code(3);
    assert!(
        done.stderr.contains("enter a user namespace"),
        "{}",
        done.stderr
    );
    assert!(
        done.stderr.contains("leave out `--snapshot overlay`"),
        "{}",
        done.stderr
    );
}

#[test]
fn each_job_has_a_git_worktree_for_the_duration_of_the_run() {
    // R-PIPE-38
    let pipeline = "
.look:
  script:
    - git worktree list > \"$OUT.$CI_JOB_NAME\"
    - test \"$(cat file)\" = committed && test ! -e untracked
    - test \"$(git rev-parse HEAD)\" = \"$CI_COMMIT_SHA\"
    - while test ! -e \"$OUT.one\" || test ! -e \"$OUT.two\"; do sleep 0.05; done
one: {extends: .look}
two: {extends: .look}
";
    let project = Project::with_pipeline(pipeline);
    project.write("file", "committed");
    project.write(".git/hooks/post-checkout", "#!/bin/sh\ntouch \"$HOOKED\"\n");
    let hook = project.dir().join(".git/hooks/post-checkout");
    fs::set_permissions(hook, fs::Permissions::from_mode(0o755)).unwrap();
    project.commit();
    project.write("file", "changed");
    project.write("untracked", "x");
    let out = project.scratch().join("list");
    let variable = format!("OUT={}", out.display());
    let arguments = [
        "run",
        "--isolation",
        "worktree",
        "--concurrency",
        "2",
        "--variable",
        &variable,
    ];
    let hooked = project.scratch().join("hooked");
    let done = project
        .command(&arguments)
        .env("HOOKED", &hooked)
        .output()
        .unwrap();
    let done = Done::from(done).expect_code(0);
    assert!(done.all().contains("not committed"), "{}", done.all());
    assert!(!hooked.exists(), "the user's hooks are the user's");
    for job in ["one", "two"] {
        let listed = fs::read_to_string(format!("{}.{job}", out.display())).unwrap();
        assert!(
            listed.lines().count() >= 2 && listed.contains("builds-"),
            "{listed}"
        );
    }
    assert!(!project.dir().join(".git/worktrees").exists());
    assert_eq!(project.leftovers(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn worktree_runs_no_filter_of_the_repository() {
    let project = Project::with_pipeline("job: {script: [cat file]}\n");
    project.write(".gitattributes", "file filter=theirs\n");
    project.write("file", "as committed\n");
    project.write(".runwright.toml", "[run]\nisolation = 'worktree'\n");
    project.commit();
    let ran = project.scratch().join("ran");
    let program = format!("touch {}; cat", ran.display());
    for key in ["clean", "smudge"] {
        project.git(&["config", &format!("filter.theirs.{key}"), &program]);
    }
    project.write("file", "changed\n");
    let done = project.runwright(&["run"]).expect_code(0);
    assert!(!ran.exists(), "{done:?}");
    done.expect_text("job | as committed")
        .expect_text("configuration do not run: theirs; `git config --global`");
}

#[test]
fn worktree_does_not_outlive_a_killed_runner() {
    let project = Project::with_pipeline(STAYS);
    let mut run = project.start(&["run", "--isolation", "worktree"]);
    project.wait_for("stays | /");
    let registry = project.dir().join(".git/worktrees");
    assert_eq!(fs::read_dir(&registry).unwrap().count(), 1);
    guardian(&project);
    run.kill().unwrap();
    run.wait().unwrap();
    wait_until("the worktree to be gone", || {
        fs::read_dir(&registry).unwrap().count() == 0 && project.leftovers().is_empty()
    });
}

#[test]
fn parallel_jobs_are_processes_of_this_host() {
    // R-PIPE-35
    let pipeline = "
.meet:
  script:
    - echo $$ > \"$OUT.$CI_JOB_NAME\"
    - while test ! -s \"$OUT.one\" || test ! -s \"$OUT.two\"; do sleep 0.05; done
    - kill -0 $(cat \"$OUT.one\") $(cat \"$OUT.two\")
    - touch \"$OUT.$CI_JOB_NAME.seen\"
    - while test ! -e \"$OUT.one.seen\" || test ! -e \"$OUT.two.seen\"; do sleep 0.05; done
    - test \"$(readlink /proc/self/ns/pid)\" = \"$HOST\"
one: {extends: .meet}
two: {extends: .meet}
";
    let project = Project::with_pipeline(pipeline);
    let out = format!("OUT={}", project.scratch().join("pid").display());
    let host = fs::read_link("/proc/self/ns/pid").unwrap();
    let host = format!("HOST={}", host.display());
    let done = project.runwright(&[
        "run",
        "--concurrency",
        "2",
        "--variable",
        &out,
        "--variable",
        &host,
    ]);
    done.expect_code(0);
}

#[test]
fn conflicting_options_are_refused() {
    let project = Project::with_pipeline("job: {script: [\"true\"]}\n");
    for arguments in [
        ["run", "--in-place", "--isolation=worktree"],
        ["run", "--in-place", "--snapshot=copy"],
        ["run", "--isolation=somehow", "job"],
    ] {
        project.runwright(&arguments).expect_code(2);
    }
}

#[test]
fn state_inside_the_project_is_invisible_to_git_and_jobs() {
    let project =
        Project::with_pipeline("job: {script: [git status --porcelain, 'test ! -e .state']}");
    let run = |name: &str| {
        let mut command = project.command(&["run", "--output", "prefix"]);
        command.env("RUNWRIGHT_HOME", project.dir().join(name));
        let done = Done::from(command.output().unwrap()).expect_code(0);
        assert!(!done.stdout.contains("?? "), "{}", done.stdout);
    };
    run(".state");
    // The state contains the logs of the first run during the second.
    run(".state");
    let mut status = Command::new("git");
    let status = status.args(["status", "--porcelain"]);
    let output = status.current_dir(project.dir()).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
}

#[test]
fn worktrees_of_a_repository_without_commits_are_refused() {
    let project = Project::empty_directory();
    project.git(&["init", "-q"]);
    project.write(".gitlab-ci.yml", "job: {script: [echo hello]}\n");
    let done = project.runwright(&["run", "--isolation", "worktree"]);
    let done = done
        .expect_code(2)
        .expect_text("error: jobs in worktrees need a commit, and ");
    done.expect_text("help: commit the files, or use `--isolation snapshot`");
    project
        .runwright(&["run", "--isolation", "snapshot"])
        .expect_code(0);
    // No number is used up.
    project.runwright(&["history"]).expect_text("\n1 ");
}
