//! Sources of real repositories: by script under every shell, and by the plan itself.

use crate::checkout::{Checkout, WAYS, Way, sourcing};
use crate::native::Native;
use crate::repository::{Repository, git};
use crate::support::{Feed, Place, Shell, require, text};
use executor_core::job::GitInfo;
use executor_core::stage::BuildStage;
use executor_core::variable::JobVariables;
use std::fs;
use std::os::unix::fs::PermissionsExt;

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
        // Nothing but the repository the files come from knows the filter.
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
