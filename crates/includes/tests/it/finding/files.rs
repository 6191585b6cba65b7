use super::scripted::{Scripted, elsewhere, one, project, remote, request, sha};
use includes::{Elsewhere, ElsewhereSettings, Library};
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
    let elsewhere = elsewhere(&library);
    let requests = [
        project("g/p", "x.yml", None),
        project("/g/p/", "/ci//y.yml", Some("HEAD")),
        project("g/p", "x.yml", Some("main")),
        project("g/p", "x.yml", Some(&sha("f"))),
        project("g/p", "ci/../x.yml", None),
    ];
    let expect = ["x of a", "y of a", "x of b", "x of f", "x of a"];
    assert_eq!(texts(elsewhere.fetch(&requests)), expect);
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
    // What was asked once is known from then on.
    assert_eq!(texts(elsewhere.fetch(&requests)), expect);
    assert_eq!(library.take_asked(), [""; 0]);
}

#[test]
fn a_file_lives_in_its_project_at_its_commit() {
    let library = library();
    let elsewhere = elsewhere(&library);
    let found = one(&elsewhere, project("g/p", "ci/y.yml", None)).expect("a file");
    assert_eq!(found.name, "g/p/ci/y.yml@a0000000");
    let local = IncludeRequest {
        location: IncludeLocation::Local {
            path: "x.yml".to_owned(),
        },
        from: found.home,
    };
    assert_eq!(&*one(&elsewhere, local).expect("a file").text, "x of a");
}

#[test]
fn what_a_file_names_is_on_the_server_it_came_from() {
    let library = library();
    let elsewhere = elsewhere(&library);
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
        let found = one(&elsewhere, IncludeRequest { location, from }).expect("a file");
        assert_eq!((&*found.text, &found.home), ("z of c", &home));
    }
    let paths = elsewhere.paths(&home).expect("paths");
    assert_eq!(paths.to_vec(), ["z.yml", "ci/ä b.yml"]);
    let paths = elsewhere.paths_of("g/p", None).expect("paths");
    assert_eq!(paths.to_vec(), ["x.yml"]);
}

#[test]
fn pages_and_templates_live_nowhere() {
    // R-GLCI-148 R-GLCI-149
    let library = library();
    let mut settings = ElsewhereSettings::new(Arc::new(super::scripted::User));
    settings.templates = web::Url::parse("https://t/ci").expect("an address");
    let elsewhere = Elsewhere::new(Arc::clone(&library) as Arc<dyn Library>, settings);
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
    let found = elsewhere.fetch(&requests);
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
