//! Hostile repositories, trees and names.

use crate::checkout::{Checkout, METHODS, Method, sourcing};
use crate::repository::{Repository, git};
use crate::support::{Feed, JobDirs, Shell, text};
use executor_core::job::GitInfo;
use executor_core::stage::BuildStage;
use shells::GitPlan;
use shells::git::{GitSettings, PlanError, Remote};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

#[test]
fn locks_of_a_dead_git_are_removed() {
    for method in METHODS {
        let checkout = Checkout::new(method);
        let one = checkout.origin.commit("a", "1");
        checkout.must_get("main", &one);
        let two = checkout.origin.commit("a", "2");
        for lock in [
            "index",
            "shallow",
            "HEAD",
            "config",
            "packed-refs",
            "refs/remotes/origin/main",
        ] {
            checkout.write(&format!(".git/{lock}.lock"), "");
        }
        checkout.must_get("main", &two);
        assert_eq!(checkout.read("a").as_deref(), Some("2"), "{method:?}");
    }
}

#[test]
fn hooks_and_configuration_of_an_earlier_job_do_not_run() {
    for method in METHODS {
        let checkout = Checkout::new(method);
        let one = checkout.origin.commit("a", "1");
        checkout.must_get("main", &one);
        let trap = checkout.dirs.root().join("trap");
        fs::write(
            &trap,
            format!("#!/bin/sh\ntouch {}.sprung\n", trap.display()),
        )
        .unwrap();
        fs::set_permissions(&trap, fs::Permissions::from_mode(0o755)).unwrap();
        let git_dir = checkout.dirs.project().join(".git");
        fs::create_dir_all(git_dir.join("hooks")).unwrap();
        for hook in [
            "post-checkout",
            "reference-transaction",
            "post-index-change",
        ] {
            symlink(&trap, git_dir.join("hooks").join(hook)).unwrap();
        }
        let project = checkout.dirs.project();
        for key in [
            "core.fsmonitor",
            "core.sshCommand",
            "remote.origin.uploadpack",
        ] {
            git(&project, &["config", key, trap.to_str().unwrap()]);
        }
        git(
            &project,
            &[
                "config",
                "core.hooksPath",
                git_dir.join("hooks").to_str().unwrap(),
            ],
        );
        let two = checkout.origin.commit("a", "2");
        checkout.must_get("main", &two);
        assert!(
            !checkout.dirs.root().join("trap.sprung").exists(),
            "{method:?}"
        );
        assert!(!git_dir.join("hooks").exists(), "{method:?}");
    }
}

#[test]
fn a_git_directory_that_is_a_link_is_not_followed() {
    for method in METHODS {
        for kind in ["link", "file"] {
            let checkout = Checkout::new(method);
            let one = checkout.origin.commit("a", "1");
            let other = Repository::new(checkout.dirs.root().join("other"));
            other.commit("precious", "x");
            fs::write(other.path().join(".git/hooks/mine"), "x").unwrap();
            let target = other.path().join(".git");
            let dot_git = checkout.dirs.project().join(".git");
            match kind {
                "link" => symlink(&target, dot_git).unwrap(),
                _ => fs::write(dot_git, format!("gitdir: {}\n", target.display())).unwrap(),
            }
            checkout.must_get("main", &one);
            assert_eq!(
                checkout.read("a").as_deref(),
                Some("1"),
                "{method:?} {kind}"
            );
            assert!(
                other.path().join(".git/hooks/mine").exists(),
                "{method:?} {kind}"
            );
            assert_eq!(
                other.git(&["status", "--porcelain"]),
                "",
                "{method:?} {kind}"
            );
        }
    }
}

#[test]
fn a_broken_repository_does_not_affect_the_surrounding_one() {
    for method in METHODS {
        let mut checkout = Checkout::new(method);
        let one = checkout.origin.commit("a", "1");
        let around = Repository::new(checkout.dirs.root().to_owned());
        around.git(&["config", "user.name", "x"]);
        checkout.write("../precious", "x");
        checkout.set("GIT_STRATEGY", "fetch");
        checkout.must_get("main", &one);
        // `git init` repairs the repository, or a command fails; neither uses the parent directory.
        fs::remove_dir_all(checkout.dirs.project().join(".git/objects")).unwrap();
        checkout.get("main", &one);
        assert!(checkout.dirs.root().join("precious").exists(), "{method:?}");
        assert_eq!(
            around.git(&["rev-list", "--all", "--count"]),
            "0",
            "{method:?}"
        );
    }
}

