//! Keywords that a local run does not support: `lint`, `run` and the page agree.

use crate::plans::resolve;
use pipeline::parity::{Class, Row, check_job, diagnose, file_keywords, job_keywords};
use pipeline::{Checked, Diagnostic, Pipeline};
use std::fmt::Write as _;
use std::path::Path;
use yaml::diagnostic::Severity;

/// Returns the local-run diagnostics that `lint` reports for a file without errors.
fn reported(text: &str) -> Vec<Diagnostic> {
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

/// Returns the keywords that `lint` reports, each as often as reported.
fn keywords_in_file(text: &str) -> Vec<String> {
    let keyword = |message: &str| message.split('`').nth(1).unwrap_or_default().to_owned();
    let found = reported(text);
    found.iter().map(|found| keyword(&found.message)).collect()
}

/// Checks that the same keywords are reported for a file and for the job `j` in it.
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
fn the_same_keywords_are_reported_for_files_and_jobs() {
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
fn unsupported_keywords_are_reported_once_and_not_as_errors() {
    let text = "
.hidden: {services: [h]}
a: {script: x, services: [a]}
b: {script: x, services: [b], secrets: {P: {vault: a/b}}}
c: {script: x, services: [c], tags: [t]}
";
    let found = reported(text);
    let messages: Vec<&str> = found.iter().map(|found| found.message.as_str()).collect();
    insta::assert_snapshot!(messages.join("\n"), @r"
    `services` (and in 2 more places): only `--executor docker` and `kubernetes`, and `custom` through its driver, start them: with any other executor they must already run where the job does
    `secrets`: secrets are not fetched from a store, so the job would run without them; remove the keyword for local runs and pass the variables with `--secret`
    `tags`: every job runs on this machine, regardless of its tags
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
fn a_job_with_a_keyword_of_class_error_is_refused() {
    let resolved = resolve("j: {script: x, cache: {paths: [a]}, secrets: {P: {vault: a/b}}}");
    let deviations = check_job(&resolved.job("j").unwrap());
    let errors: Vec<String> = deviations
        .iter()
        .filter(|found| found.class == Class::Error)
        .map(pipeline::parity::Deviation::message)
        .collect();
    assert_eq!(errors.len(), 1);
    assert!(
        errors[0].starts_with("`secrets`: secrets are not fetched from a store"),
        "{errors:?}"
    );
}

#[test]
fn texts_of_rows_have_no_capital_and_no_final_dot() {
    // `variables` is a keyword of both the file and its jobs, with different texts.
    let table = || file_keywords().iter().chain(job_keywords());
    let mut keywords: Vec<_> = table().map(|row| (row.keyword, row.text)).collect();
    let is_plain = |row: &&Row| {
        let starts = row.text.starts_with(|c: char| c.is_lowercase() || c == '`');
        starts && !row.text.ends_with('.')
    };
    let odd: Vec<&str> = table()
        .filter(|row| !is_plain(row))
        .map(|row| row.text)
        .collect();
    assert_eq!(odd, [""; 0]);
    keywords.sort_unstable();
    let all = keywords.len();
    keywords.dedup();
    assert_eq!(keywords.len(), all);
}

const HEAD: &str = "\
# Keywords

<!-- Generated from the table in crates/pipeline/src/parity; the message of its test tells how to update it. -->

Runwright reads every keyword of GitLab's language and refuses what GitLab refuses. A local run cannot do everything
that a server does, and some features are not implemented yet. This page lists how a local run treats each keyword.

| local | meaning |
|---|---|
| yes | The keyword is supported. |
| note | It concerns only a server and does not affect the job. `runwright lint --notes` shows it. |
| warning | The job runs without it and may behave differently. `lint` and `run` warn once. |
| error | The job would do something else, so `run` refuses it before anything starts. Other jobs run. |

None of this makes a file invalid: `lint` exits with 0 if the file has no errors.
";

/// Returns the page of the guide that shows the table.
fn page() -> String {
    let mut page = HEAD.to_owned();
    push(&mut page, "Whole file", file_keywords());
    push(&mut page, "Jobs and `default`", job_keywords());
    page
}

fn push(page: &mut String, title: &str, rows: &[Row]) {
    let _ = write!(
        page,
        "\n## {title}\n\n| keyword | local | treatment |\n|---|---|---|\n"
    );
    let mut rows: Vec<&Row> = rows.iter().collect();
    rows.sort_by_key(|row| row.keyword);
    for row in rows {
        let (keyword, class) = (row.keyword, row.class.as_str());
        let _ = writeln!(page, "| `{keyword}` | {class} | {}. |", capital(row.text));
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

#[test]
fn the_published_page_matches_the_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/book/src/keywords.md");
    if std::env::var_os("RUNWRIGHT_WRITE_PAGES").is_some() {
        std::fs::write(&path, page()).unwrap();
    }
    let published = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        published == page(),
        "docs/book/src/keywords.md does not match the table; update it with\n\
         RUNWRIGHT_WRITE_PAGES=1 cargo test -p runwright-pipeline the_published_page"
    );
}
