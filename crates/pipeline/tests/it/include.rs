//! Pipelines that are made of several files.

use pipeline::include::{
    FileHome, IncludeError, IncludeRequest, IncludeSource, IncludedFile, KnownFiles,
};
use pipeline::repository::Paths;
use pipeline::{Checked, Dialect, LoadOptions, Pipeline};
use serde_json::{Value, json};
use std::sync::Mutex;

const NAME: &str = ".gitlab-ci.yml";

fn load(text: &str, files: &[(&str, &str)]) -> Checked<Pipeline> {
    load_as(Dialect::GitLab, text, files)
}

fn load_as(dialect: Dialect, text: &str, files: &[(&str, &str)]) -> Checked<Pipeline> {
    let files = KnownFiles::with_own(files.iter().copied());
    let options = LoadOptions {
        includes: &files,
        dialect,
        ..LoadOptions::default()
    };
    Pipeline::load(NAME, text, &options)
}

/// Returns the merged tree of a pipeline without mistakes.
fn tree(checked: Checked<Pipeline>) -> Value {
    let (pipeline, _) = checked
        .into_result()
        .unwrap_or_else(|found| panic!("{found}"));
    pipeline.tree().to_json()
}

fn check(text: &str, files: &[(&str, &str)], expect: &Value) {
    assert_eq!(&tree(load(text, files)), expect, "of {text}");
}

fn check_refused(text: &str, files: &[(&str, &str)], codes: &[&str]) {
    let found = load(text, files).diagnostics;
    let errors: Vec<&str> = found.errors().map(|error| error.code).collect();
    assert_eq!(errors, codes, "of {text}\n{found}");
}

fn messages(text: &str, files: &[(&str, &str)]) -> String {
    load(text, files).diagnostics.to_string()
}

#[test]
fn included_files_come_first_and_the_including_one_wins() {
    // R-PIPE-03 R-PIPE-04 R-GLCI-147
    check(
        "include: [/a.yml, b.yml]\njob: {script: [m], variables: {B: m}}\nstages: [s]\n",
        &[
            (
                "a.yml",
                "include: [{local: deep/c.yml}]\njob: {script: [a, a], image: a, variables: {A: a, B: a}, stage: s}\n\
                 stages: [x, y]\ndefault: {tags: [t]}",
            ),
            ("b.yml", "job: {image: null}\ndefault: {retry: 1}"),
            (
                "deep/c.yml",
                "job: {image: c, coverage: /c/}\ndeep: {script: d, stage: s}",
            ),
        ],
        &json!({
            "job": {
                "image": null, "coverage": "/c/", "script": ["m"],
                "variables": {"A": "a", "B": "m"}, "stage": "s"
            },
            "deep": {"script": "d", "stage": "s"},
            "stages": ["s"],
            "default": {"tags": ["t"], "retry": 1}
        }),
    );
}

#[test]
fn wildcards_take_sorted_paths_that_are_not_there_yet() {
    let files = [
        ("ci/z.yml", "include: ci/**.yml\nz: {script: x}"),
        ("ci/b/a.yml", "ba: {script: x}"),
        ("ci/a.yml", "a: {script: x}"),
        (NAME, "include: [{local: '**/*.yml'}]\nown: {script: x}"),
    ];
    let names = |text: &str| -> Vec<String> {
        let tree = load(text, &files).value.unwrap();
        let keys = tree.tree().as_mapping().unwrap().keys();
        keys.map(ToString::to_string).collect()
    };
    assert_eq!(names(files[3].1), ["a", "ba", "z", "own"]);
    assert_eq!(
        names("include: ['ci/*.yml']\nown: {script: x}"),
        ["a", "ba", "z", "own"]
    );
    assert_eq!(names("include: ['no/*.yml']\nown: {script: x}"), ["own"]);
    assert_eq!(names("include: no/*.yml\nown: {script: x}"), ["own"]);
    // Without any file GitLab looks at the form, which may not be a hash then.
    check_refused(
        "include: {local: no/*.yml}\nown: {script: x}",
        &[],
        &["invalid-include"],
    );
}

