//! Sources of real repositories: by script under every shell, and by the plan itself.

use crate::native::Native;
use crate::repository::{Repository, git};
use crate::support::{Feed, Outcome, Place, Shell, require, scripts, text};
use executor_core::job::{GitInfo, RefType};
use executor_core::stage::BuildStage;
use executor_core::variable::{JobVariable, JobVariables};
use shells::git::{GitDefaults, GitSettings, LocalSubmodules, PlanError, Remote};
use shells::{GitPlan, JobScripts};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

/// How a plan is carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Script(Shell),
    Native,
}

const WAYS: [Way; 4] = [
    Way::Script(Shell::Bash),
    Way::Script(Shell::Dash),
    Way::Script(Shell::Busybox),
    Way::Native,
];

/// One job's place and the repository it takes its sources from.
struct Checkout {
    way: Way,
    place: Place,
    origin: Repository,
    variables: JobVariables,
}

impl Checkout {
    fn new(way: Way) -> Self {
        let place = Place::new();
        let origin = Repository::new(place.root().join("origin"));
        Self {
            way,
            place,
            origin,
            variables: JobVariables::new(),
        }
    }

    fn set(&mut self, name: &str, value: &str) {
        self.variables.push(JobVariable::public(name, value));
    }

    fn plan(&self, info: &GitInfo) -> Result<(GitPlan, Remote), PlanError> {
        let path = self.origin.path().to_str().expect("UTF-8");
        let remote = Remote::local(path, LocalSubmodules::Allowed).expect("a path");
        let defaults = GitDefaults::default();
        let (settings, warnings) = GitSettings::from_variables(&self.variables, defaults);
        assert!(warnings.is_empty(), "{warnings:?}");
        Ok((GitPlan::new(info, &remote, &settings)?, remote))
    }

    /// Brings `commit` of the branch `branch`.
    fn get(&self, branch: &str, commit: &str) -> Outcome {
        let info = GitInfo {
            ref_name: branch.to_owned(),
            sha: commit.to_owned(),
            ref_type: RefType::Branch,
            ..GitInfo::default()
        };
        let (plan, remote) = self.plan(&info).expect("a plan");
        match self.way {
            Way::Native => Native {
                place: &self.place,
                plan: &plan,
                remote: &remote,
            }
            .run(),
            Way::Script(shell) => {
                let scripts = sourcing(shell, plan);
                match scripts.script(&BuildStage::GetSources).expect("no NUL") {
                    Some(script) => self.place.run(shell, Feed::Stdin, script.text()),
                    None => Outcome {
                        code: Some(0),
                        stdout: String::new(),
                        stderr: String::new(),
                    },
                }
            }
        }
    }

    /// Brings the sources and expects success.
    fn must_get(&self, branch: &str, commit: &str) -> Outcome {
        let outcome = self.get(branch, commit);
        assert_eq!(outcome.code, Some(0), "{:?} {outcome:#?}", self.way);
        outcome
    }

    fn read(&self, file: &str) -> Option<String> {
        fs::read_to_string(self.place.project().join(file)).ok()
    }

    fn write(&self, file: &str, content: &str) {
        let file = self.place.project().join(file);
        fs::create_dir_all(file.parent().expect("a parent")).expect("a directory");
        fs::write(file, content).expect("a file");
    }

    fn head(&self) -> String {
        git(&self.place.project(), &["rev-parse", "HEAD"])
    }

    fn commits(&self) -> String {
        git(&self.place.project(), &["rev-list", "--count", "HEAD"])
    }
}

/// Returns scripts whose sources come by `plan`.
fn sourcing(shell: Shell, plan: GitPlan) -> JobScripts {
    JobScripts {
        sources: plan,
        ..scripts(shell.dialect(), &[])
    }
}

