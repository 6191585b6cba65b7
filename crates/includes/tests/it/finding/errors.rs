use super::scripted::{Scripted, component, one, project, remote, remote_includes, request, sha};
use includes::{Answer, LibraryError};
use pipeline::include::{
    FileHome, IncludeError, IncludeFailure, IncludeLocation, IncludeRequest, IncludeSource,
};
use std::sync::Arc;

/// Returns the error of a file whose commit or page has no answer.
fn include_error(request: IncludeRequest, error: LibraryError) -> IncludeError {
    let library = Scripted::new(&[])
        .with_error("commit g/p@main", error.clone())
        .with_error("page https://e.com/a.yml", error);
    let found = one(&remote_includes(&Arc::new(library)), request);
    found.expect_err("there is no answer")
}

#[test]
fn library_error_decides_the_include_error() {
    let reason = || "because".to_owned();
    let help = || Some("do that".to_owned());
    let check = |error: LibraryError, kind: IncludeFailure, expected_help: Option<&str>| {
        match include_error(project("g/p", "x.yml", Some("main")), error.clone()) {
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
        }
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
        include_error(project("g/p", "x.yml", Some("main")), no_reference),
        IncludeError::UnknownReference("main".to_owned())
    );
    let page = include_error(
        remote("https://e.com/a.yml"),
        LibraryError::Unavailable(reason()),
    );
    assert_eq!(page.to_string(), "because");
}

#[test]
fn invalid_includes_are_never_requested() {
    let library = Arc::new(Scripted::new(&[]));
    let remote_includes = remote_includes(&library);
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
    for (found, request) in remote_includes.fetch(&requests).into_iter().zip(&requests) {
        assert!(found.is_err(), "{request:?}");
    }
    assert_eq!(library.take_asked(), [""; 0]);
}

#[test]
fn absent_files_are_missing() {
    let library = Arc::new(Scripted::new(&[("commit g/p@main", &sha("a"))]));
    let remote_includes = remote_includes(&library);
    let found = remote_includes.fetch(&[
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
fn implied_references_have_their_own_messages() {
    let library = Arc::new(Scripted::new(&[]));
    let template = request(IncludeLocation::Template {
        name: "Jobs/No.gitlab-ci.yml".to_owned(),
    });
    let check = |request: IncludeRequest, expect: &str, expected_help: &str| match one(
        &remote_includes(&library),
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
fn invalid_answers_are_rejected() {
    let check = |library: Scripted, expect: &str| {
        let found = one(
            &remote_includes(&Arc::new(library)),
            project("g/p", "x.yml", Some("main")),
        );
        let error = found.expect_err("invalid").to_string();
        assert!(error.contains(expect), "{error}");
    };
    check(
        Scripted::new(&[("commit g/p@main", "../../etc")]),
        "not the id of a commit",
    );
    check(
        Scripted::new(&[("commit g/p@main", "")]),
        "not the id of a commit",
    );
    let unchanged = Scripted::new(&[]).with_answer("commit g/p@main", Answer::Unchanged);
    check(unchanged, "reports no change");
    let bytes = b"a: \xff".as_slice().into();
    let file = Scripted::new(&[("commit g/p@main", &sha("a"))])
        .with_answer("file g/p@a x.yml", Answer::Body { bytes, etag: None });
    check(file, "invalid UTF-8 at line 1");
}
