use super::scripted::{Scripted, one, project, remote, remote_includes, request, sha};
use includes::{Library, RemoteIncludes, RemoteSettings};
use pipeline::include::{
    FileHome, IncludeError, IncludeLocation, IncludeRequest, IncludeSource, IncludedFile,
};
use std::sync::Arc;

fn library() -> Arc<Scripted> {
    Arc::new(Scripted::new(&[
        ("commit g/p@HEAD", &sha("a")),
        ("commit g/p@main", &format!("{}\n", sha("b").to_uppercase())),
        ("file g/p@a x.yml", "x of a"),
        ("file g/p@a ci/y.yml", "y of a"),
        ("file g/p@b x.yml", "x of b"),
        ("file g/p@f x.yml", "x of f"),
        ("file https://other/git/g/p@c z.yml", "z of c"),
        ("tree https://other/git/g/p@c", "z.yml\nci/ä b.yml\n"),
        ("tree g/p@a", "x.yml\n"),
        ("page https://e.com/a.yml?k=v", "a"),
        ("page https://e.com/a.yml for 60 s", "a, kept"),
        ("page https://t/ci/Jobs/B.gitlab-ci.yml", "template"),
    ]))
}

fn texts(found: Vec<Result<IncludedFile, IncludeError>>) -> Vec<String> {
    let texts = found
        .into_iter()
        .map(|it| it.expect("a file").text.to_string());
    texts.collect()
}

#[test]
fn files_of_one_project_need_one_commit() {
    // R-GLCI-150 R-GLCI-153
    let library = library();
    let remote_includes = remote_includes(&library);
    let requests = [
        project("g/p", "x.yml", None),
        project("/g/p/", "/ci//y.yml", Some("HEAD")),
        project("g/p", "x.yml", Some("main")),
        project("g/p", "x.yml", Some(&sha("f"))),
        project("g/p", "ci/../x.yml", None),
    ];
    let expect = ["x of a", "y of a", "x of b", "x of f", "x of a"];
    assert_eq!(texts(remote_includes.fetch(&requests)), expect);
    let mut asked = library.take_asked();
    asked.sort();
    assert_eq!(
        asked,
        [
            "commit g/p@HEAD",
            "commit g/p@main",
            "file g/p@a ci/y.yml",
            "file g/p@a x.yml",
            "file g/p@b x.yml",
            "file g/p@f x.yml",
        ]
    );
    // Answers are remembered.
    assert_eq!(texts(remote_includes.fetch(&requests)), expect);
    assert_eq!(library.take_asked(), [""; 0]);
}

#[test]
fn included_file_has_its_project_and_commit_as_home() {
    let library = library();
    let remote_includes = remote_includes(&library);
    let found = one(&remote_includes, project("g/p", "ci/y.yml", None)).expect("a file");
    assert_eq!(found.name, "g/p/ci/y.yml@a0000000");
    let local = IncludeRequest {
        location: IncludeLocation::Local {
            path: "x.yml".to_owned(),
        },
        from: found.home,
    };
    assert_eq!(
        &*one(&remote_includes, local).expect("a file").text,
        "x of a"
    );
}

#[test]
fn references_in_a_file_are_resolved_on_its_server() {
    let library = library();
    let remote_includes = remote_includes(&library);
    let home = FileHome::Project {
        server: Some("https://other/git".into()),
        path: "g/p".into(),
        sha: sha("c").into(),
    };
    let local = IncludeLocation::Local {
        path: "z.yml".to_owned(),
    };
    let of_project = project("g/p", "z.yml", Some(&sha("c"))).location;
    for location in [local, of_project] {
        let from = home.clone();
        let found = one(&remote_includes, IncludeRequest { location, from }).expect("a file");
        assert_eq!((&*found.text, &found.home), ("z of c", &home));
    }
    let paths = remote_includes.paths(&home).expect("paths");
    assert_eq!(paths.to_vec(), ["z.yml", "ci/ä b.yml"]);
    let paths = remote_includes.paths_of("g/p", None).expect("paths");
    assert_eq!(paths.to_vec(), ["x.yml"]);
}

#[test]
fn pages_and_templates_have_no_home() {
    // R-GLCI-148 R-GLCI-149
    let library = library();
    let mut settings = RemoteSettings::new(Arc::new(super::scripted::User));
    settings.templates = web::Url::parse("https://t/ci").expect("an address");
    let remote_includes = RemoteIncludes::new(Arc::clone(&library) as Arc<dyn Library>, settings);
    let kept = IncludeLocation::Remote {
        url: "https://e.com/a.yml".to_owned(),
        integrity: None,
        cache: Some(60),
    };
    let template = IncludeLocation::Template {
        name: "Jobs/B.gitlab-ci.yml".to_owned(),
    };
    let requests = [
        remote("https://e.com/a.yml?k=v"),
        request(kept),
        request(template),
    ];
    let found = remote_includes.fetch(&requests);
    let names: Vec<&str> = found.iter().flatten().map(|it| &*it.name).collect();
    assert_eq!(
        names,
        [
            "https://e.com/a.yml",
            "https://e.com/a.yml",
            "Jobs/B.gitlab-ci.yml"
        ]
    );
    assert!(
        found
            .iter()
            .flatten()
            .all(|it| it.home == FileHome::NoProject)
    );
    assert_eq!(texts(found), ["a", "a, kept", "template"]);
}