#[test]
fn a_pipeline_started_from_a_hook_works_on_its_own_repository() {
    for shell in Shell::ALL {
        let checkout = Checkout::new(Method::Script(shell));
        let one = checkout.origin.commit("a", "1");
        let other = Repository::new(checkout.dirs.root().join("other"));
        let head = other.commit("b", "2");
        let info = GitInfo {
            ref_name: "main".to_owned(),
            sha: one,
            ..GitInfo::default()
        };
        let (plan, _) = checkout.plan(&info).unwrap();
        let script = text(&sourcing(shell, plan), &BuildStage::GetSources);
        let outcome = checkout
            .dirs
            .run_with(shell, Feed::Stdin, &script, |command| {
                command
                    .env("GIT_DIR", other.path().join(".git"))
                    .env("GIT_INDEX_FILE", "index");
            });
        assert_eq!(outcome.code, Some(0), "{shell:?} {outcome:#?}");
        assert_eq!(other.head(), head, "{shell:?}");
        assert_eq!(checkout.read("a").as_deref(), Some("1"), "{shell:?}");
    }
}

#[test]
fn credentials_reach_the_helper_but_neither_disk_nor_script() {
    let remote =
        Remote::parse("https://gitlab-ci-token:hunter2%21@gitlab.example:8443/a/b.git").unwrap();
    let info = GitInfo {
        ref_name: "main".to_owned(),
        sha: "a".repeat(40),
        ..GitInfo::default()
    };
    let plan = GitPlan::new(&info, &remote, &GitSettings::default()).unwrap();
    assert!(!format!("{plan:?}").contains("hunter2"));
    let fill = |host: &str| {
        let command = shells::git::GitCommand {
            args: vec!["credential".to_owned(), "fill".to_owned()],
            ..shells::git::GitCommand::default()
        };
        let argv: Vec<String> = plan
            .argv(&command)
            .iter()
            .map(|arg| shells::quote_sh(arg).unwrap())
            .collect();
        let script = format!("printf 'url=https://{host}\\n\\n' | {}\n", argv.join(" "));
        JobDirs::new().run_with(Shell::Dash, Feed::File, &script, |command| {
            command.envs(plan.env().iter().copied());
            command.envs(
                remote
                    .variables()
                    .into_iter()
                    .map(|one| (one.key, one.value)),
            );
        })
    };
    let answer = fill("gitlab.example:8443/a/b.git").stdout;
    assert!(
        answer.contains("username=gitlab-ci-token\npassword=hunter2!\n"),
        "{answer}"
    );
    let elsewhere = fill("elsewhere.example/x.git");
    assert!(!elsewhere.stdout.contains("hunter2"), "{elsewhere:#?}");
}

#[test]
fn names_that_would_be_options_are_refused() {
    let checkout = Checkout::new(Method::Native);
    let plan = |info: GitInfo| checkout.plan(&info).map(|_| ()).unwrap_err();
    let sha = "a".repeat(40);
    for name in ["--upload-pack=id", "-h", "a\nb"] {
        let info = GitInfo {
            ref_name: name.to_owned(),
            sha: sha.clone(),
            ..GitInfo::default()
        };
        assert!(matches!(plan(info), PlanError::Ref { .. }), "{name:?}");
        let refspecs = vec![format!("+{name}")];
        let info = GitInfo {
            refspecs,
            sha: sha.clone(),
            ..GitInfo::default()
        };
        assert!(matches!(plan(info), PlanError::Ref { .. }), "{name:?}");
    }
    for commit in [
        "--",
        "HEAD",
        "abc",
        "-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    ] {
        let info = GitInfo {
            sha: commit.to_owned(),
            ..GitInfo::default()
        };
        assert!(matches!(plan(info), PlanError::Commit { .. }), "{commit:?}");
    }
    assert_eq!(plan(GitInfo::default()), PlanError::Nothing);
}

#[test]
fn a_branch_name_is_never_run_as_a_command() {
    for method in METHODS {
        let checkout = Checkout::new(method);
        checkout.origin.commit("a", "1");
        let name = ";touch${IFS}pwned|$(touch${IFS}pwned)'`id`\"";
        checkout.origin.git(&["checkout", "--quiet", "-b", name]);
        let head = checkout.origin.commit("b", "2");
        checkout.must_get(name, &head);
        assert_eq!(checkout.read("b").as_deref(), Some("2"), "{method:?}");
        let pwned = |dir: &Path| dir.join("pwned").exists();
        assert!(
            !pwned(&checkout.dirs.project()) && !pwned(checkout.dirs.root()),
            "{method:?}"
        );
    }
}
