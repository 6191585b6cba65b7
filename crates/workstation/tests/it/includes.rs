//! Included files on disk.

use crate::project::Project;
use executor_core::Cancellation;
use executor_core::job::{Artifact, JobId};
use job_runner::{ArtifactFiles, ArtifactStore};
use pipeline::include::{FileHome, IncludeError, IncludeLocation, IncludeRequest, IncludeSource};
use pipeline::{LoadOptions, Pipeline};
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use workstation::{GitRepository, LocalIncludes, PipelineArtifacts, StateDir};
use yaml::Limits;

fn includes(project: &Project) -> LocalIncludes {
    let repository = Arc::new(GitRepository::new(&project.dir()));
    LocalIncludes::new(&project.dir(), repository)
}

fn fetch(project: &Project, path: &str) -> Result<String, IncludeError> {
    let request = IncludeRequest {
        location: IncludeLocation::Local {
            path: path.to_owned(),
        },
        from: FileHome::Own,
    };
    let mut found = includes(project).fetch(&[request]);
    found.remove(0).map(|file| file.text.to_string())
}

#[test]
fn files_of_the_working_tree_are_found() {
    // R-GLCI-147
    let project = Project::new();
    project.write("ci/untracked.yml", "a: 1");
    project.write("ci/utf16.yml", b"\xff\xfea\0:\0");
    symlink("untracked.yml", project.dir().join("ci/link.yml")).unwrap();
    for path in [
        "ci/untracked.yml",
        "/ci/untracked.yml",
        "ci/link.yml",
        "ci/../ci/link.yml",
    ] {
        assert_eq!(fetch(&project, path).as_deref(), Ok("a: 1"), "{path}");
    }
    assert_eq!(fetch(&project, "ci/utf16.yml").as_deref(), Ok("a:"));
    assert_eq!(fetch(&project, "ci/gone.yml"), Err(IncludeError::Missing));
    assert_eq!(
        fetch(&project, ".gitlab-ci.yml/x.yml"),
        Err(IncludeError::Missing)
    );
    let paths = includes(&project).paths(&FileHome::Own).unwrap();
    let expect = [
        ".gitlab-ci.yml",
        "ci/link.yml",
        "ci/untracked.yml",
        "ci/utf16.yml",
    ];
    assert_eq!(paths.to_vec(), expect);
}

#[test]
fn no_path_leads_out_of_the_project() {
    let project = Project::new();
    project.write_home("secret.yml", "a: 1");
    symlink("../home/secret.yml", project.dir().join("out.yml")).unwrap();
    symlink("../home", project.dir().join("home")).unwrap();
    symlink("loop.yml", project.dir().join("loop.yml")).unwrap();
    let absolute = project.home().join("secret.yml").display().to_string();
    for path in [
        "../home/secret.yml",
        "a/../../home/secret.yml",
        "out.yml",
        "home/secret.yml",
        "loop.yml",
    ] {
        let refused = fetch(&project, path).expect_err(path);
        assert!(
            matches!(refused, IncludeError::Unreadable(_)),
            "{path}: {refused:?}"
        );
    }
    for path in [
        &*absolute,
        "/etc/passwd",
        ".git/config",
        "a\0b",
        &"x/".repeat(5000),
    ] {
        assert_eq!(
            fetch(&project, path),
            Err(IncludeError::Missing),
            "{path:?}"
        );
    }
}

