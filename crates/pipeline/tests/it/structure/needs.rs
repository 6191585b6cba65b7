use super::{check, check_errors};
use pipeline::ResolvedPipeline;
use serde_json::{Value, json};

const BUILD: &str = "
a: {stage: build, script: x, parallel: 2}
m: {stage: build, script: x, parallel: {matrix: [{P: [x, y], Q: [1, 2]}]}}
";

fn need(job: &str) -> Value {
    json!({"job": job, "artifacts": true, "optional": false})
}

#[test]
fn needs_and_dependencies_are_expanded_to_instances() {
    // R-PIPE-14 R-GLCI-160
    let text = format!(
        "{BUILD}
b:
  script: x
  needs:
    - {{job: a, artifacts: false}}
    - [{{job: m, parallel: {{matrix: [{{P: x, Q: [1, 2]}}]}}}}]
    - 'm: [y, 1]'
  dependencies: [m]
"
    );
    let without = |job: &str| json!({"job": job, "artifacts": false, "optional": false});
    let expect = json!({
        "needs": [
            without("a 1/2"), without("a 2/2"), need("m: [x, 1]"), need("m: [x, 2]"),
            need("m: [y, 1]"),
        ],
        "dependencies": ["m: [x, 1]", "m: [x, 2]", "m: [y, 1]", "m: [y, 2]"],
        "scheduling": "dag",
    });
    // GitLab compares the names in the file, so the `parallel` job must be named itself.
    check(&text, "b", &expect);
}

#[test]
fn an_instance_can_need_the_instance_with_the_same_values() {
    // R-GLCI-160
    let text = format!(
        "{BUILD}
t:
  script: x
  parallel: {{matrix: [{{P: [x, y], Q: 2}}]}}
  needs:
    - job: m
      parallel: {{matrix: [{{P: '$[[ matrix.P ]]', Q: '$[[ matrix.Q ]]'}}]}}
  rules:
    - if: $A
      needs: ['m: [$[[ matrix.P ]], 1]']
    - when: never
"
    );
    check(&text, "t: [y, 2]", &json!({"needs": [need("m: [y, 2]")]}));
    let resolved = super::resolve(&text);
    let job = resolved
        .jobs
        .iter()
        .find(|job| job.definition.name == "t: [x, 2]");
    let of_rule = job.unwrap().rule_needs[0].as_ref();
    assert_eq!(of_rule.unwrap().needs[0].job, "m: [x, 1]");
    let misspelt = text.replace("matrix.Q", "matrix.Z");
    check_errors(
        &misspelt,
        &[
            "t job: matrix expression `Z` is not a name in the job's matrix @ job: m\n      \
           parallel: {matrix: [{P: '$[[ matrix.P ]]', Q: '$[[ matrix.Z ]]'}]}",
        ],
    );
}

#[test]
fn a_need_with_a_wrong_value_has_the_values_there_are() {
    let help = |matrix: &str| {
        let text = format!(
            "c: {{script: x, parallel: {{matrix: [{{OS: [linux, mac], V: 1}}, {{OS: bsd, V: 2}}]}}}}\n\
             t: {{script: x, needs: [{{job: c, parallel: {{matrix: [{matrix}]}}}}]}}"
        );
        let found = ResolvedPipeline::from_text("ci.yml", &text).diagnostics;
        let helps = found.errors().filter_map(|error| error.help.clone());
        helps.collect::<String>()
    };
    insta::assert_snapshot!(help("{OS: linus, V: 1}"), @"no instance of `c` has OS=linus and V=1; did you mean `linux`?; the values are OS=linux|mac|bsd, V=1|2");
    insta::assert_snapshot!(help("{OS: bsd, V: 1}"), @"no instance of `c` has OS=bsd and V=1; the values are OS=linux|mac|bsd, V=1|2");
    insta::assert_snapshot!(help("{V: 1, OS: bsd}"), @"`c` expands to jobs like `c: [linux, 1]`: give all names of its matrix, in the same order");
}

