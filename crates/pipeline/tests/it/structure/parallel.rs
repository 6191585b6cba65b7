use super::{check, check_errors, names};
use serde_json::json;

#[test]
fn a_matrix_expands_to_a_job_for_each_combination() {
    // R-GLCI-160 R-PIPE-13
    let text = "
job:
  script: x
  variables: {OS: own, KEEP: me}
  parallel: {matrix: [{OS: [linux, mac], V: [1, two]}, {OS: win}]}
";
    let expect = [
        "job: [linux, 1]",
        "job: [linux, two]",
        "job: [mac, 1]",
        "job: [mac, two]",
        "job: [win]",
    ];
    assert_eq!(names(text), expect);
    check(
        text,
        "job: [mac, 1]",
        &json!({
            "node_index": 3, "parallel_total": 5,
            "variables": {"OS": "mac", "KEEP": "me", "V": "1"},
            "job_variables": {"OS": "mac", "KEEP": "me", "V": "1"},
        }),
    );
    check(
        text,
        "job: [win]",
        &json!({"variables": {"OS": "win", "KEEP": "me"}}),
    );
}

#[test]
fn a_number_expands_to_equal_jobs() {
    // R-PIPE-13
    assert_eq!(names("job: {script: x, parallel: 1}"), ["job 1/1"]);
    assert_eq!(names("job: {script: x, parallel: 200}").len(), 200);
    let names = names("job: {script: x, parallel: 3}\nother: {script: x}");
    assert_eq!(names, ["job 1/3", "job 2/3", "job 3/3", "other"]);
}

#[test]
fn the_later_of_two_jobs_with_one_name_replaces_the_earlier() {
    let text = "a 1/2: {script: own}\nb: {script: x}\na: {script: made, parallel: 2}";
    assert_eq!(names(text), ["a 1/2", "b", "a 2/2"]);
    check(text, "a 1/2", &json!({"script": ["made"], "node_index": 1}));
    let text = "a: {script: made, parallel: 2}\na 1/2: {script: own}";
    assert_eq!(names(text), ["a 1/2", "a 2/2"]);
    check(
        text,
        "a 1/2",
        &json!({"script": ["own"], "node_index": null}),
    );
}

#[test]
fn a_matrix_without_values_expands_to_no_job() {
    assert!(names("job: {script: x, parallel: {matrix: []}}").is_empty());
    let text = "job: {script: x, parallel: {matrix: [{A: [1, 2], B: []}]}}\nb: {script: x}";
    assert_eq!(names(text), ["b"]);
    let waits = "a: {script: x, stage: build, parallel: {matrix: []}}\nb: {script: x, needs: [a]}";
    check(waits, "b", &json!({"needs": [], "scheduling": "dag"}));
}

#[test]
fn a_job_expands_to_at_most_two_hundred_instances() {
    // R-GLCI-160
    let values = |count: usize| {
        (0..count)
            .map(|n| n.to_string())
            .collect::<Vec<_>>()
            .join(", ")
    };
    let matrix = |a, b| {
        let (a, b) = (values(a), values(b));
        format!("job: {{script: x, parallel: {{matrix: [{{A: [{a}], B: [{b}]}}]}}}}")
    };
    assert_eq!(names(&matrix(20, 10)).len(), 200);
    let text = matrix(3, 67);
    let place = &text[text.find("[{").unwrap()..text.len() - 2];
    let words =
        "jobs:job:parallel:matrix config generates too many jobs (maximum is 200), here 201";
    check_errors(&text, &[&format!("{words} @ {place}")]);
    // Far too many for any memory.
    let bomb = format!(
        "{{{}}}",
        (0..40)
            .map(|n| format!("V{n}: [1, 2, 3]"))
            .collect::<Vec<_>>()
            .join(", ")
    );
    let text = format!("job: {{script: x, parallel: {{matrix: [{bomb}]}}}}");
    let checked = pipeline::ResolvedPipeline::from_text("ci.yml", &text);
    assert_eq!(checked.diagnostics.errors().count(), 1);
}

#[test]
fn invalid_parallel_is_refused() {
    let number = "jobs:job:parallel config must be between 1 and 200";
    let values = "jobs:job:parallel:matrix:variables config should be a hash of key value pairs: a \
                  value is a string or an integer";
    for (given, expect) in [
        ("0", format!("{number} @ 0")),
        ("201", format!("{number} @ 201")),
        (
            "1.5",
            "jobs:job:parallel config must be an integer @ 1.5".to_owned(),
        ),
        (
            "\"3\"",
            "jobs:job:parallel config should be an integer or a hash @ \"3\"".to_owned(),
        ),
        (
            "{matrix: {A: 1}}",
            "jobs:job:parallel:matrix config should be an array of hashes @ {A: 1}".to_owned(),
        ),
        ("{matrix: [{A: [true]}]}", format!("{values} @ true")),
        ("{matrix: [{A: 1.5}]}", format!("{values} @ 1.5")),
        (
            "{matrix: [{}]}",
            "jobs:job:parallel:matrix:variables config requires at least 1 item @ {}".to_owned(),
        ),
    ] {
        check_errors(
            &format!("job: {{script: x, parallel: {given}}}"),
            &[&expect],
        );
    }
    check_errors(
        "job: {trigger: a/b, parallel: 2}",
        &["jobs:job:parallel config cannot be a number in a trigger job; `matrix` can @ 2"],
    );
}