#[test]
fn only_text_files_are_read() {
    let project = Project::new();
    project.write("broken.yml", b"a: \xff");
    project.write("dir.yml/x", "");
    let _socket = UnixListener::bind(project.dir().join("socket.yml")).unwrap();
    let limit = Limits::default().bytes;
    project.write("big.yml", vec![b'#'; limit + 1]);
    rustix::fs::mknodat(
        rustix::fs::CWD,
        project.dir().join("pipe.yml"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    let check = |path: &str, expect: &str| {
        let refused = fetch(&project, path).map(|text| text.len());
        let refused = refused.expect_err(path).to_string();
        assert!(refused.contains(expect), "{path}: {refused}");
    };
    check("broken.yml", "line 1");
    check("dir.yml", "directory");
    check("socket.yml", "not a file");
    check("pipe.yml", "not a file");
    check("big.yml", &format!("{limit} bytes"));
}

#[test]
fn other_kinds_of_includes_are_not_fetched() {
    let project = Project::new();
    let (url, name) = (
        "https://example.com/x.yml".to_owned(),
        "x.gitlab-ci.yml".to_owned(),
    );
    let locations = [
        IncludeLocation::Remote {
            url,
            integrity: None,
            cache: None,
        },
        IncludeLocation::Template { name },
        IncludeLocation::Component {
            address: "example.com/grp/app/x@1".to_owned(),
        },
        IncludeLocation::Project {
            project: "grp/app".to_owned(),
            file: "x.yml".to_owned(),
            reference: None,
        },
    ];
    let requests = locations.map(|location| IncludeRequest {
        location,
        from: FileHome::Own,
    });
    for found in includes(&project).fetch(&requests) {
        let refused = found.expect_err("not fetched");
        assert!(matches!(refused, IncludeError::NotFetched(_)), "{refused}");
    }
}

/// Returns the child pipeline that includes an artifact, or the error.
fn child_of_artifact(project: &Project, includes: &LocalIncludes, path: &str) -> String {
    let text = format!(
        "gen: {{script: x}}\nstart: {{trigger: {{include: [{{artifact: {path}, job: gen}}]}}}}\n"
    );
    project.write(".gitlab-ci.yml", &text);
    let options = LoadOptions {
        includes,
        ..LoadOptions::default()
    };
    let parent = Pipeline::load(".gitlab-ci.yml", &text, &options);
    let (parent, found) = parent.into_result().unwrap();
    let child = parent.child("start", found.sources(), &options).unwrap();
    match child.into_result() {
        Ok((child, _)) => child.tree().to_json().to_string(),
        Err(found) => found.errors().next().unwrap().message.clone(),
    }
}

#[tokio::test]
async fn artifacts_of_a_finished_pipeline_are_included_in_a_child() {
    let project = Project::new();
    project.write("ci/a.yml", "a: {script: a}");
    let job = project.home().join("job");
    fs::create_dir_all(job.join("out")).unwrap();
    fs::write(job.join("out/gen.yml"), "include: ci/a.yml\nb: {script: b}").unwrap();
    symlink("/etc/hostname", job.join("link.yml")).unwrap();
    let store = StateDir::at(project.home()).kept_files();
    let store = store.of_run(&project.home().join("run"));
    let files = ArtifactFiles {
        name: String::new(),
        project: job,
        paths: vec!["link.yml".into(), "out/gen.yml".into()],
    };
    let nobody_stops = Cancellation::new();
    let archive = Artifact::default();
    let saved = store.save(JobId(7), &archive, files, &nobody_stops);
    assert_eq!(saved.await.unwrap().kept.files, 2);
    let artifacts = PipelineArtifacts::new(store.clone(), [("gen".to_owned(), JobId(7))]);
    let known = includes(&project).with_artifacts(artifacts);
    let check = |path: &str, expect: &str| {
        let got = child_of_artifact(&project, &known, path);
        assert!(got.contains(expect), "{path}: {got}");
    };
    check("out/gen.yml", r#"{"a":{"script":"a"},"b":{"script":"b"}}"#);
    check(
        "gone.yml",
        "the artifact `gone.yml` of the job `gen` does not exist",
    );
    check("../../x.yml", "leads out of the artifacts");
    check("link.yml", "leads out of the artifacts");

    let none = PipelineArtifacts::new(store, [("gen".to_owned(), JobId(8))]);
    let none = includes(&project).with_artifacts(none);
    let got = child_of_artifact(&project, &none, "out/gen.yml");
    assert!(got.contains("no job of this name has artifacts"), "{got}");
    // Before the parent ran there are no artifacts, which is not an error of the file.
    let got = child_of_artifact(&project, &includes(&project), "out/gen.yml");
    assert!(got.contains("is not fetched"), "{got}");
}
