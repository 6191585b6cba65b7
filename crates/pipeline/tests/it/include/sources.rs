//! Requests to include sources, and the effect of a file's project.

use super::{NAME, tree};
use executor_core::variable::{JobVariable, JobVariables};
use parking_lot::Mutex;
use pipeline::include::{
    FileHome, IncludeError, IncludeFailure, IncludeRequest, IncludeSource, IncludedFile, KnownFiles,
};
use pipeline::repository::Paths;
use pipeline::{LoadOptions, Pipeline};

/// Counts the requests of each batch.
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
        self.batches.lock().push(requests.len());
        self.files.fetch(requests)
    }
}

#[test]
fn each_file_is_fetched_once_and_each_level_in_one_batch() {
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
    assert_eq!(*counting.batches.lock(), [2, 2]);

    // Without includes there are no requests.
    Pipeline::load(NAME, "j: {script: x}", &options);
    assert_eq!(counting.batches.lock().len(), 2);
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
    refused(
        "[{project: g/p, file: t.yml, ref: gone}]",
        "include-missing",
    );
    refused("[{project: g/p, file: t.yml, ref: $NO}]", "invalid-include");
    refused("[{template: No.gitlab-ci.yml}]", "include-missing");
}

/// A source that returns the same result for all requests.
#[derive(Debug)]
struct Always(Result<IncludedFile, IncludeError>);

impl IncludeSource for Always {
    fn paths(&self, _home: &FileHome) -> Result<Paths, IncludeError> {
        Ok(Paths::default())
    }

    fn fetch(&self, requests: &[IncludeRequest]) -> Vec<Result<IncludedFile, IncludeError>> {
        requests.iter().map(|_| self.0.clone()).collect()
    }
}

fn load_always(found: Result<IncludedFile, IncludeError>, text: &str) -> String {
    let source = Always(found);
    let mut variables = JobVariables::default();
    variables.push(JobVariable::masked("SECRET", "S3cret"));
    let options = LoadOptions {
        includes: &source,
        variables,
        ..LoadOptions::default()
    };
    Pipeline::load(NAME, text, &options).diagnostics.to_string()
}

#[test]
fn a_component_has_its_own_inputs() {
    let component = |text: &str| IncludedFile {
        name: "h/g/p/c@1".to_owned(),
        text: text.into(),
        home: FileHome::NoProject,
        component: vec![("name".to_owned(), "c".to_owned())],
    };
    let text = "include: [{component: h/g/p/c@1}]\nj: {script: x}";
    let header = "spec: {include: [{remote: 'https://e.com/i.yml'}]}\n---\nc: {script: x}";
    insta::assert_snapshot!(load_always(Ok(component(header)), text), @r"
    error[invalid-include]: header:spec:include is not allowed in a component
     --> h/g/p/c@1:1:17
      |
    1 | spec: {include: [{remote: 'https://e.com/i.yml'}]}
      |                 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      |
     ::: .gitlab-ci.yml:1:23
      |
    1 | include: [{component: h/g/p/c@1}]
      |                       --------- included here
      |
      = help: declare the inputs of a component in its own `spec:inputs`
    ");
    let header = "spec: {inputs: {a: {default: b}}}\n---\nc: {script: '$[[ inputs.a ]]'}";
    assert_eq!(load_always(Ok(component(header)), text), "");
}

#[test]
fn errors_of_sources_show_no_secrets() {
    let failed = IncludeError::Failed {
        kind: IncludeFailure::Denied,
        reason: "https://s3cret.e.com/S3cret/ refuses".to_owned(),
        help: Some("ask them about `S3cret`".to_owned()),
    };
    let text = "include: [{remote: 'https://e.com/$SECRET/a.yml'}]\nj: {script: x}";
    insta::assert_snapshot!(load_always(Err(failed), text), @r"
    error[include-denied]: include: `https://e.com/[MASKED]/a.yml` may not be read: https://[MASKED].e.com/[MASKED]/ refuses
     --> .gitlab-ci.yml:1:20
      |
    1 | include: [{remote: 'https://e.com/$SECRET/a.yml'}]
      |                    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: ask them about `[MASKED]`
    ");
    let found = IncludedFile {
        name: "https://e.com/s3cret/a.yml".to_owned(),
        text: "- no hash".into(),
        home: FileHome::NoProject,
        component: Vec::new(),
    };
    let shown = load_always(Ok(found), text);
    assert!(
        shown.contains("https://e.com/[MASKED]/a.yml:1:1"),
        "{shown}"
    );
    assert!(!shown.to_lowercase().contains("s3cret"), "{shown}");
}

#[test]
fn includes_of_remote_files_see_no_variables() {
    let texts = |texts: &[(&str, &str)]| {
        let texts = texts
            .iter()
            .map(|&(path, text)| (path.to_owned(), text.into()));
        texts.collect()
    };
    let mut files = KnownFiles::with_own([("own.yml", "include: ['$NAME.yml']")]);
    files
        .own
        .insert("n.yml".to_owned(), "own: {script: x}".into());
    // A file of a project would include it; a remote file does not, since it sees no variables.
    let includes = "include:
      - {remote: 'https://e.com/$NAME.yml', rules: [{if: $NAME}]}
      - {remote: 'https://e.com/no$NAME.yml', rules: [{if: $NAME == null}]}
      - {project: g/p, file: all.yml}";
    files.remote = texts(&[
        ("https://e.com/r.yml", includes),
        ("https://e.com/n.yml", "named: {script: x}"),
        ("https://e.com/no.yml", "unnamed: {script: x}"),
    ]);
    files.projects.insert(
        "g/p".to_owned(),
        texts(&[
            ("all.yml", "include: ['a$NAME.yml']"),
            ("a.yml", "theirs-without: {script: x}"),
            ("an.yml", "theirs: {script: x}"),
        ]),
    );
    let mut variables = JobVariables::default();
    variables.push(JobVariable::public("NAME", "n"));
    let options = LoadOptions {
        includes: &files,
        variables,
        ..LoadOptions::default()
    };
    let check = |include: &str, expect: &[&str]| {
        let text = format!("include: {include}\nj: {{script: x}}");
        let tree = tree(Pipeline::load(NAME, &text, &options));
        let mut names: Vec<&String> = tree.as_object().unwrap().keys().collect();
        names.retain(|name| *name != "j");
        names.sort();
        assert_eq!(names, expect, "{include}");
    };
    check("[own.yml]", &["own"]);
    check("[{project: g/p, file: all.yml}]", &["theirs"]);
    check("['https://e.com/$NAME.yml']", &["named"]);
    check("['https://e.com/r.yml']", &["theirs-without", "unnamed"]);
}
