//! Submodules of real repositories.

use crate::checkout::{Checkout, WAYS, Way};
use crate::native::Native;
use crate::repository::{Repository, git};
use executor_core::job::GitInfo;
use executor_core::variable::JobVariable;
use shells::GitPlan;
use shells::git::{GitDefaults, GitSettings, LocalSubmodules, Remote};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

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