#[test]
fn fetch_makes_the_tree_and_then_reuses_it() {
    for way in WAYS {
        let checkout = Checkout::new(way);
        let one = checkout.origin.commit("a", "1");
        let outcome = checkout.must_get("main", &one);
        assert!(
            outcome.stdout.contains("as detached HEAD (ref is main)"),
            "{way:?} {outcome:#?}"
        );
        assert_eq!(
            (checkout.read("a").as_deref(), checkout.head()),
            (Some("1"), one)
        );

        checkout.write("a", "changed");
        checkout.write("untracked/deep/file", "x");
        checkout.write(".git/kept", "x");
        let two = checkout.origin.commit("b", "2");
        checkout.must_get("main", &two);
        assert_eq!(checkout.read("a").as_deref(), Some("1"), "{way:?}");
        assert_eq!(checkout.read("b").as_deref(), Some("2"), "{way:?}");
        assert_eq!(checkout.read("untracked/deep/file"), None, "{way:?}");
        assert!(
            checkout.read(".git/kept").is_some(),
            "{way:?}: the repository is the same one"
        );
    }
}

#[test]
fn clone_makes_the_tree_anew() {
    for way in WAYS {
        for flags in ["", "--no-tags"] {
            let mut checkout = Checkout::new(way);
            checkout.set("GIT_STRATEGY", "clone");
            checkout.set("GIT_CLONE_EXTRA_FLAGS", flags);
            let one = checkout.origin.commit("a", "1");
            checkout.write(".git/kept", "x");
            checkout.write("ignored/file", "x");
            checkout.must_get("main", &one);
            assert_eq!(checkout.read("a").as_deref(), Some("1"), "{way:?}");
            assert_eq!(
                (checkout.read(".git/kept"), checkout.read("ignored/file")),
                (None, None)
            );
        }
    }
}

#[test]
fn none_touches_nothing_and_empty_leaves_nothing() {
    for way in WAYS {
        let mut checkout = Checkout::new(way);
        let one = checkout.origin.commit("a", "1");
        checkout.write("mine", "x");
        checkout.set("GIT_STRATEGY", "none");
        checkout.must_get("main", &one);
        assert!(
            checkout.read("mine").is_some() && checkout.read("a").is_none(),
            "{way:?}"
        );
        checkout.set("GIT_STRATEGY", "empty");
        checkout.write(".hidden/x", "x");
        checkout.must_get("main", &one);
        assert_eq!(
            fs::read_dir(checkout.place.project()).unwrap().count(),
            0,
            "{way:?}"
        );
    }
}

#[test]
fn a_shallow_tree_becomes_a_whole_one() {
    for way in WAYS {
        let mut checkout = Checkout::new(way);
        for number in 0..5 {
            checkout.origin.commit("a", &number.to_string());
        }
        let head = checkout.origin.head();
        checkout.set("GIT_DEPTH", "1");
        let outcome = checkout.must_get("main", &head);
        assert!(
            outcome.stdout.contains("depth set to 1"),
            "{way:?} {outcome:#?}"
        );
        assert_eq!(checkout.commits(), "1", "{way:?}");
        checkout.set("GIT_DEPTH", "0");
        checkout.must_get("main", &head);
        assert_eq!(checkout.commits(), "5", "{way:?}");
    }
}

#[test]
fn a_commit_the_branch_has_left_behind_is_fetched_by_name() {
    for way in WAYS {
        let mut checkout = Checkout::new(way);
        let old = checkout.origin.commit("a", "old");
        checkout.origin.git(&["tag", "keep"]);
        checkout.origin.commit("a", "newer");
        checkout.set("GIT_DEPTH", "1");
        checkout.must_get("main", &old);
        assert_eq!(checkout.read("a").as_deref(), Some("old"), "{way:?}");
    }
}

#[test]
fn branches_switch_and_forced_pushes_follow() {
    for way in WAYS {
        let checkout = Checkout::new(way);
        let main = checkout.origin.commit("a", "main");
        checkout.must_get("main", &main);
        checkout
            .origin
            .git(&["checkout", "--quiet", "-b", "side/x"]);
        let side = checkout.origin.commit("b", "side");
        checkout.must_get("side/x", &side);
        assert_eq!(checkout.read("b").as_deref(), Some("side"), "{way:?}");
        checkout.origin.git(&["reset", "--quiet", "--hard", &main]);
        let forced = checkout.origin.commit("c", "forced");
        checkout.must_get("side/x", &forced);
        assert_eq!(
            (checkout.read("b"), checkout.head()),
            (None, forced),
            "{way:?}"
        );
        // A directory of the other name in the refs: `side` against `side/x`.
        checkout.origin.git(&["checkout", "--quiet", &main]);
        checkout.origin.git(&["branch", "--quiet", "-D", "side/x"]);
        checkout.origin.git(&["checkout", "--quiet", "-b", "side"]);
        let side = checkout.origin.commit("d", "d");
        checkout.must_get("side", &side);
    }
}

