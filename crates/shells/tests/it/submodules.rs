//! Submodules of real repositories.

use crate::checkout::{Checkout, METHODS, Method};
use crate::native::Native;
use crate::repository::{Repository, git};
use executor_core::job::GitInfo;
use executor_core::variable::JobVariable;
use shells::GitPlan;
use shells::git::{GitDefaults, GitSettings, LocalSubmodules, Remote};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

/// Creates a repository with the submodule `sub`, which has the submodule `inner`.
fn with_submodules(checkout: &Checkout) -> (Repository, Repository) {
    let inner = Repository::new(checkout.dirs.root().join("inner"));
    inner.commit("i", "inner 1");
    let sub = Repository::new(checkout.dirs.root().join("sub"));
    sub.commit("s", "sub 1");
    sub.add_submodule(&inner, "inner");
    checkout.origin.commit("a", "1");
    checkout.origin.add_submodule(&sub, "sub");
    (sub, inner)
}

#[test]
fn submodules_are_fetched_on_request() {
    for method in METHODS {
        for (strategy, sub, inner) in [
            ("none", false, false),
            ("normal", true, false),
            ("recursive", true, true),
        ] {
            let mut checkout = Checkout::new(method);
            let _kept = with_submodules(&checkout);
            checkout.set("GIT_SUBMODULE_STRATEGY", strategy);
            checkout.must_get("main", &checkout.origin.head());
            assert_eq!(
                checkout.read("sub/s").is_some(),
                sub,
                "{method:?} {strategy}"
            );
            assert_eq!(
                checkout.read("sub/inner/i").is_some(),
                inner,
                "{method:?} {strategy}"
            );
        }
    }
}

#[test]
fn submodules_are_updated_and_cleaned() {
    for method in METHODS {
        let mut checkout = Checkout::new(method);
        let (sub, _inner) = with_submodules(&checkout);
        checkout.set("GIT_SUBMODULE_STRATEGY", "recursive");
        checkout.set("GIT_SUBMODULE_DEPTH", "1");
        checkout.set("GIT_SUBMODULE_UPDATE_FLAGS", "--jobs 2");
        checkout.must_get("main", &checkout.origin.head());

        let trap = checkout.dirs.root().join("trap");
        fs::write(
            &trap,
            format!("#!/bin/sh\ntouch {}.sprung\n", trap.display()),
        )
        .unwrap();
        fs::set_permissions(&trap, fs::Permissions::from_mode(0o755)).unwrap();
        let module = checkout.dirs.project().join(".git/modules/sub");
        fs::create_dir_all(module.join("hooks")).unwrap();
        symlink(&trap, module.join("hooks/post-checkout")).unwrap();
        let fsmonitor = ["config", "core.fsmonitor", trap.to_str().unwrap()];
        git(&checkout.dirs.project().join("sub"), &fsmonitor);
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
        assert_eq!(
            checkout.read("sub/s").as_deref(),
            Some("sub 2"),
            "{method:?}"
        );
        assert_eq!(checkout.read("sub/untracked"), None, "{method:?}");
        assert_eq!(checkout.read("sub/inner/untracked"), None, "{method:?}");
        assert!(
            !checkout.dirs.root().join("trap.sprung").exists(),
            "{method:?}"
        );
    }
}

#[test]
fn only_the_named_submodules_are_fetched() {
    for method in METHODS {
        let mut checkout = Checkout::new(method);
        let (sub, _inner) = with_submodules(&checkout);
        checkout.origin.add_submodule(&sub, "other");
        checkout.set("GIT_SUBMODULE_STRATEGY", "normal");
        checkout.set("GIT_SUBMODULE_PATHS", "other");
        checkout.must_get("main", &checkout.origin.head());
        assert!(
            checkout.read("other/s").is_some() && checkout.read("sub/s").is_none(),
            "{method:?}"
        );
    }
}

#[test]
fn submodules_do_not_read_this_machines_files_unless_allowed() {
    let checkout = Checkout::new(Method::Native);
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
        dirs: &checkout.dirs,
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
