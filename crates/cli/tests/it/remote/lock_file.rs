//! A pipeline with a complete lock file needs no server.

use super::remote_project::{RemoteProject, TOKEN};
use super::repeated_requests::{ALL, everything};
use crate::project::files_below;
use std::fs;

/// Simulates a machine of another user, without cache or settings, after the GitLab has gone.
fn alone(remote_project: &RemoteProject) {
    remote_project.gitlab.stop();
    fs::remove_dir_all(remote_project.project.home()).unwrap();
    remote_project.only_settings("");
}

#[test]
fn locked_pipeline_is_read_without_server_cache_and_token() {
    let (remote_project, ..) = everything();
    remote_project.runwright(&["vendor"]).expect_code(0);
    alone(&remote_project);
    assert_eq!(remote_project.jobs(&["--offline"]), ALL);
    remote_project
        .runwright(&["lint", "--offline"])
        .expect_code(0);
    remote_project
        .runwright(&["plan", "--offline"])
        .expect_code(0);
    remote_project
        .runwright(&["vendor", "--check"])
        .expect_code(0);
    let run = remote_project.runwright(&["run", "from-project", "--offline"]);
    // The shell reports the missing program, so the job has started.
    run.expect_code(1).expect_text("no-such-program: ");
}

#[test]
fn locked_includes_cause_no_request() {
    let (remote_project, files, components) = everything();
    remote_project.runwright(&["vendor"]).expect_code(0);
    files.commit(&[("b.yml", "nested: {script: changed}\n")]);
    components.tag("1.1.0");
    remote_project
        .gitlab
        .page("/remote.yml", "remote: {script: changed}\n");
    remote_project.gitlab.reset_count();
    assert_eq!(remote_project.jobs(&[]), ALL);
    remote_project
        .runwright(&["vendor", "--check"])
        .expect_code(0);
    assert_eq!(remote_project.gitlab.total(), 0);

    remote_project.runwright(&["vendor"]).expect_code(0);
    let jobs = remote_project.jobs(&[]);
    assert!(jobs.contains(&"nested: changed".to_owned()), "{jobs:?}");
    assert!(jobs.contains(&"remote: changed".to_owned()), "{jobs:?}");
}

#[test]
fn clone_reads_the_same_pipeline() {
    let (remote_project, ..) = everything();
    remote_project.runwright(&["vendor"]).expect_code(0);
    remote_project.project.commit();
    alone(&remote_project);
    let clone = remote_project.project.scratch().join("clone");
    remote_project
        .project
        .git(&["clone", "-q", ".", clone.to_str().unwrap()]);
    // The remote is the path of a directory, a mirror, another GitLab, or absent.
    for remote in [
        "",
        "git@github.com:o/mirror.git",
        "https://other.example/g/p.git",
        "-",
    ] {
        match remote {
            "" => {}
            "-" => {
                remote_project.project.git(&[
                    "-C",
                    clone.to_str().unwrap(),
                    "remote",
                    "remove",
                    "origin",
                ]);
            }
            remote => remote_project.project.git(&[
                "-C",
                clone.to_str().unwrap(),
                "remote",
                "set-url",
                "origin",
                remote,
            ]),
        }
        for arguments in [&["list", "--offline"][..], &["vendor", "--check"]] {
            let mut command = remote_project.command(arguments);
            let done = command.current_dir(&clone).output().unwrap();
            assert!(done.status.success(), "{remote}: {done:?}");
            let said = String::from_utf8_lossy(&done.stdout);
            for name in ["component", "from-project", "nested", "remote", "template"] {
                assert!(
                    arguments[0] != "list" || said.contains(name),
                    "{remote}: {done:?}"
                );
            }
        }
    }
}

#[test]
fn no_token_is_locked() {
    let (remote_project, ..) = everything();
    let secret = "?private_token=glpat-InTheAddress&as=a.yml";
    remote_project
        .gitlab
        .page("/remote.yml", "remote: {script: remote}\n");
    let file = remote_project.project.dir().join(".gitlab-ci.yml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(
        &file,
        text.replace("/remote.yml", &format!("/remote.yml{secret}")),
    )
    .unwrap();
    let done = remote_project.runwright(&["vendor"]).expect_code(0);
    assert!(!done.all().contains("InTheAddress"), "{}", done.all());
    let mut kept = files_below(&remote_project.project.dir().join(".runwright"));
    kept.push(remote_project.project.dir().join(".runwright.lock"));
    for path in kept.iter().filter(|path| path.is_file()) {
        let bytes = fs::read(path).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains(TOKEN), "{}", path.display());
        assert!(!text.contains("InTheAddress"), "{}: {text}", path.display());
    }
    alone(&remote_project);
    assert_eq!(remote_project.jobs(&["--offline"]), ALL);
}
