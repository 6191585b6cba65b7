use super::scripted::{Scripted, component, elsewhere, one, project, remote, request, sha};
use includes::{Answer, LibraryError};
use pipeline::include::{
    FileHome, IncludeError, IncludeFailure, IncludeLocation, IncludeRequest, IncludeSource,
};
use std::sync::Arc;

/// Returns what is said of a file whose commit or page a library cannot tell.
fn said(request: IncludeRequest, error: LibraryError) -> IncludeError {
    let library = Scripted::new(&[])
        .with_error("commit g/p@main", error.clone())
        .with_error("page https://e.com/a.yml", error);
    let found = one(&elsewhere(&Arc::new(library)), request);
    found.expect_err("there is no answer")
}

#[test]
fn why_there_is_no_answer_decides_what_is_said() {
    let reason = || "because".to_owned();
    let help = || Some("do that".to_owned());
    let check = |error: LibraryError, kind: IncludeFailure, expected_help: Option<&str>| match said(
        project("g/p", "x.yml", Some("main")),
        error.clone(),
    ) {
        IncludeError::Failed {
            kind: got,
            reason,
            help,
        } => {
            assert_eq!(got, kind, "{error}");
            assert_eq!(reason, error.to_string());
            let help = help.unwrap_or_default();
            let expect = expected_help.unwrap_or_default();
            assert!(help.contains(expect), "{error}: {help}");
        }
        other => panic!("{error}: {other:?}"),
    };
    let (denied, not_fetched) = (IncludeFailure::Denied, IncludeFailure::NotFetched);
    check(
        LibraryError::NoProject {
            reason: reason(),
            help: help(),
        },
        denied,
        Some("do that"),
    );
    check(
        LibraryError::Denied {
            reason: reason(),
            help: help(),
        },
        denied,
        Some("do that"),
    );
    check(
        LibraryError::Refused {
            reason: reason(),
            help: help(),
        },
        denied,
        Some("do that"),
    );
    check(LibraryError::Offline, not_fetched, Some("--offline"));
    check(
        LibraryError::NotLocked(reason()),
        not_fetched,
        Some("runwright vendor"),
    );
    check(
        LibraryError::Unavailable(reason()),
        IncludeFailure::Unreadable,
        None,
    );

    let no_reference = LibraryError::NoReference("main".to_owned());
    assert_eq!(
        said(project("g/p", "x.yml", Some("main")), no_reference),
        IncludeError::UnknownReference("main".to_owned())
    );
    let page = said(
        remote("https://e.com/a.yml"),
        LibraryError::Unavailable(reason()),
    );
    assert_eq!(page.to_string(), "because");
}

#[test]
fn what_names_no_file_is_never_asked_for() {
    let library = Arc::new(Scripted::new(&[]));
    let elsewhere = elsewhere(&library);
    let nowhere = IncludeRequest {
        from: FileHome::NoProject,
        ..component("own/g/p/c@1")
    };
    let local = IncludeRequest {
        from: FileHome::NoProject,
        location: IncludeLocation::Local {
            path: "x.yml".to_owned(),
        },
    };
    let requests = [
        project("p", "x.yml", None),
        project("g/../p", "x.yml", None),
        project("https://own/g/p", "x.yml", None),
        project("g/p", "../x.yml", Some(&sha("a"))),
        project("g/p", "x.yml", Some("--upload-pack=x")),
        project("g/p", "x.yml", Some("a b")),
        component("own/g/p/c"),
        component("unknown/g/p/c@1"),
        component("own/g/p/c@~x"),
        remote("ssh://git@own/g/p.yml"),
        remote("file:///etc/passwd.yml"),
        nowhere,
        local,
    ];
    for (found, request) in elsewhere.fetch(&requests).into_iter().zip(&requests) {
        assert!(found.is_err(), "{request:?}");
    }
    assert_eq!(library.take_asked(), [""; 0]);
}

#[test]
fn what_is_not_there_is_missing() {
    let library = Arc::new(Scripted::new(&[("commit g/p@main", &sha("a"))]));
    let elsewhere = elsewhere(&library);
    let found = elsewhere.fetch(&[
        project("g/p", "x.yml", Some("main")),
        remote("https://e.com/a.yml"),
        project("g/p", "x.yml", Some("none")),
    ]);
    assert_eq!(found[0], Err(IncludeError::Missing));
    assert_eq!(found[1], Err(IncludeError::Missing));
    assert_eq!(
        found[2],
        Err(IncludeError::UnknownReference("none".to_owned()))
    );
}

#[test]
fn what_nobody_named_is_told_in_other_words() {
    let library = Arc::new(Scripted::new(&[]));
    let template = request(IncludeLocation::Template {
        name: "Jobs/No.gitlab-ci.yml".to_owned(),
    });
    let check = |request: IncludeRequest, expect: &str, expected_help: &str| match one(
        &elsewhere(&library),
        request,
    ) {
        Err(IncludeError::Failed { kind, reason, help }) => {
            assert_eq!(kind, IncludeFailure::Missing, "{reason}");
            assert!(reason.contains(expect), "{reason}");
            let help = help.unwrap_or_default();
            assert!(help.contains(expected_help), "{help}");
        }
        found => panic!("{found:?}"),
    };
    // An empty project has no default branch.
    let nothing = project("g/p", "x.yml", None);
    check(nothing, "no default branch", "a `ref` names another");
    check(template, "no template", "lib/gitlab/ci/templates/");
}

#[test]
fn a_server_that_answers_nonsense_is_not_believed() {
    let check = |library: Scripted, expect: &str| {
        let found = one(
            &elsewhere(&Arc::new(library)),
            project("g/p", "x.yml", Some("main")),
        );
        let error = found.expect_err("nonsense").to_string();
        assert!(error.contains(expect), "{error}");
    };
    check(
        Scripted::new(&[("commit g/p@main", "../../etc")]),
        "no id of one",
    );
    check(Scripted::new(&[("commit g/p@main", "")]), "no id of one");
    let unchanged = Scripted::new(&[]).with_answer("commit g/p@main", Answer::Unchanged);
    check(unchanged, "nothing changed");
    let bytes = b"a: \xff".as_slice().into();
    let file = Scripted::new(&[("commit g/p@main", &sha("a"))])
        .with_answer("file g/p@a x.yml", Answer::Body { bytes, etag: None });
    check(file, "invalid UTF-8 at line 1");
}
