use super::{check, check_errors, names};
use serde_json::json;

#[test]
fn keywords_determine_the_kind_of_a_job() {
    // R-PIPE-11 R-PIPE-12
    let text = "
.hidden: {nothing: [that, matters]}
default: {script: x}
workflow: {script: x}
stages: [test]
variables: {script: a variable}
commands: {script: x}
steps: {run: [{name: s, script: x}]}
starts: {trigger: group/project}
mirrors: {needs: {pipeline: group/project}}
\"true\": {script: x}
";
    let expect = [
        "default", "workflow", "commands", "steps", "starts", "mirrors", "true",
    ];
    assert_eq!(names(text), expect);
    check(
        text,
        "commands",
        &json!({"script": ["x"], "stage": "test", "trigger": null}),
    );
    check(
        text,
        "starts",
        &json!({"script": null, "trigger": {"project": "group/project"}}),
    );
    check(
        text,
        "mirrors",
        &json!({
            "needs": null, "needs_cross": [{"pipeline": "group/project"}], "scheduling": "stage"
        }),
    );
}

#[test]
fn keys_without_work_are_not_jobs() {
    let lacks = "should implement the script:, run:, or trigger: keyword";
    let message = |name: &str| format!("jobs:{name} config {lacks} @ {name}");
    for text in [
        "types: [a]",
        "tags: [a]",
        "job: {stage: test}",
        "job:",
        "job: text",
    ] {
        let name = text.split(':').next().unwrap();
        check_errors(&format!("{text}\nok: {{script: x}}"), &[&message(name)]);
    }
    check_errors("job: {needs: [ok]}\nok: {script: x}", &[&message("job")]);
    // Only the error in the keyword that makes it a job is reported.
    check_errors(
        "job: {needs: ok}\nok: {script: x}",
        &["jobs:job:needs config can only be a hash or an array @ ok"],
    );
    check_errors(
        "job: {needs: [ok], image: i, tags: 1}\nok: {script: x}",
        &[
            "jobs:job:tags config should be an array of strings @ 1",
            &message("job"),
        ],
    );
}

#[test]
fn names_are_neither_blank_nor_too_long() {
    check_errors(
        "1: {script: x}",
        &["jobs:1 name should be a symbol: put quotes around it @ 1"],
    );
    check_errors(
        "yes: {script: x}",
        &["jobs:true name should be a symbol: put quotes around it @ yes"],
    );
    check_errors(
        "\"\": {script: x}",
        &["jobs:job name can't be blank @ \"\""],
    );
    let long = "n".repeat(256);
    let shown = &long[..55];
    check_errors(
        &format!("{long}: {{script: x}}"),
        &[&format!(
            "jobs:{shown} name is too long (maximum is 255 characters) @ {long}"
        )],
    );
    assert_eq!(
        names(&format!("{}: {{script: x}}", &long[1..])),
        [&long[1..]]
    );
}

#[test]
fn conflicting_keywords_are_reported_in_pairs() {
    let together = "jobs:job config these keys cannot be used together";
    for (one, other, text) in [
        ("script", "run", "script: x, run: [{name: s, script: x}]"),
        (
            "before_script",
            "run",
            "before_script: [x], run: [{name: s, script: x}]",
        ),
        (
            "after_script",
            "run",
            "after_script: [x], run: [{name: s, script: x}]",
        ),
        ("script", "trigger", "script: x, trigger: a/b"),
        (
            "run",
            "trigger",
            "run: [{name: s, script: x}], trigger: a/b",
        ),
    ] {
        let expect = format!("{together}: {one}, {other} @ {other}");
        check_errors(&format!("job: {{{text}}}"), &[&expect]);
    }
    for key in [
        "only: [main]",
        "except: [main]",
        "when: delayed, start_in: 1h",
    ] {
        let name = if key.contains("start_in") {
            "start_in"
        } else {
            &key[..key.len() - 8]
        };
        let expect = format!("jobs:job config key may not be used with `rules`: {name} @ {name}");
        check_errors(
            &format!("job: {{script: x, rules: [{{if: $A}}], {key}}}"),
            &[&expect],
        );
    }
    check(
        "job: {script: x, rules: , only: [main]}",
        "job",
        &json!({"only": {"refs": ["main"]}}),
    );
}

#[test]
fn delays_are_for_delayed_jobs_and_at_most_a_week() {
    for delay in ["30 minutes", "7 days", "5"] {
        let text = format!("job: {{script: x, when: delayed, start_in: \"{delay}\"}}");
        check(&text, "job", &json!({"start_in": delay}));
    }
    check_errors(
        "job: {script: x, when: delayed}",
        &["jobs:job config with `when: delayed` needs `start_in` @ when"],
    );
    check_errors(
        "job: {script: x, start_in: 1h}",
        &["jobs:job config may have `start_in` only with `when: delayed` @ start_in"],
    );
    check_errors(
        "job: {script: x, when: delayed, start_in: 8 days}",
        &["jobs:job start_in should not exceed the limit of a week @ 8 days"],
    );
    // Only a misspelled `when` is reported, without its consequences.
    check_errors(
        "job: {script: x, when: delaid, start_in: 1h}",
        &[
            "jobs:job when should be one of: on_success, on_failure, always, manual, delayed @ delaid",
        ],
    );
}

#[test]
fn pages_have_one_directory() {
    check(
        "pages: {script: x}",
        "pages",
        &json!({"artifacts": {"paths": ["public"]}}),
    );
    check(
        "pages: {script: x, pages: false}",
        "pages",
        &json!({"artifacts": null}),
    );
    check(
        "site: {script: x, pages: true, publish: out, artifacts: {paths: [log]}}",
        "site",
        &json!({"artifacts": {"paths": ["log", "out"]}}),
    );
    check_errors(
        "site: {script: x, publish: out}",
        &["jobs:site config publish can only be used within a `pages` job @ publish"],
    );
    check_errors(
        "pages: {script: x, publish: a, pages: {publish: b}}",
        &["jobs:pages config please use either `publish` or `pages:publish`, not both @ publish"],
    );
}
