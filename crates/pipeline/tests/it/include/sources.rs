//! What is asked of a source, and what it means where a file lives.

use super::{NAME, tree};
use pipeline::include::{
    FileHome, IncludeError, IncludeRequest, IncludeSource, IncludedFile, KnownFiles,
};
use pipeline::repository::Paths;
use pipeline::{LoadOptions, Pipeline};
use std::sync::Mutex;

/// Counts what is asked for, batch by batch.
#[derive(Debug, Default)]
struct Counting {
    files: KnownFiles,
    batches: Mutex<Vec<usize>>,
}

impl IncludeSource for Counting {
    fn paths(&self, home: &FileHome) -> Result<Paths, IncludeError> {
        self.files.paths(home)
    }

    fn fetch(&self, requests: &[IncludeRequest]) -> Vec<Result<IncludedFile, IncludeError>> {
        self.batches.lock().unwrap().push(requests.len());
        self.files.fetch(requests)
    }
}

#[test]
fn each_file_is_fetched_once_and_those_of_a_level_together() {
    // R-GLCI-153
    let counting = Counting {
        files: KnownFiles::with_own([
            ("left.yml", "include: [base.yml, more.yml]"),
            ("right.yml", "include: [base.yml, left.yml]"),
            ("base.yml", "base: {script: x}"),
            ("more.yml", "include: [base.yml]"),
        ]),
        ..Counting::default()
    };
    let options = LoadOptions {
        includes: &counting,
        ..LoadOptions::default()
    };
    let text = "include: [left.yml, right.yml, right.yml]\nj: {script: x}";
    let loaded = Pipeline::load(NAME, text, &options);
    assert!(!loaded.diagnostics.has_errors(), "{}", loaded.diagnostics);
    assert_eq!(*counting.batches.lock().unwrap(), [2, 2]);

    // Without includes nothing is asked at all.
    Pipeline::load(NAME, "j: {script: x}", &options);
    assert_eq!(counting.batches.lock().unwrap().len(), 2);
}

#[test]
fn local_means_the_project_of_the_including_file() {
    let mut files = KnownFiles::with_own([("l.yml", "mine: {script: x}")]);
    let theirs = [
        ("t.yml", "include: [l.yml]\nt: {script: x}"),
        ("l.yml", "theirs: {script: x}"),
    ];
    let theirs = theirs.map(|(path, text)| (path.to_owned(), text.into()));
    files
        .projects
        .insert("g/p".to_owned(), theirs.into_iter().collect());
    files.remote.insert(
        "https://e.com/r.yml".to_owned(),
        "include: [l.yml]\nr: {script: x}".into(),
    );
    let options = LoadOptions {
        includes: &files,
        ..LoadOptions::default()
    };
    let load = |include: &str| {
        let text = format!("include: {include}\nj: {{script: x}}");
        Pipeline::load(NAME, &text, &options)
    };
    let tree = tree(load("[{project: G/P, file: [/t.yml], ref: main}]"));
    let names: Vec<&String> = tree.as_object().unwrap().keys().collect();
    assert_eq!(names, ["theirs", "t", "j"]);

    let refused = |include: &str, code: &str| {
        let found = load(include).diagnostics;
        let codes: Vec<&str> = found.errors().map(|error| error.code).collect();
        assert_eq!(codes, [code], "{include}\n{found}");
    };
    refused("[https://e.com/r.yml]", "include-no-project");
    refused("[{project: g/no, file: t.yml}]", "include-missing");
    refused("[{project: g/p, file: no.yml}]", "include-missing");
    refused("[{template: No.gitlab-ci.yml}]", "include-missing");
}