#[test]
fn locks_of_a_dead_git_do_not_stand_in_the_way() {
    for way in WAYS {
        let checkout = Checkout::new(way);
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
        assert_eq!(checkout.read("a").as_deref(), Some("2"), "{way:?}");
    }
}

#[test]
fn what_an_earlier_job_planted_does_not_run() {
    for way in WAYS {
        let checkout = Checkout::new(way);
        let one = checkout.origin.commit("a", "1");
        checkout.must_get("main", &one);
        let trap = checkout.place.root().join("trap");
        fs::write(
            &trap,
            format!("#!/bin/sh\ntouch {}.sprung\n", trap.display()),
        )
        .unwrap();
        fs::set_permissions(&trap, fs::Permissions::from_mode(0o755)).unwrap();
        let git_dir = checkout.place.project().join(".git");
        fs::create_dir_all(git_dir.join("hooks")).unwrap();
        for hook in [
            "post-checkout",
            "reference-transaction",
            "post-index-change",
        ] {
            symlink(&trap, git_dir.join("hooks").join(hook)).unwrap();
        }
        let project = checkout.place.project();
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
            !checkout.place.root().join("trap.sprung").exists(),
            "{way:?}"
        );
        assert!(!git_dir.join("hooks").exists(), "{way:?}");
    }
}

#[test]
fn a_git_directory_that_points_elsewhere_is_not_followed() {
    for way in WAYS {
        for kind in ["link", "file"] {
            let checkout = Checkout::new(way);
            let one = checkout.origin.commit("a", "1");
            let other = Repository::new(checkout.place.root().join("other"));
            other.commit("precious", "x");
            fs::write(other.path().join(".git/hooks/mine"), "x").unwrap();
            let target = other.path().join(".git");
            let dot_git = checkout.place.project().join(".git");
            match kind {
                "link" => symlink(&target, dot_git).unwrap(),
                _ => fs::write(dot_git, format!("gitdir: {}\n", target.display())).unwrap(),
            }
            checkout.must_get("main", &one);
            assert_eq!(checkout.read("a").as_deref(), Some("1"), "{way:?} {kind}");
            assert!(
                other.path().join(".git/hooks/mine").exists(),
                "{way:?} {kind}"
            );
            assert_eq!(other.git(&["status", "--porcelain"]), "", "{way:?} {kind}");
        }
    }
}

#[test]
fn a_broken_repository_never_touches_the_one_around_it() {
    for way in WAYS {
        let mut checkout = Checkout::new(way);
        let one = checkout.origin.commit("a", "1");
        let around = Repository::new(checkout.place.root().to_owned());
        around.git(&["config", "user.name", "x"]);
        checkout.write("../precious", "x");
        checkout.set("GIT_STRATEGY", "fetch");
        checkout.must_get("main", &one);
        // `git init` repairs what is broken, or a command fails; neither goes upwards.
        fs::remove_dir_all(checkout.place.project().join(".git/objects")).unwrap();
        checkout.get("main", &one);
        assert!(checkout.place.root().join("precious").exists(), "{way:?}");
        assert_eq!(
            around.git(&["rev-list", "--all", "--count"]),
            "0",
            "{way:?}"
        );
    }
}

