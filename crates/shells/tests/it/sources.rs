//! Sources of real repositories, fetched by scripts under every shell and by the plan itself.

use crate::checkout::{Checkout, METHODS, Method, sourcing};
use crate::native::Native;
use crate::repository::{Repository, git};
use crate::support::{Feed, JobDirs, Shell, require, text};
use executor_core::job::GitInfo;
use executor_core::stage::BuildStage;
use executor_core::variable::JobVariables;
use std::fs;
use std::os::unix::fs::PermissionsExt;

#[test]
fn fetch_creates_the_tree_and_then_reuses_it() {
    for method in METHODS {
        let checkout = Checkout::new(method);
        let one = checkout.origin.commit("a", "1");
        let outcome = checkout.must_get("main", &one);
        assert!(
            outcome.stdout.contains("as detached HEAD (ref is main)"),
            "{method:?} {outcome:#?}"
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
        assert_eq!(checkout.read("a").as_deref(), Some("1"), "{method:?}");
        assert_eq!(checkout.read("b").as_deref(), Some("2"), "{method:?}");
        assert_eq!(checkout.read("untracked/deep/file"), None, "{method:?}");
        assert!(
            checkout.read(".git/kept").is_some(),
            "{method:?}: the repository is the same one"
        );
    }
}

#[test]
fn clone_creates_the_tree_anew() {
    for method in METHODS {
        for flags in ["", "--no-tags"] {
            let mut checkout = Checkout::new(method);
            checkout.set("GIT_STRATEGY", "clone");
            checkout.set("GIT_CLONE_EXTRA_FLAGS", flags);
            let one = checkout.origin.commit("a", "1");
            checkout.write(".git/kept", "x");
            checkout.write("ignored/file", "x");
            checkout.must_get("main", &one);
            assert_eq!(checkout.read("a").as_deref(), Some("1"), "{method:?}");
            assert_eq!(
                (checkout.read(".git/kept"), checkout.read("ignored/file")),
                (None, None)
            );
        }
    }
}

#[test]
fn none_changes_nothing_and_empty_removes_everything() {
    for method in METHODS {
        let mut checkout = Checkout::new(method);
        let one = checkout.origin.commit("a", "1");
        checkout.write("mine", "x");
        checkout.set("GIT_STRATEGY", "none");
        checkout.must_get("main", &one);
        assert!(
            checkout.read("mine").is_some() && checkout.read("a").is_none(),
            "{method:?}"
        );
        checkout.set("GIT_STRATEGY", "empty");
        checkout.write(".hidden/x", "x");
        checkout.must_get("main", &one);
        assert_eq!(
            fs::read_dir(checkout.dirs.project()).unwrap().count(),
            0,
            "{method:?}"
        );
    }
}

#[test]
fn a_shallow_tree_becomes_complete() {
    for method in METHODS {
        let mut checkout = Checkout::new(method);
        for number in 0..5 {
            checkout.origin.commit("a", &number.to_string());
        }
        let head = checkout.origin.head();
        checkout.set("GIT_DEPTH", "1");
        let outcome = checkout.must_get("main", &head);
        assert!(
            outcome.stdout.contains("depth set to 1"),
            "{method:?} {outcome:#?}"
        );
        assert_eq!(checkout.commits(), "1", "{method:?}");
        checkout.set("GIT_DEPTH", "0");
        checkout.must_get("main", &head);
        assert_eq!(checkout.commits(), "5", "{method:?}");
    }
}

#[test]
fn a_commit_deeper_than_the_depth_is_fetched_by_name() {
    for method in METHODS {
        let mut checkout = Checkout::new(method);
        let old = checkout.origin.commit("a", "old");
        checkout.origin.git(&["tag", "keep"]);
        checkout.origin.commit("a", "newer");
        checkout.set("GIT_DEPTH", "1");
        checkout.must_get("main", &old);
        assert_eq!(checkout.read("a").as_deref(), Some("old"), "{method:?}");
    }
}

#[test]
fn branches_change_and_forced_pushes_are_followed() {
    for method in METHODS {
        let checkout = Checkout::new(method);
        let main = checkout.origin.commit("a", "main");
        checkout.must_get("main", &main);
        checkout
            .origin
            .git(&["checkout", "--quiet", "-b", "side/x"]);
        let side = checkout.origin.commit("b", "side");
        checkout.must_get("side/x", &side);
        assert_eq!(checkout.read("b").as_deref(), Some("side"), "{method:?}");
        checkout.origin.git(&["reset", "--quiet", "--hard", &main]);
        let forced = checkout.origin.commit("c", "forced");
        checkout.must_get("side/x", &forced);
        assert_eq!(
            (checkout.read("b"), checkout.head()),
            (None, forced),
            "{method:?}"
        );
        // The refs conflict: `side` is a file and `side/x` needs a directory.
        checkout.origin.git(&["checkout", "--quiet", &main]);
        checkout.origin.git(&["branch", "--quiet", "-D", "side/x"]);
        checkout.origin.git(&["checkout", "--quiet", "-b", "side"]);
        let side = checkout.origin.commit("d", "d");
        checkout.must_get("side", &side);
    }
}

#[test]
fn clean_flags_are_used() {
    for method in METHODS {
        let mut checkout = Checkout::new(method);
        let one = checkout.origin.commit("a", "1");
        checkout.must_get("main", &one);
        for (flags, kept) in [("none", true), ("-ffdx -e cache/", true), ("-ffdx", false)] {
            checkout.set("GIT_CLEAN_FLAGS", flags);
            checkout.write("cache/x", "x");
            checkout.must_get("main", &one);
            assert_eq!(
                checkout.read("cache/x").is_some(),
                kept,
                "{method:?} {flags}"
            );
        }
    }
}

#[test]
fn without_checkout_the_tree_stays_at_its_commit() {
    for method in METHODS {
        let mut checkout = Checkout::new(method);
        let one = checkout.origin.commit("a", "1");
        checkout.must_get("main", &one);
        checkout.set("GIT_CHECKOUT", "false");
        checkout.write("mine", "x");
        let two = checkout.origin.commit("a", "2");
        checkout.must_get("main", &two);
        assert_eq!(checkout.head(), one, "{method:?}");
        assert!(checkout.read("mine").is_some(), "{method:?}");
        git(&checkout.dirs.project(), &["cat-file", "-e", &two]);
    }
}

#[test]
fn a_sha256_repository_is_fetched() {
    for method in METHODS {
        let dirs = JobDirs::new();
        let path = dirs.root().join("origin");
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
            method,
            dirs,
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
            let outcome = match method {
                Method::Native => Native {
                    dirs: &checkout.dirs,
                    plan: &plan,
                    remote: &remote,
                }
                .run(),
                Method::Script(shell) => {
                    let scripts = sourcing(shell, plan.clone());
                    let script = text(&scripts, &BuildStage::GetSources);
                    checkout.dirs.run(shell, Feed::File, &script)
                }
            };
            assert_eq!(outcome.code, Some(0), "{method:?} {outcome:#?}");
        }
        assert_eq!(checkout.read("a").as_deref(), Some("1"), "{method:?}");
    }
}