#[test]
fn what_is_no_include_is_refused_where_it_stands() {
    check_refused("include: 1\nj: {script: x}", &[], &["invalid-include"]);
    check_refused("include: [1]\nj: {script: x}", &[], &["invalid-include"]);
    check_refused(
        "include: [{local: [a.yml]}]\nj: {script: x}",
        &[],
        &["invalid-include"],
    );
    check_refused(
        "include: [{foo: bar}]\nj: {script: x}",
        &[],
        &["invalid-include"],
    );
    check_refused("include: {}\nj: {script: x}", &[], &["invalid-include"]);
    check_refused(
        "include: a.txt\nj: {script: x}",
        &[],
        &["include-extension"],
    );
    check_refused(
        "include: [{local: a.yml, remote: 'https://e.com/a.yml'}]\nj: {script: x}",
        &[],
        &["invalid-include"],
    );
    check_refused(
        "include: [{project: g/p}]\nj: {script: x}",
        &[],
        &["invalid-include"],
    );
    check_refused(
        "include: [{artifact: a.yml, job: j}]\nj: {script: x}",
        &[],
        &["include-artifact"],
    );
    check_refused(
        "include: [{remote: a.yml}]\nj: {script: x}",
        &[],
        &["invalid-include"],
    );
    for (details, codes) in [
        ("integrity: sha256-x", ["invalid-include"].as_slice()),
        ("cache: 30 seconds", &["invalid-include"]),
        (
            "cache: 2 minutes, integrity: 'sha256-L3/GAoKaw0Arw6hDCKeKQlV1QPEgHYxGBHsH4zG1IY8='",
            &["include-not-fetched"],
        ),
    ] {
        let text =
            format!("include: [{{remote: 'https://e.com/a.yml', {details}}}]\nj: {{script: x}}");
        check_refused(&text, &[], codes);
    }
    check_refused(
        "include: [{local: a.yml, cache: true}]\nj: {script: x}",
        &[("a.yml", "a: {script: x}")],
        &["invalid-include"],
    );
    for nothing in ["", "~", "[]", "[~]", "''"] {
        check(
            &format!("include: {nothing}\nj: {{script: x}}"),
            &[],
            &json!({"j": {"script": "x"}}),
        );
    }
}

