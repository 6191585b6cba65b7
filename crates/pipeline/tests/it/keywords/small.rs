use super::{accept, job, refuse, text_of};
use pipeline::ResolvedPipeline;
use serde_json::json;

#[test]
fn doubtful_values_have_a_note() {
    let check = |keywords: &str, code: &str, about: &str| {
        let found = ResolvedPipeline::from_text("ci.yml", &job(keywords)).diagnostics;
        assert!(!found.has_errors(), "{found}");
        let notes = found
            .notes()
            .map(|note| (note.code, text_of(note, found.sources())));
        let expect = [(code, about)];
        let expect = if code.is_empty() { &[][..] } else { &expect };
        assert_eq!(notes.collect::<Vec<_>>(), expect, "{keywords}");
    };
    let rule = |condition: &str| format!("rules: [{{if: '{condition}'}}]");
    check(
        &rule("\"23\" =~ \"1234\""),
        "reversed-match",
        "\"23\" =~ \"1234\"",
    );
    check(&rule("$A && $B !~ \"b\""), "reversed-match", "$B !~ \"b\"");
    check(&rule("$A =~ /bc/ && $B =~ $C && $D =~ \"/de/\""), "", "");
    let key = "cache: {key: {files: [a.lock, $P]}, paths: [p]}";
    check(key, "literal-variable", "$P");
    check("needs: [~]", "empty-need", "~");
}

#[test]
fn a_rule_without_a_need_is_warned_about() {
    // GitLab's documentation says that the list clears the needs of the job; its code ignores it.
    let text = job("needs: []\nrules: [{if: $A, needs: []}]");
    let found = ResolvedPipeline::from_text("ci.yml", &text).diagnostics;
    insta::assert_snapshot!(found, @"
    warning[empty-rule-needs]: jobs:job:rules:rule:needs config names no job, so the job keeps its own `needs`, as in GitLab
     --> ci.yml:4:27
      |
    4 |   rules: [{if: $A, needs: []}]
      |                           ^^
      |
      = help: to start it at once by this rule, give the job `needs: []` and its other rules the needs
    ");
    let workflow = "workflow: {rules: [{when: always, needs: []}]}\nj: {script: x}\n";
    let found = ResolvedPipeline::from_text("ci.yml", workflow).diagnostics;
    assert_eq!(found.iter().count(), 0, "{found}");
}

#[test]
fn timeouts_are_durations_of_at_most_a_month() {
    // R-GLCI-159
    let check = |text: &str, seconds: u64| {
        accept(
            &format!("timeout: {text}"),
            "timeout_seconds",
            &json!(seconds),
        );
    };
    check("'3600'", 3600);
    check("1h 30m", 5400);
    check("10m30", 630);
    check("1 mo", 2_592_000);
    let duration = "jobs:job:timeout config should be a duration";
    refuse("timeout: 3600", duration, "3600");
    refuse("timeout: '0'", duration, "'0'");
    let limit = "jobs:job:timeout config should not exceed the limit of a month";
    refuse("timeout: 32 days", limit, "32 days");
}

#[test]
fn tags_are_a_flat_list_of_fewer_than_fifty() {
    // R-GLCI-159
    let list = |tags: &[String]| format!("[{}]", tags.join(", "));
    let tags: Vec<String> = (0..50).map(|n| format!("t{n}")).collect();
    let same = vec!["t".to_owned(); 60];
    accept(
        &format!("tags: {}", list(&tags[..49])),
        "tags",
        &json!(tags[..49]),
    );
    accept(&format!("tags: {}", list(&same)), "tags", &json!(same));
    let limit = "jobs:job:tags config must be less than the limit of 50 tags";
    refuse(&format!("tags: {}", list(&tags)), limit, &list(&tags));
    refuse(
        "tags: [a, [b]]",
        "jobs:job:tags config should be an array of strings",
        "[b]",
    );
    refuse(
        "tags: [1]",
        "jobs:job:tags config should be an array of strings",
        "1",
    );
}

#[test]
fn coverage_is_a_pattern_of_re2_between_slashes() {
    // R-GLCI-159
    accept(r"coverage: '/(\d+)%/'", "coverage", &json!(r"(\d+)%"));
    let slashes = "jobs:job:coverage config must be a regular expression between slashes";
    refuse("coverage: '/a/i'", slashes, "'/a/i'");
    refuse("coverage: /", slashes, "/");
    refuse(
        "coverage: 1",
        "jobs:job:coverage config should be a string, not a number",
        "1",
    );
    let re2 = "jobs:job:coverage config must be a regular expression of RE2";
    refuse(r"coverage: '/(?<!a)\d/'", re2, r"'/(?<!a)\d/'");
}

#[test]
fn pages_may_be_published_with_settings() {
    // R-GLCI-159
    accept("pages: true", "pages", &json!(true));
    accept(
        "pages: {publish: dist}",
        "artifacts",
        &json!({"paths": ["dist"]}),
    );
    accept(
        "pages: {expire_in: $T}",
        "pages",
        &json!({"expire_in": "$T"}),
    );
    accept(
        "pages: {expire_in: never, path_prefix: $P}",
        "pages",
        &json!({"path_prefix": "$P", "expire_in": "never"}),
    );
    refuse(
        "pages: a",
        "jobs:job:pages config should be a hash or a boolean value",
        "a",
    );
    refuse(
        "pages: {expire_in: soon}",
        "jobs:job:pages expire_in should be a duration",
        "soon",
    );
    refuse(
        "pages: {prefix: a}",
        "jobs:job:pages config contains unknown keys: prefix",
        "prefix",
    );
}

#[test]
fn keywords_of_the_paid_tiers_are_read() {
    // R-GLCI-159
    accept("identity: google_cloud", "identity", &json!("google_cloud"));
    accept(
        "dast_configuration: {site_profile: a, scanner_profile: b}",
        "script",
        &json!(["x"]),
    );
    refuse(
        "identity: aws",
        "jobs:job:identity config should be one of: google_cloud",
        "aws",
    );
    refuse(
        "dast_configuration: {site: a}",
        "jobs:job:dast_configuration config contains unknown keys: site",
        "site",
    );
}
