//! The limits of includes.

use super::{NAME, check_refused};
use pipeline::include::KnownFiles;
use pipeline::{LoadOptions, Pipeline};

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
    // An absolute path starts at the root of the project.
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
fn at_most_a_hundred_and_fifty_files_are_included() {
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

    // A suggestion takes a comparison with every file, so only the first errors have one.
    let (text, files) = own(60);
    let options = LoadOptions {
        includes: &files,
        ..LoadOptions::default()
    };
    let found = Pipeline::load(NAME, &text.replace(".yml", "x.yml"), &options);
    let advised = found
        .diagnostics
        .errors()
        .filter(|error| error.help.is_some());
    assert_eq!(
        (advised.count(), found.diagnostics.errors().count()),
        (50, 60)
    );

    // The limit also ends files that include themselves.
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
fn the_total_size_of_files_is_limited() {
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

#[test]
fn entries_without_files_are_limited_too() {
    let list = |entry: &str, count: usize| {
        let entries = vec![entry; count].join(", ");
        format!("include: [{entries}]\nj: {{script: x}}")
    };
    check_refused(&list("'no/*.yml'", 1_001), &[], &["too-many-includes"]);
    check_refused(
        &list("{local: a.yml, rules: [{when: never}]}", 10_001),
        &[],
        &["too-many-includes"],
    );
    let long = format!("include: '{}.yml'\nj: {{script: x}}", "*".repeat(1_100));
    check_refused(&long, &[], &["invalid-include"]);
    let header = format!(
        "spec: {{include: [{}]}}\n---\nj: {{script: x}}",
        vec!["{local: s.yml}"; 151].join(", ")
    );
    let shared = [("s.yml", "inputs: {}")];
    check_refused(&header, &shared, &["too-many-includes"]);
}
