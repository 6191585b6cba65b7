use super::scripted::{Scripted, component, one, remote_includes, sha};
use includes::{LibraryError, OwnProject};
use pipeline::include::{FileHome, IncludeError, KnownFiles};
use std::sync::Arc;

/// Returns a library with versions of the component `c` of `g/p`.
fn library() -> Scripted {
    let tags = [
        ("a1", "1.0.0"),
        ("a2", "1.10.0"),
        ("a3", "1.9.0"),
        ("a4", "2.0.0-rc.1"),
        ("a5", "v0.3.0"),
        ("a6", "8"),
    ];
    let tags = tags.map(|(start, name)| format!("{} {name}\n", sha(start)));
    let full = sha("f");
    Scripted::new(&[
        ("tags g/p", &tags.concat()),
        ("commit g/p@1.0.0", &sha("a1")),
        ("commit g/p@8", &sha("a6")),
        ("commit g/p@main", &sha("b1")),
        ("commit g/p@2.0.0-rc.1", &sha("a4")),
        ("file g/p@a1 templates/c.yml", "a1"),
        ("file g/p@a2 templates/c.yml", "a2"),
        ("file g/p@a4 templates/c.yml", "a4"),
        ("file g/p@a5 templates/c/template.yml", "a5"),
        ("file g/p@a6 templates/c.yml", "a6"),
        ("file g/p@b1 templates/c.yml", " \n"),
        ("file g/p@b1 templates/c/template.yml", "b1"),
        ("file g/p@f templates/c.yml", &full),
        ("commit https://other/git/g/p@main", &sha("c1")),
        ("file https://other/git/g/p@c1 templates/c.yml", "c1"),
    ])
}

/// Checks where a component is found, and which questions that takes.
fn check(address: &str, commit: &str, version: &str, questions: &[&str]) {
    let library = Arc::new(library());
    let found = one(&remote_includes(&library), component(address));
    let found = found.unwrap_or_else(|error| panic!("{address}: {error}"));
    assert_eq!(found.name, address);
    let FileHome::Project {
        server,
        path,
        sha: at,
    } = found.home
    else {
        panic!("{address} has no home");
    };
    let host = if address.starts_with("own") {
        "https://own"
    } else {
        "https://other/git"
    };
    assert_eq!(
        (server.as_deref(), &*path, &*at),
        (Some(host), "g/p", &*sha(commit))
    );
    let (_, reference) = address.split_once('@').expect("a version");
    let context = [
        ("name", "c"),
        ("sha", &*at),
        ("version", version),
        ("reference", reference),
    ];
    let context = context.map(|(key, value)| (key.to_owned(), value.to_owned()));
    assert_eq!(found.component, context, "{address}");
    assert_eq!(library.take_asked(), questions, "{address}");
}

#[test]
fn versions_need_the_fewest_questions() {
    // R-GLCI-151 R-GLCI-152
    check(
        "own/g/p/c@~latest",
        "a2",
        "1.10.0",
        &["tags g/p", "file g/p@a2 templates/c.yml"],
    );
    check(
        "own/g/p/c@1",
        "a2",
        "1.10.0",
        &["tags g/p", "file g/p@a2 templates/c.yml"],
    );
    check(
        "own/g/p/c@~1.0",
        "a1",
        "1.0.0",
        &["tags g/p", "file g/p@a1 templates/c.yml"],
    );
    check(
        "own/g/p/c@0.3",
        "a5",
        "v0.3.0",
        &[
            "tags g/p",
            "file g/p@a5 templates/c.yml",
            "file g/p@a5 templates/c/template.yml",
        ],
    );
    check(
        "own/g/p/c@1.0.0",
        "a1",
        "1.0.0",
        &["commit g/p@1.0.0", "file g/p@a1 templates/c.yml"],
    );
    check(
        "own/g/p/c@2.0.0-rc.1",
        "a4",
        "2.0.0-rc.1",
        &["commit g/p@2.0.0-rc.1", "file g/p@a4 templates/c.yml"],
    );
    // No version starts with this number, but a tag has that name.
    check(
        "own/g/p/c@8",
        "a6",
        "",
        &["tags g/p", "commit g/p@8", "file g/p@a6 templates/c.yml"],
    );
    // An empty file is ignored.
    check(
        "own/g/p/c@main",
        "b1",
        "",
        &[
            "commit g/p@main",
            "file g/p@b1 templates/c.yml",
            "file g/p@b1 templates/c/template.yml",
        ],
    );
    check(
        &format!("own/g/p/c@{}", sha("f")),
        "f",
        "",
        &["file g/p@f templates/c.yml"],
    );
    check(
        "other/g/p/c@main",
        "c1",
        "",
        &[
            "commit https://other/git/g/p@main",
            "file https://other/git/g/p@c1 templates/c.yml",
        ],
    );
}