#[test]
fn a_file_that_is_not_there_is_named_with_the_nearest_one_that_is() {
    // R-GLCI-147
    let files = [("ci/build.yml", "build: {script: make}")];
    insta::assert_snapshot!(messages("include:\n  - local: ci/biuld.yml\njob: {script: x}\n", &files), @r"
    error[include-missing]: include: the local file `ci/biuld.yml` does not exist
     --> .gitlab-ci.yml:2:12
      |
    2 |   - local: ci/biuld.yml
      |            ^^^^^^^^^^^^
      |
      = help: did you mean `ci/build.yml`?
    ");
    check_refused(
        "include: a.yml\nj: {script: x}",
        &[("a.yml", "")],
        &["empty-file"],
    );
    check_refused(
        "include: a.yml\nj: {script: x}",
        &[("a.yml", "- a")],
        &["invalid-file"],
    );
}

#[test]
fn mistakes_are_shown_in_the_included_file_and_where_it_came_from() {
    let files = [
        ("ci/all.yml", "include: [ci/test.yml]\n"),
        (
            "ci/test.yml",
            "test:\n  script: make test\n  whne: always\n",
        ),
    ];
    insta::assert_snapshot!(messages("include: [ci/all.yml]\n", &files), @r"
    error[unknown-keyword]: jobs:test config contains unknown keys: whne
     --> ci/test.yml:3:3
      |
    3 |   whne: always
      |   ^^^^
      |
     ::: ci/all.yml:1:11
      |
    1 | include: [ci/test.yml]
      |           ----------- included here
      |
     ::: .gitlab-ci.yml:1:11
      |
    1 | include: [ci/all.yml]
      |           ---------- included here
      |
      = help: did you mean `when`?
    ");
    insta::assert_snapshot!(messages("include: [a.yml]\nj: {script: x}", &[("a.yml", "a: {script: [}")]), @r"
    error[yaml-syntax]: invalid YAML: did not find expected node content
     --> a.yml:1:14
      |
    1 | a: {script: [}
      |              ^
      |
     ::: .gitlab-ci.yml:1:11
      |
    1 | include: [a.yml]
      |           ----- included here
    ");
}

#[test]
fn paths_out_of_the_project_are_refused() {
    check_refused(
        "include: ../../etc/passwd.yml\nj: {script: x}",
        &[],
        &["include-outside"],
    );
    check_refused(
        "include: [{local: /ci/../../x.yml}]\nj: {script: x}",
        &[],
        &["include-outside"],
    );
    // An absolute path is one from the top of the project.
    check_refused(
        "include: /etc/passwd.yml\nj: {script: x}",
        &[],
        &["include-missing"],
    );
    check_refused(
        "include: ../../etc/passwd\nj: {script: x}",
        &[],
        &["include-extension"],
    );
}

#[test]
fn a_hundred_and_fifty_files_are_included_and_no_more() {
    let own = |count: usize| {
        let mut files = KnownFiles::default();
        for at in 0..count {
            let text = format!("j{at}: {{script: x}}");
            files.own.insert(format!("f{at}.yml"), text.into());
        }
        let names: Vec<String> = files.own.keys().cloned().collect();
        (format!("include: [{}]", names.join(", ")), files)
    };
    let jobs = |count: usize| {
        let (text, files) = own(count);
        let options = LoadOptions {
            includes: &files,
            ..LoadOptions::default()
        };
        let loaded = Pipeline::load(NAME, &text, &options);
        loaded
            .into_result()
            .map(|(pipeline, _)| pipeline.config().jobs.len())
    };
    assert_eq!(jobs(150).unwrap(), 150);
    let found = jobs(151).unwrap_err();
    let codes: Vec<&str> = found.errors().map(|error| error.code).collect();
    assert_eq!(codes, ["too-many-includes"]);

    // A file that includes itself ends there too, however it is reached.
    let loop_of_one = [("a.yml", "include: a.yml\na: {script: x}")];
    check_refused(
        "include: a.yml\nj: {script: x}",
        &loop_of_one,
        &["too-many-includes"],
    );
    let doubling = [
        ("a.yml", "include: [b.yml, b.yml]"),
        ("b.yml", "include: [a.yml, a.yml]"),
    ];
    check_refused(
        "include: a.yml\nj: {script: x}",
        &doubling,
        &["too-many-includes"],
    );
}

#[test]
fn what_all_files_may_cost_is_bounded() {
    let big = format!("# {}\na: {{script: x}}", "x".repeat(600));
    let files = KnownFiles::with_own([("a.yml", &*big), ("b.yml", &*big)]);
    let codes = |text: &str, bytes: usize| {
        let mut options = LoadOptions {
            includes: &files,
            ..LoadOptions::default()
        };
        options.limits.included_bytes = bytes;
        let found = Pipeline::load(NAME, text, &options).diagnostics;
        let codes: Vec<&str> = found.errors().map(|error| error.code).collect();
        codes
    };
    assert_eq!(codes("include: [a.yml, a.yml]", 1000), [""; 0]);
    assert_eq!(codes("include: [a.yml, b.yml]", 1000), ["file-too-large"]);
}

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
fn what_is_not_fetched_is_said_once_and_what_it_may_define_is_not_missed() {
    let text = "
include:
  - remote: https://example.com/base.yml
  - component: $CI_SERVER_FQDN/group/lint/lint@1.0
stages: [test]
part-of-a-job:
  stage: from-there
  needs: [job-from-there]
job:
  extends: [.from-there]
  stage: from-there
  before_script: [!reference [.from-there, script]]
  script: x
  dependencies: [job-from-there]
  retyr: 1
";
    let found = load(text, &[]).diagnostics;
    let errors: Vec<&str> = found.errors().map(|error| error.code).collect();
    // A real mistake shows all the same.
    let expect = [
        "include-not-fetched",
        "include-not-fetched",
        "unknown-keyword",
    ];
    assert_eq!(errors, expect, "{found}");
    insta::assert_snapshot!(found.render(found.errors().next().unwrap()), @r"
    error[include-not-fetched]: include: the remote file `https://example.com/base.yml` is not fetched: the address is not among the files given beforehand
     --> .gitlab-ci.yml:3:13
      |
    3 |   - remote: https://example.com/base.yml
      |             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: what it might define is not reported as missing
    ");
}

#[test]
fn variables_are_those_known_before_the_pipeline() {
    use executor_core::variable::{JobVariable, JobVariables};
    let variables: JobVariables = [
        JobVariable::public("DIR", "ci"),
        JobVariable::public("NESTED", "$DIR"),
        JobVariable::masked("SECRET", "s3cr3t"),
    ]
    .into_iter()
    .collect();
    let files = KnownFiles::with_own([("ci/a.yml", "a: {script: x}")]);
    let options = LoadOptions {
        includes: &files,
        variables,
        ..LoadOptions::default()
    };
    let found = |include: &str| {
        let text = format!("include: {include}\nvariables: {{DIR: other}}\nj: {{script: x}}");
        Pipeline::load(NAME, &text, &options).diagnostics
    };
    for fine in [
        "$DIR/a.yml",
        "[{local: '${DIR}/a$NO.yml'}]",
        "'%DIR%/*.yml'",
    ] {
        assert!(found(fine).is_empty(), "{fine}: {}", found(fine));
    }
    let refused = found("[$SECRET/a.yml, $NESTED/a.yml, $NO]").to_string();
    assert!(!refused.contains("s3cr3t"), "{refused}");
    insta::assert_snapshot!(refused, @r"
    error[invalid-include]: include: the location is empty
     --> .gitlab-ci.yml:1:41
      |
    1 | include: [$SECRET/a.yml, $NESTED/a.yml, $NO]
      |                                         ^^^
      |
      = help: a variable that is not known before there is a pipeline is empty here, and those of the file are not known yet

    error[include-missing]: include: the local file `[MASKED]/a.yml` does not exist
     --> .gitlab-ci.yml:1:11
      |
    1 | include: [$SECRET/a.yml, $NESTED/a.yml, $NO]
      |           ^^^^^^^^^^^^^

    error[include-missing]: include: the local file `$DIR/a.yml` does not exist
     --> .gitlab-ci.yml:1:26
      |
    1 | include: [$SECRET/a.yml, $NESTED/a.yml, $NO]
      |                          ^^^^^^^^^^^^^
    ");
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

#[test]
fn every_value_tells_where_it_was_written() {
    let files = [
        ("ci/base.yml", ".base:\n  image: ruby\n  tags: [t]\n"),
        ("ci/all.yml", "include: ci/base.yml\ndefault: {retry: 1}\n"),
    ];
    let text = "include: ci/all.yml\njob:\n  extends: .base\n  script: x\n";
    let (pipeline, _) = load(text, &files).into_result().unwrap();
    let origin = |path: &[&str]| {
        let node = path
            .iter()
            .fold(pipeline.tree(), |node, key| node.get(key).unwrap());
        let origin = pipeline.origins().of(node.span).unwrap();
        let includes = pipeline.origins().includes(node.span);
        let includes: Vec<&str> = includes
            .map(|at| pipeline.origins().of(at).unwrap().file)
            .collect();
        let key = origin.key.unwrap_or_default();
        format!("{}:{} {key} {includes:?}", origin.file, origin.line)
    };
    assert_eq!(origin(&["job", "script"]), r#".gitlab-ci.yml:4 job []"#);
    assert_eq!(
        origin(&["job", "image"]),
        r#"ci/base.yml:2 .base ["ci/all.yml", ".gitlab-ci.yml"]"#
    );
    assert_eq!(
        origin(&["default", "retry"]),
        r#"ci/all.yml:2 default [".gitlab-ci.yml"]"#
    );
}

#[test]
fn bitrab_includes_start_at_the_including_file() {
    // R-PIPE-05 R-PIPE-03 R-PIPE-04
    let files = [
        (
            "ci/a.yml",
            "include: [{local: sub/b.yml}, ../top.yml]\nj: {image: a, script: a}",
        ),
        (
            "ci/sub/b.yml",
            "include: c.yml\nj: {image: b, script: b, stage: test}",
        ),
        ("ci/sub/c.yml", "c: {script: c}"),
        ("top.yml", "top: {script: t}"),
        ("sub/b.yml", "wrong: {script: x}"),
        ("c.yml", "wrong: {script: x}"),
    ];
    let text = "include: ci/a.yml\nj: {script: m}";
    assert_eq!(
        tree(load_as(Dialect::Bitrab, text, &files)),
        json!({
            "c": {"script": "c"},
            "j": {"image": "a", "script": "m", "stage": "test"},
            "top": {"script": "t"}
        })
    );
    // GitLab starts at the top of the project, wherever the file is.
    let gitlab = tree(load("include: [ci/sub/b.yml]\nj: {script: m}", &files));
    assert!(gitlab.get("wrong").is_some());
    let outside = load_as(Dialect::Bitrab, "include: ../x.yml\nj: {script: m}", &files);
    assert_eq!(
        outside.diagnostics.errors().next().unwrap().code,
        "include-outside"
    );
}

#[test]
fn bitrab_refuses_components_and_leaves_out_what_it_does_not_fetch() {
    // R-PIPE-07 R-PIPE-08
    let loaded = load_as(
        Dialect::Bitrab,
        "include:\n  - template: Go.gitlab-ci.yml\n  - {project: g/p, file: a.yml}\nj: {script: m}",
        &[],
    );
    let codes: Vec<&str> = loaded.diagnostics.iter().map(|found| found.code).collect();
    assert_eq!(codes, ["include-left-out", "include-left-out"]);
    assert_eq!(tree(loaded), json!({"j": {"script": "m"}}));

    let refused = load_as(
        Dialect::Bitrab,
        "include:\n  - component: gitlab.com/g/c/lint@1.0\nj: {script: m}",
        &[],
    );
    insta::assert_snapshot!(refused.diagnostics, @r"
    error[include-component]: include: components are refused in the dialect `bitrab`
     --> .gitlab-ci.yml:2:16
      |
    2 |   - component: gitlab.com/g/c/lint@1.0
      |                ^^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: the dialect `gitlab` knows components
    ");
}

#[test]
fn rules_let_files_in_by_what_is_known_before_the_pipeline() {
    use executor_core::variable::{JobVariable, JobVariables};
    use pipeline::repository::KnownRepository;
    let variables: JobVariables = [
        JobVariable::public("X", "1"),
        JobVariable::public("D", "ci"),
    ]
    .into_iter()
    .collect();
    let repository = KnownRepository {
        files: vec!["ci/x.yml".to_owned(), "Dockerfile".to_owned()].into(),
        changed: Some(vec!["src/a.rs".to_owned()].into()),
        ..KnownRepository::default()
    };
    let mut files = KnownFiles::with_own([("a.yml", "a: {script: x}")]);
    let theirs = "include: [{local: b.yml, rules: [{exists: [b.yml]}]}, {local: c.yml, rules: [{exists: [Dockerfile]}]}]\n";
    let theirs = [("t.yml", theirs), ("b.yml", "b: {script: x}")];
    let theirs = theirs.map(|(path, text)| (path.to_owned(), text.into()));
    files
        .projects
        .insert("g/p".to_owned(), theirs.into_iter().collect());
    let options = LoadOptions {
        includes: &files,
        variables,
        repository: &repository,
        ..LoadOptions::default()
    };
    let load = |include: &str| {
        let text = format!("include: {include}\nvariables: {{X: '2'}}\nj: {{script: x}}");
        Pipeline::load(NAME, &text, &options)
    };
    let is_in = |rules: &str| {
        let tree = tree(load(&format!("[{{local: a.yml, rules: {rules}}}]")));
        tree.get("a").is_some()
    };
    for rules in [
        "[{if: '$X == \"1\"'}]",
        "[{if: $NO}, {when: always}]",
        "[{if: $X, when: null}]",
        "[{exists: ['$D/*.yml']}]",
        "[{changes: ['src/**/*']}]",
        "~",
    ] {
        assert!(is_in(rules), "{rules}");
    }
    for rules in [
        "[{if: '$X == \"2\"'}]",
        "[{if: $X, when: never}, {when: always}]",
        "[{exists: [nowhere]}]",
        "[{if: $X, changes: [docs/*]}]",
    ] {
        assert!(!is_in(rules), "{rules}");
    }
    // A rule in a file of another project looks at the files of that project.
    let theirs = tree(load("[{project: g/p, file: t.yml}]"));
    assert!(theirs.get("b").is_some());

    let refused = |rules: &str| {
        let found = load(&format!("[{{local: a.yml, rules: {rules}}}]")).diagnostics;
        let errors: Vec<&str> = found.errors().map(|error| error.message.as_str()).collect();
        errors.join("\n")
    };
    insta::assert_snapshot!(refused("[]"), @r"
    include:rules config can't be blank
    ");
    insta::assert_snapshot!(refused("[{foo: x}]"), @r"
    include:rules:rule config contains unknown keys: foo
    ");
    insta::assert_snapshot!(refused("[{if: $A, variables: {B: c}}]"), @r"
    include:rules:rule config contains unknown keys: variables
    ");
    insta::assert_snapshot!(refused("[{when: manual}]"), @r"
    include:rules:rule when should be one of: always, never
    ");
    insta::assert_snapshot!(refused("[{if: '$A =='}]"), @r"
    include:rules:rule if has invalid expression syntax: something is missing behind `==`
    ");
    insta::assert_snapshot!(refused("[{changes: {paths: [a], compare_to: nowhere}}]"), @r"
    rules:changes:compare_to names `nowhere`, which is no branch, tag or commit here
    ");
}

#[test]
fn inputs_of_an_include_reach_its_file_each_time() {
    let files = [
        (
            "job.yml",
            "spec: {inputs: {name: {}, image: {default: ruby}}}\n---\n\"$[[ inputs.name ]]\": \n  script: x\n  image: $[[ inputs.image ]]\n\
             include:\n  - local: $[[ inputs.name ]].yml\n",
        ),
        ("a.yml", "ia: {script: x}"),
        ("b.yml", "ib: {script: x}"),
    ];
    check(
        "include: [{local: job.yml, inputs: {name: a}}, {local: job.yml, inputs: {name: b, image: go}}]",
        &files,
        &json!({
            "ia": {"script": "x"}, "a": {"script": "x", "image": "ruby"},
            "ib": {"script": "x"}, "b": {"script": "x", "image": "go"}
        }),
    );
    let found = load("include: [{local: job.yml}]\nj: {script: x}", &files).diagnostics;
    insta::assert_snapshot!(found, @r"
    error[missing-input]: `name` input: required value has not been provided
     --> .gitlab-ci.yml:1:19
      |
    1 | include: [{local: job.yml}]
      |                   ^^^^^^^
      |
     ::: job.yml:1:17
      |
    1 | spec: {inputs: {name: {}, image: {default: ruby}}}
      |                 ---- declared here, without a `default`
      |
      = help: give it: `inputs: {name: ...}`
    ");
    let found = load(
        "include: [{local: a.yml, inputs: {x: 1}}]\nj: {script: x}",
        &files,
    )
    .diagnostics;
    insta::assert_snapshot!(found, @r"
    error[inputs-without-header]: given inputs not defined in the `spec` section of the included configuration file: it has no header
     --> .gitlab-ci.yml:1:35
      |
    1 | include: [{local: a.yml, inputs: {x: 1}}]
      |                                   ^
      |
     ::: a.yml:1:1
      |
    1 | ia: {script: x}
      | --------------- the file starts here
      |
      = help: begin the file with a document `spec: {inputs: {x: }}` and a line `---`
    ");
}
