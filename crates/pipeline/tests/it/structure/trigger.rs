use super::{check, check_errors, resolve};
use pipeline::config::JobKind;
use serde_json::json;

#[test]
fn a_trigger_names_a_project_or_files() {
    // R-GLCI-159
    check(
        "job: {trigger: g/p}",
        "job",
        &json!({"trigger": {"project": "g/p"}}),
    );
    let text = "
make: {stage: build, script: x}
job:
  when: manual
  trigger:
    strategy: mirror
    forward: {pipeline_variables: true}
    include: [{artifact: c.yml, job: make}, {local: a.yml, inputs: {a: 1}}, {project: g/p, file: f.yml}]
";
    check(
        text,
        "job",
        &json!({"when": "manual", "allow_failure": true, "script": null}),
    );
    assert_eq!(resolve(text).jobs[1].kind, JobKind::Trigger);
}

#[test]
fn invalid_triggers_are_refused() {
    // R-GLCI-159
    let trigger = "jobs:job:trigger";
    for (given, message, place) in [
        ("{}", &*format!("{trigger} config can't be blank"), "{}"),
        (
            "1",
            &format!("{trigger} config has to be either a string or a hash"),
            "1",
        ),
        (
            "{project: g/p, foo: 1}",
            &format!("{trigger} config contains unknown keys: foo"),
            "foo",
        ),
        (
            "{project: g/p, include: a.yml}",
            &format!("{trigger} config cannot have `project` and `include` together"),
            "include",
        ),
        (
            "{project: g/p, strategy: follow}",
            &format!("{trigger} strategy should be one of: depend, mirror"),
            "follow",
        ),
        (
            "{project: g/p, forward: {yaml_variables: maybe}}",
            &format!("{trigger}:forward yaml_variables should be a boolean value"),
            "maybe",
        ),
        (
            "{project: g/p, inputs: [a]}",
            &format!("{trigger} inputs should be a hash"),
            "[a]",
        ),
        (
            "{include: [a.yml, b.yml, c.yml, d.yml]}",
            &format!("{trigger}:include config is too long (maximum is 3)"),
            "[a.yml, b.yml, c.yml, d.yml]",
        ),
        (
            "{include: [{artifact: a.yml}]}",
            &format!("{trigger}:include config must specify the job where the artifact comes from"),
            "artifact",
        ),
        (
            "{include: [{artifact: a.yml, job: nope}]}",
            "job job: undefined dependency: nope",
            "nope",
        ),
    ] {
        check_errors(
            &format!("job: {{trigger: {given}}}"),
            &[&format!("{message} @ {place}")],
        );
    }
}

#[test]
fn a_trigger_job_has_few_keywords() {
    check_errors(
        "job: {trigger: g/p, image: i, before_script: [x]}",
        &["jobs:job config contains unknown keys: image, before_script @ image"],
    );
    check_errors(
        "job: {trigger: g/p, when: delayed}",
        &["jobs:job when should be one of: on_success, on_failure, always, manual @ delayed"],
    );
    check_errors(
        "job: {trigger: g/p, allow_failure: {exit_codes: 1}}",
        &["jobs:job:allow_failure config should be a boolean value @ {exit_codes: 1}"],
    );
    check_errors(
        "job: {trigger: g/p, needs: [{pipeline: $UP, job: b}]}",
        &["jobs:job:needs config uses invalid types: cross_dependency @ {pipeline: $UP, job: b}"],
    );
}