#[test]
fn missing_version_is_reported_with_the_highest() {
    let check = |library: Scripted, address: &str, expect: &str, expected_help: &str| {
        let library = Arc::new(library);
        match one(&remote_includes(&library), component(address)) {
            Err(IncludeError::Failed { reason, help, .. }) => {
                assert!(reason.contains(expect), "{address}: {reason}");
                let help = help.unwrap_or_default();
                assert!(help.contains(expected_help), "{address}: {help}");
            }
            found => panic!("{address}: {found:?}"),
        }
    };
    check(library(), "own/g/p/c@7", "no version `7`", "`1.10.0`");
    check(library(), "own/g/p/c@~8", "no version `~8`", "`1.10.0`");
    check(
        Scripted::new(&[]),
        "own/g/p/c@~latest",
        "no version `~latest`",
        "none of its tags",
    );
    check(
        library(),
        "own/g/p/d@1",
        "no component `d`",
        "templates/d/template.yml",
    );
    let gone = LibraryError::NoReference("7".to_owned());
    let library = library().with_error("commit g/p@7", gone);
    check(library, "own/g/p/c@7", "no version `7`", "`1.10.0`");
}

#[test]
fn ambiguous_address_gets_help() {
    let check = |library: Scripted, address: &str, expect: &str| {
        let found = one(&remote_includes(&Arc::new(library)), component(address));
        match found {
            Err(IncludeError::Failed { help, .. }) => {
                let help = help.unwrap_or_default();
                assert!(help.contains(expect), "{address}: {help}");
            }
            found => panic!("{address}: {found:?}"),
        }
    };
    check(library(), "own/g/p/c@latest", "`~latest`");
    // Without its host, the group is in the place of the host.
    let silent = LibraryError::Unavailable("no such host".to_owned());
    let library = Scripted::new(&[]).with_error("commit g/p@main", silent);
    check(library, "own/g/p/c@main", "HOST/GROUP/PROJECT/NAME@VERSION");
}

#[test]
fn missing_branch_is_named() {
    let library = Arc::new(library());
    let found = one(&remote_includes(&library), component("own/g/p/c@none"));
    assert_eq!(
        found,
        Err(IncludeError::UnknownReference("none".to_owned()))
    );
}

#[test]
fn own_components_come_from_the_working_tree() {
    let files = KnownFiles::with_own([
        ("templates/c.yml", " "),
        ("templates/c/template.yml", "of the tree"),
    ]);
    let own = OwnProject {
        path: "g/p".to_owned(),
        sha: sha("d"),
        reference: "main".to_owned(),
        files: Arc::new(files),
    };
    let check = |address: &str, is_own: bool| {
        let library = Arc::new(library());
        let remote_includes = remote_includes(&library);
        remote_includes.set_own(own.clone());
        let found = one(&remote_includes, component(address));
        let is_here = found.as_ref().is_ok_and(|it| it.home == FileHome::Own);
        assert_eq!(is_here, is_own, "{address}: {found:?}");
        assert_eq!(library.take_asked().is_empty(), is_own, "{address}");
    };
    check(&format!("own/g/p/c@{}", sha("d")), true);
    check(&format!("own/g/p/c@{}", &sha("d")[..8]), true);
    check(&format!("own/g/p/c@{}", &sha("f")[..8]), false);
    check(&format!("own/g/p/c@{}", &sha("d")[..6]), false);
    check("own/G/P/c@main", true);
    check(&format!("own/g/p/c@{}", sha("f")), false);
    check("own/g/p/c@1", false);
    check("own/g/q/c@main", false);
    check("other/g/p/c@main", false);
}