#[test]
fn files_in_lfs_are_pulled_after_the_checkout() {
    require("git-lfs", "git-lfs");
    for method in METHODS {
        let mut checkout = Checkout::new(method);
        // Only the source repository configures the filter.
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
            "{method:?}"
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

#[test]
fn hooks_of_the_job_run_around_the_sources() {
    for shell in Shell::ALL {
        let checkout = Checkout::new(Method::Script(shell));
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
        let outcome = checkout.dirs.run(shell, Feed::Stdin, &script);
        assert_eq!(outcome.code, Some(0), "{shell:?} {outcome:#?}");
        assert!(outcome.stdout.ends_with('1'), "{shell:?} {outcome:#?}");
    }
}

#[test]
fn clearing_and_cleanup_remove_all_files_of_the_job() {
    for shell in Shell::ALL {
        let checkout = Checkout::new(Method::Script(shell));
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
            checkout.dirs.run(shell, Feed::Stdin, &cleanup).code,
            Some(0)
        );
        assert_eq!(
            (checkout.read("a").as_deref(), checkout.read("b")),
            (Some("1"), None)
        );
        assert!(!checkout.dirs.temp().exists(), "{shell:?}");

        checkout.write("locked/x", "x");
        let locked = checkout.dirs.project().join("locked");
        fs::set_permissions(&locked, fs::Permissions::from_mode(0o555)).unwrap();
        let clear = text(&scripts, &BuildStage::ClearWorktree);
        let outcome = checkout.dirs.run(shell, Feed::Stdin, &clear);
        assert_eq!(outcome.code, Some(0), "{shell:?} {outcome:#?}");
        assert_eq!(
            fs::read_dir(checkout.dirs.project()).unwrap().count(),
            0,
            "{shell:?}"
        );
    }
}
