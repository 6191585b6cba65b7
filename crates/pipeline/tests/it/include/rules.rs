//! Includes that depend on rules and variables.

use super::{NAME, tree};
use executor_core::variable::{JobVariable, JobVariables};
use pipeline::include::KnownFiles;
use pipeline::repository::KnownRepository;
use pipeline::{IncludeRules, LoadOptions, Pipeline};

#[test]
fn includes_use_variables_known_before_the_pipeline() {
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
      = help: `$NO` is not set, so it is empty: variables of the file and of jobs are not known when includes are read

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
fn rules_use_variables_known_before_the_pipeline() {
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
    // A rule in a file of another project checks the files of that project.
    let theirs = tree(load("[{project: g/p, file: t.yml}]"));
    assert!(theirs.get("b").is_some());

    let refused = |rules: &str| {
        let found = load(&format!("[{{local: a.yml, rules: {rules}}}]")).diagnostics;
        let errors: Vec<&str> = found.errors().map(|error| error.message.as_str()).collect();
        errors.join("\n")
    };
    insta::assert_snapshot!(refused("[]"), @"include:rules config can't be blank");
    insta::assert_snapshot!(refused("[{foo: x}]"), @"include:rules:rule config contains unknown keys: foo");
    insta::assert_snapshot!(refused("[{if: $A, variables: {B: c}}]"), @"include:rules:rule config contains unknown keys: variables");
    insta::assert_snapshot!(refused("[{when: manual}]"), @"include:rules:rule when should be one of: always, never");
    insta::assert_snapshot!(refused("[{if: '$A =='}]"), @"include:rules:rule if has invalid expression syntax: an operand is missing after `==`");
    insta::assert_snapshot!(refused("[{changes: {paths: [a], compare_to: nowhere}}]"), @"rules:changes:compare_to names `nowhere`, which is not a branch, tag or commit here");
}

#[test]
fn ignored_rules_include_every_file() {
    let text = "include: [{local: a.yml, rules: [{if: $CI_COMMIT_TAG}]}]\nb: {script: x}\n";
    let files = KnownFiles::with_own([("a.yml", "a: {script: y}")]);
    let jobs = |include_rules| {
        let options = LoadOptions {
            includes: &files,
            include_rules,
            ..LoadOptions::default()
        };
        let tree = tree(Pipeline::load(NAME, text, &options));
        let names = tree.as_object().expect("a mapping").keys().cloned();
        names.collect::<Vec<_>>()
    };
    assert_eq!(jobs(IncludeRules::Evaluate), ["b"]);
    assert_eq!(jobs(IncludeRules::Ignore), ["a", "b"]);
}

#[test]
fn excluded_includes_may_have_any_name() {
    // The variable in the name is defined only if the rules match.
    for entry in [
        "local: $UNKNOWN",
        "template: $UNKNOWN",
        "project: $UNKNOWN, file: $UNKNOWN",
        "remote: $UNKNOWN",
        "remote: 'https://e.com/$UNKNOWN'",
        "component: $UNKNOWN",
    ] {
        let text =
            |rules: &str| format!("include: [{{{entry}, rules: [{rules}]}}]\nj: {{script: x}}");
        let load = |rules: &str| Pipeline::load(NAME, &text(rules), &LoadOptions::default());
        let found = load("{if: $UNKNOWN}").diagnostics;
        assert!(!found.has_errors(), "{entry}: {found}");
        let found = load("{if: $UNKNOWN == null}").diagnostics;
        let codes: Vec<&str> = found.errors().map(|error| error.code).collect();
        assert!(
            matches!(*codes, ["invalid-include" | "include-extension"]),
            "{entry}: {found}"
        );
    }
}