#[test]
fn a_pipeline_started_from_a_hook_works_on_its_own_repository() {
    for shell in Shell::ALL {
        let checkout = Checkout::new(Way::Script(shell));
        let one = checkout.origin.commit("a", "1");
        let other = Repository::new(checkout.place.root().join("other"));
        let head = other.commit("b", "2");
        let info = GitInfo {
            ref_name: "main".to_owned(),
            sha: one,
            ..GitInfo::default()
        };
        let (plan, _) = checkout.plan(&info).unwrap();
        let script = text(&sourcing(shell, plan), &BuildStage::GetSources);
        let outcome = checkout
            .place
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
fn clean_flags_are_obeyed() {
    for way in WAYS {
        let mut checkout = Checkout::new(way);
        let one = checkout.origin.commit("a", "1");
        checkout.must_get("main", &one);
        for (flags, kept) in [("none", true), ("-ffdx -e cache/", true), ("-ffdx", false)] {
            checkout.set("GIT_CLEAN_FLAGS", flags);
            checkout.write("cache/x", "x");
            checkout.must_get("main", &one);
            assert_eq!(checkout.read("cache/x").is_some(), kept, "{way:?} {flags}");
        }
    }
}

#[test]
fn without_checkout_the_tree_stays_where_it_was() {
    for way in WAYS {
        let mut checkout = Checkout::new(way);
        let one = checkout.origin.commit("a", "1");
        checkout.must_get("main", &one);
        checkout.set("GIT_CHECKOUT", "false");
        checkout.write("mine", "x");
        let two = checkout.origin.commit("a", "2");
        checkout.must_get("main", &two);
        assert_eq!(checkout.head(), one, "{way:?}");
        assert!(checkout.read("mine").is_some(), "{way:?}");
        git(&checkout.place.project(), &["cat-file", "-e", &two]);
    }
}

#[test]
fn a_sha256_repository_is_fetched_as_one() {
    for way in WAYS {
        let place = Place::new();
        let path = place.root().join("origin");
        fs::create_dir(&path).unwrap();
        git(
            &path,
            &[
                "init",
                "--quiet",
                "--initial-branch=main",
                "--object-format=sha256",
            ],
        );
        let origin = Repository::new(path);
        let checkout = Checkout {
            way,
            place,
            origin,
            variables: JobVariables::new(),
        };
        let sha = checkout.origin.commit("a", "1");
        assert_eq!(sha.len(), 64);
        let info = GitInfo {
            ref_name: "main".to_owned(),
            repo_object_format: "sha256".to_owned(),
            sha,
            ..GitInfo::default()
        };
        let (plan, remote) = checkout.plan(&info).unwrap();
        for _ in 0..2 {
            let outcome = match way {
                Way::Native => Native {
                    place: &checkout.place,
                    plan: &plan,
                    remote: &remote,
                }
                .run(),
                Way::Script(shell) => {
                    let scripts = sourcing(shell, plan.clone());
                    let script = text(&scripts, &BuildStage::GetSources);
                    checkout.place.run(shell, Feed::File, &script)
                }
            };
            assert_eq!(outcome.code, Some(0), "{way:?} {outcome:#?}");
        }
        assert_eq!(checkout.read("a").as_deref(), Some("1"), "{way:?}");
    }
}

#[test]
fn files_kept_in_lfs_are_pulled_after_the_checkout() {
    require("git-lfs", "git-lfs");
    for way in WAYS {
        let mut checkout = Checkout::new(way);
        // The filter is the machine's, as `git lfs install` would have it.
        let filter = "[filter \"lfs\"]\nclean = git-lfs clean -- %f\nsmudge = git-lfs smudge -- %f\n\
                      process = git-lfs filter-process\nrequired = true\n";
        fs::write(checkout.place.root().join(".gitconfig"), filter).unwrap();
        checkout
            .origin
            .git(&["config", "filter.lfs.clean", "git-lfs clean -- %f"]);
        checkout
            .origin
            .commit(".gitattributes", "*.bin filter=lfs -text\n");
        let head = checkout.origin.commit("big.bin", "the real content");
        assert!(
            checkout
                .origin
                .git(&["show", "HEAD:big.bin"])
                .starts_with("version https://git-lfs")
        );
        checkout.must_get("main", &head);
        assert_eq!(
            checkout.read("big.bin").as_deref(),
            Some("the real content"),
            "{way:?}"
        );

        checkout.set("GIT_STRATEGY", "clone");
        checkout.set("GIT_LFS_SKIP_SMUDGE", "1");
        let info = GitInfo {
            ref_name: "main".to_owned(),
            sha: head,
            ..GitInfo::default()
        };
        let (plan, _) = checkout.plan(&info).unwrap();
        assert!(
            !format!("{plan:?}").contains("lfs"),
            "the job's own setting is left alone"
        );
    }
}

/// Makes a repository with the submodule `sub`, which has the submodule `inner`.
fn with_submodules(checkout: &Checkout) -> (Repository, Repository) {
    let inner = Repository::new(checkout.place.root().join("inner"));
    inner.commit("i", "inner 1");
    let sub = Repository::new(checkout.place.root().join("sub"));
    sub.commit("s", "sub 1");
    sub.add_submodule(&inner, "inner");
    checkout.origin.commit("a", "1");
    checkout.origin.add_submodule(&sub, "sub");
    (sub, inner)
}

#[test]
fn submodules_come_when_asked_for() {
    for way in WAYS {
        for (strategy, sub, inner) in [
            ("none", false, false),
            ("normal", true, false),
            ("recursive", true, true),
        ] {
            let mut checkout = Checkout::new(way);
            let _kept = with_submodules(&checkout);
            checkout.set("GIT_SUBMODULE_STRATEGY", strategy);
            checkout.must_get("main", &checkout.origin.head());
            assert_eq!(checkout.read("sub/s").is_some(), sub, "{way:?} {strategy}");
            assert_eq!(
                checkout.read("sub/inner/i").is_some(),
                inner,
                "{way:?} {strategy}"
            );
        }
    }
}

#[test]
fn submodules_follow_and_are_cleaned() {
    for way in WAYS {
        let mut checkout = Checkout::new(way);
        let (sub, _inner) = with_submodules(&checkout);
        checkout.set("GIT_SUBMODULE_STRATEGY", "recursive");
        checkout.set("GIT_SUBMODULE_DEPTH", "1");
        checkout.set("GIT_SUBMODULE_UPDATE_FLAGS", "--jobs 2");
        checkout.must_get("main", &checkout.origin.head());

        let trap = checkout.place.root().join("trap");
        fs::write(
            &trap,
            format!("#!/bin/sh\ntouch {}.sprung\n", trap.display()),
        )
        .unwrap();
        fs::set_permissions(&trap, fs::Permissions::from_mode(0o755)).unwrap();
        let module = checkout.place.project().join(".git/modules/sub");
        fs::create_dir_all(module.join("hooks")).unwrap();
        symlink(&trap, module.join("hooks/post-checkout")).unwrap();
        let fsmonitor = ["config", "core.fsmonitor", trap.to_str().unwrap()];
        git(&checkout.place.project().join("sub"), &fsmonitor);
        fs::write(module.join("index.lock"), "").unwrap();
        checkout.write("sub/s", "changed");
        checkout.write("sub/untracked", "x");
        checkout.write("sub/inner/untracked", "x");

        sub.commit("s", "sub 2");
        git(
            &checkout.origin.path().join("sub"),
            &["pull", "--quiet", "origin", "main"],
        );
        checkout
            .origin
            .git(&["commit", "--quiet", "--all", "--message", "next"]);
        checkout.must_get("main", &checkout.origin.head());
        assert_eq!(checkout.read("sub/s").as_deref(), Some("sub 2"), "{way:?}");
        assert_eq!(checkout.read("sub/untracked"), None, "{way:?}");
        assert_eq!(checkout.read("sub/inner/untracked"), None, "{way:?}");
        assert!(
            !checkout.place.root().join("trap.sprung").exists(),
            "{way:?}"
        );
    }
}

#[test]
fn only_the_submodules_named_come() {
    for way in WAYS {
        let mut checkout = Checkout::new(way);
        let (sub, _inner) = with_submodules(&checkout);
        checkout.origin.add_submodule(&sub, "other");
        checkout.set("GIT_SUBMODULE_STRATEGY", "normal");
        checkout.set("GIT_SUBMODULE_PATHS", "other");
        checkout.must_get("main", &checkout.origin.head());
        assert!(
            checkout.read("other/s").is_some() && checkout.read("sub/s").is_none(),
            "{way:?}"
        );
    }
}

#[test]
fn submodules_do_not_read_this_machines_files_unless_allowed() {
    let checkout = Checkout::new(Way::Native);
    let _kept = with_submodules(&checkout);
    let path = checkout.origin.path().to_str().unwrap();
    let remote = Remote::local(path, LocalSubmodules::Refused).unwrap();
    let variables = [JobVariable::public("GIT_SUBMODULE_STRATEGY", "normal")];
    let (settings, _) =
        GitSettings::from_variables(&variables.into_iter().collect(), GitDefaults::default());
    let info = GitInfo {
        ref_name: "main".to_owned(),
        sha: checkout.origin.head(),
        ..GitInfo::default()
    };
    let plan = GitPlan::new(&info, &remote, &settings).unwrap();
    let outcome = Native {
        place: &checkout.place,
        plan: &plan,
        remote: &remote,
    }
    .run();
    assert_ne!(outcome.code, Some(0));
    assert!(
        outcome.stderr.contains("transport 'file' not allowed"),
        "{outcome:#?}"
    );
}

#[test]
fn hooks_of_the_job_run_around_the_sources() {
    for shell in Shell::ALL {
        let checkout = Checkout::new(Way::Script(shell));
        let one = checkout.origin.commit("a", "1");
        let info = GitInfo {
            ref_name: "main".to_owned(),
            sha: one,
            ..GitInfo::default()
        };
        let (plan, _) = checkout.plan(&info).unwrap();
        let mut scripts = sourcing(shell, plan);
        scripts.pre_get_sources = vec!["test ! -e \"$CI_PROJECT_DIR/a\"".to_owned()];
        scripts.post_get_sources = vec!["cat a".to_owned()];
        let script = text(&scripts, &BuildStage::GetSources);
        let outcome = checkout.place.run(shell, Feed::Stdin, &script);
        assert_eq!(outcome.code, Some(0), "{shell:?} {outcome:#?}");
        assert!(outcome.stdout.ends_with('1'), "{shell:?} {outcome:#?}");
    }
}

#[test]
fn clearing_and_the_cleanup_after_the_job_leave_no_trace() {
    for shell in Shell::ALL {
        let checkout = Checkout::new(Way::Script(shell));
        let one = checkout.origin.commit("a", "1");
        checkout.must_get("main", &one);
        let info = GitInfo {
            ref_name: "main".to_owned(),
            sha: one,
            ..GitInfo::default()
        };
        let (plan, _) = checkout.plan(&info).unwrap();
        let mut scripts = sourcing(shell, plan);
        scripts.options.job_cleanup = true;
        checkout.write("a", "changed");
        checkout.write("b", "untracked");
        let cleanup = text(&scripts, &BuildStage::CleanupFileVariables);
        assert_eq!(
            checkout.place.run(shell, Feed::Stdin, &cleanup).code,
            Some(0)
        );
        assert_eq!(
            (checkout.read("a").as_deref(), checkout.read("b")),
            (Some("1"), None)
        );
        assert!(!checkout.place.temp().exists(), "{shell:?}");

        checkout.write("locked/x", "x");
        let locked = checkout.place.project().join("locked");
        fs::set_permissions(&locked, fs::Permissions::from_mode(0o555)).unwrap();
        let clear = text(&scripts, &BuildStage::ClearWorktree);
        let outcome = checkout.place.run(shell, Feed::Stdin, &clear);
        assert_eq!(outcome.code, Some(0), "{shell:?} {outcome:#?}");
        assert_eq!(
            fs::read_dir(checkout.place.project()).unwrap().count(),
            0,
            "{shell:?}"
        );
    }
}

#[test]
fn credentials_reach_the_helper_and_neither_disk_nor_script() {
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
        Place::new().run_with(Shell::Dash, Feed::File, &script, |command| {
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
fn names_that_would_be_options_make_no_plan() {
    let checkout = Checkout::new(Way::Native);
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
fn a_branch_whose_name_is_a_command_is_only_a_name() {
    for way in WAYS {
        let checkout = Checkout::new(way);
        checkout.origin.commit("a", "1");
        let name = ";touch${IFS}pwned|$(touch${IFS}pwned)'`id`\"";
        checkout.origin.git(&["checkout", "--quiet", "-b", name]);
        let head = checkout.origin.commit("b", "2");
        checkout.must_get(name, &head);
        assert_eq!(checkout.read("b").as_deref(), Some("2"), "{way:?}");
        let pwned = |dir: &Path| dir.join("pwned").exists();
        assert!(
            !pwned(&checkout.place.project()) && !pwned(checkout.place.root()),
            "{way:?}"
        );
    }
}
