//! What a local run does not honour: the same for `lint`, for `run` and on the page.

use crate::plans::resolve;
use pipeline::parity::{Class, Row, check_job, diagnose, page, table};
use pipeline::{Checked, Diagnostic, Pipeline};
use std::path::Path;
use yaml::diagnostic::Severity;

/// Returns what `lint` says of a file that has no errors.
fn findings(text: &str) -> Vec<Diagnostic> {
    let Checked {
        value,
        mut diagnostics,
    } = Pipeline::from_text("ci.yml", text);
    diagnose(value.unwrap().tree(), &mut diagnostics);
    assert!(!diagnostics.has_errors(), "{diagnostics}");
    let found = diagnostics.iter();
    found
        .filter(|found| found.code == "not-local")
        .cloned()
        .collect()
}

/// Returns the keywords that `lint` speaks of, each as often as it does.
fn keywords_in_file(text: &str) -> Vec<String> {
    let keyword = |message: &str| message.split('`').nth(1).unwrap_or_default().to_owned();
    let found = findings(text);
    found.iter().map(|found| keyword(&found.message)).collect()
}

/// Checks that a file and the job `j` in it have the same findings.
fn check(text: &str, expect: &[&str]) {
    let mut in_file = keywords_in_file(text);
    let resolved = resolve(text);
    let job = resolved
        .job("j")
        .unwrap_or_else(|| panic!("no j in {text}"));
    let mut in_job: Vec<&str> = check_job(&job).iter().map(|found| found.keyword).collect();
    in_file.sort_unstable();
    in_job.sort_unstable();
    assert_eq!(in_file, expect, "in the file\n{text}");
    assert_eq!(in_job, expect, "in the job of\n{text}");
}

#[test]
fn a_file_and_its_jobs_have_the_same_findings() {
    check(
        "j: {script: x, retry: 1, needs: [], artifacts: {paths: [a]}}",
        &[],
    );
    check("j: {script: x, cache: {paths: [a]}}", &[]);
    check("default: {image: ruby}\nj: {script: x}", &["image"]);
    check("image: ruby\nj: {script: x}", &["image"]);
    check(
        "j: {script: x, services: [pg], tags: [a]}",
        &["services", "tags"],
    );
    check("j: {script: x, services: [], tags: [], cache: []}", &[]);
    check("j: {script: x, pages: false, interruptible: false}", &[]);
    check(
        "j: {script: x, inputs: {}, secrets: {}, id_tokens: {}}",
        &[],
    );
    check(
        "j: {script: x, pages: true, interruptible: true}",
        &["pages"],
    );
    check(
        "j: {script: x, artifacts: {access: none, expose_as: a, expire_in: 1 day, paths: [a]}}",
        &["artifacts:access"],
    );
    check(
        "j: {script: x, artifacts: {public: false, reports: {dotenv: a.env}}}",
        &["artifacts:public"],
    );
    check(
        "j: {script: x, environment: {name: e, auto_stop_in: 1 day, kubernetes: {agent: a}}}",
        &[
            "environment",
            "environment:auto_stop_in",
            "environment:kubernetes",
        ],
    );
    check("j: {script: x, secrets: {P: {vault: a/b}}}", &["secrets"]);
    check("j: {script: x, id_tokens: {A: {aud: b}}}", &["id_tokens"]);
    check(
        "j: {script: x, identity: google_cloud, resource_group: g}",
        &["identity"],
    );
    check(
        "j: {script: x, coverage: '/a/', release: {tag_name: t, description: d}}",
        &["release"],
    );
}

#[test]
fn what_is_right_in_gitlab_is_no_error_and_is_told_once() {
    let text = "
.hidden: {services: [h]}
a: {script: x, services: [a]}
b: {script: x, services: [b], secrets: {P: {vault: a/b}}}
c: {script: x, services: [c], tags: [t]}
";
    let found = findings(text);
    let messages: Vec<&str> = found.iter().map(|found| found.message.as_str()).collect();
    insta::assert_snapshot!(messages.join("\n"), @r"
    `services` (and in 2 more places): the shell executor starts no containers: what a service offers has to be here already; `--executor docker` starts them
    `secrets`: no store of secrets is asked, so the job would run without them; remove the keyword for local runs and give the variables with `--secret`
    `tags`: every job runs on this machine, whatever its tags
    ");
    let lines: Vec<u32> = found.iter().map(|found| found.span.unwrap().line).collect();
    assert_eq!(lines, [3, 4, 5]);
    let severities: Vec<Severity> = found.iter().map(|found| found.severity).collect();
    assert_eq!(
        severities,
        [Severity::Warning, Severity::Warning, Severity::Note]
    );
}

#[test]
fn a_job_that_would_mean_something_else_is_refused() {
    let resolved = resolve("j: {script: x, cache: {paths: [a]}, secrets: {P: {vault: a/b}}}");
    let findings = check_job(&resolved.job("j").unwrap());
    let errors: Vec<String> = findings
        .iter()
        .filter(|found| found.class == Class::Error)
        .map(pipeline::parity::Finding::message)
        .collect();
    assert_eq!(errors.len(), 1);
    assert!(
        errors[0].starts_with("`secrets`: no store of secrets is asked"),
        "{errors:?}"
    );
}

#[test]
fn every_row_is_a_sentence_without_its_ends() {
    // `variables` is a keyword of the file and of its jobs.
    let mut keywords: Vec<_> = table().map(|row| (row.keyword, row.text)).collect();
    let fits = |row: &&Row| {
        let starts = row.text.starts_with(|c: char| c.is_lowercase() || c == '`');
        starts && !row.text.ends_with('.')
    };
    let odd: Vec<&str> = table()
        .filter(|row| !fits(row))
        .map(|row| row.text)
        .collect();
    assert_eq!(odd, [""; 0]);
    keywords.sort_unstable();
    let all = keywords.len();
    keywords.dedup();
    assert_eq!(keywords.len(), all);
}

#[test]
fn the_published_page_is_the_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/book/src/keywords.md");
    if std::env::var_os("RUNWRIGHT_WRITE_PAGES").is_some() {
        std::fs::write(&path, page()).unwrap();
    }
    let published = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        published == page(),
        "docs/book/src/keywords.md is not what the table says; make it anew with\n\
         RUNWRIGHT_WRITE_PAGES=1 cargo test -p runwright-pipeline the_published_page"
    );
}