#[test]
fn needed_jobs_must_exist_and_come_before() {
    for (needs, message, place) in [
        ("[nope]", "t job: undefined need: nope", "nope"),
        ("[.h]", "t job: undefined need: .h", ".h"),
        (
            "[late]",
            "t job: need late is not defined in current or prior stages",
            "late",
        ),
        ("[a, a]", "t has the following needs duplicated: a 1/2", "a"),
        (
            "[a, 'a 2/2']",
            "t has the following needs duplicated: a 2/2",
            "'a 2/2'",
        ),
        ("['m: [x]']", "t job: undefined need: m: [x]", "'m: [x]'"),
        (
            "[{job: m, parallel: {matrix: [{Q: 1, P: x}]}}]",
            "t job: undefined need: m: [1, x]",
            "{job: m, parallel: {matrix: [{Q: 1, P: x}]}}",
        ),
        (
            "[t]",
            "The pipeline has circular dependencies: the jobs need each other in a cycle: t -> t",
            "t",
        ),
    ] {
        let text = format!(
            "{BUILD}.h: {{script: x}}\nlate: {{stage: deploy, script: x}}\n\
             t: {{script: x, needs: {needs}}}"
        );
        check_errors(&text, &[&format!("{message} @ {place}")]);
    }
    let optional = "t: {script: x, needs: [{job: nope, optional: true}]}";
    check(
        optional,
        "t",
        &json!({"needs": [{"job": "nope", "artifacts": true, "optional": true}]}),
    );
}

#[test]
fn dependencies_must_come_before_and_be_needed() {
    for (keys, message, place) in [
        (
            "dependencies: [zip]",
            "t job: undefined dependency: zip",
            "zip",
        ),
        (
            "dependencies: [late]",
            "t job: dependency late is not defined in current or prior stages",
            "late",
        ),
        (
            "needs: [a], dependencies: [m]",
            "jobs:t dependencies the m should be part of needs",
            "m",
        ),
    ] {
        let text = format!("{BUILD}late: {{stage: deploy, script: x}}\nt: {{script: x, {keys}}}");
        check_errors(&text, &[&format!("{message} @ {place}")]);
    }
    let text = format!("{BUILD}t: {{script: x, needs: [], dependencies: [a]}}");
    check(
        &text,
        "t",
        &json!({"dependencies": ["a 1/2", "a 2/2"], "needs": []}),
    );
}

#[test]
fn needs_in_other_pipelines_are_separate() {
    let text = "
t:
  script: x
  needs:
    - {project: g/p, job: b, ref: main, artifacts: false}
    - {pipeline: $UP, job: b}
";
    check(
        text,
        "t",
        &json!({
            "needs": [],
            "needs_cross": [
                {"project": "g/p", "job": "b", "ref": "main", "artifacts": false},
                {"pipeline": "$UP", "job": "b", "artifacts": true},
            ],
        }),
    );
    let many = "{pipeline: $UP, job: b}, ".repeat(6);
    let many = many.trim_end_matches(", ");
    check_errors(
        &format!("t: {{script: x, needs: [{many}]}}"),
        &[&format!(
            "jobs:t:needs config must be less than or equal to 5 for other pipelines @ [{many}]"
        )],
    );
}

#[test]
fn invalid_needs_are_refused() {
    let need = "jobs:t:needs:need";
    for (given, message, place) in [
        (
            "text",
            "jobs:t:needs config can only be a hash or an array",
            "text",
        ),
        (
            "{}",
            "jobs:t:needs config can only be a hash or an array",
            "{}",
        ),
        (
            "[1]",
            &*format!("{need} config has an unsupported type: it should be a string or a hash"),
            "1",
        ),
        ("['']", &format!("{need} config can't be blank"), "''"),
        (
            "[{job: a, foo: 1}]",
            &format!("{need} config contains unknown keys: foo"),
            "foo",
        ),
        (
            "[{job: a, optional: maybe}]",
            &format!("{need} optional should be a boolean value"),
            "maybe",
        ),
        (
            "[{job: a, parallel: 2}]",
            &format!("{need} parallel cannot be a number here: select instances with `matrix`"),
            "2",
        ),
        (
            "[{project: g/p, job: b}]",
            &format!("{need} config missing required keys: ref"),
            "{project: g/p, job: b}",
        ),
        (
            "[{pipeline: g/p}]",
            "jobs:t:needs config uses invalid types: bridge",
            "{pipeline: g/p}",
        ),
    ] {
        let text = format!("{BUILD}t: {{script: x, needs: {given}}}");
        check_errors(&text, &[&format!("{message} @ {place}")]);
    }
}
