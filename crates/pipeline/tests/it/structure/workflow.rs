use super::{check_errors, resolve};
use executor_core::job::When;
use pipeline::rules::{AutoCancel, OnJobFailure, OnNewCommit};

#[test]
fn a_workflow_has_rules_a_name_and_auto_cancel() {
    // R-GLCI-158
    let text = "
workflow:
  name: '  run $CI_COMMIT_BRANCH '
  auto_cancel: {on_new_commit: interruptible, on_job_failure: all}
  rules:
    - if: $A
      variables: {B: 1}
      auto_cancel: {on_new_commit: none}
    - [{when: never}]
job: {script: x}
";
    let workflow = resolve(text).workflow;
    assert_eq!(workflow.name.unwrap().value, "run $CI_COMMIT_BRANCH");
    assert_eq!(
        workflow.auto_cancel,
        AutoCancel {
            on_new_commit: Some(OnNewCommit::Interruptible),
            on_job_failure: Some(OnJobFailure::All),
        }
    );
    let [first, second] = workflow.rules.entries() else {
        panic!("{:?}", workflow.rules);
    };
    assert_eq!(first.variables["B"].value(), "1");
    let cancel = first.auto_cancel.unwrap();
    assert_eq!(
        (cancel.on_new_commit, cancel.on_job_failure),
        (Some(OnNewCommit::None), None)
    );
    assert_eq!(second.when, Some(When::Never));
}

#[test]
fn invalid_workflows_are_refused() {
    // R-GLCI-158
    let long = "n".repeat(256);
    for (given, message, place) in [
        ("text", "workflow config should be a hash", "text"),
        (
            "{foo: 1}",
            "workflow config contains unknown keys: foo",
            "foo",
        ),
        ("{rules: []}", "workflow:rules config can't be blank", "[]"),
        (
            "{rules: [{when: manual}]}",
            "workflow:rules:rule when should be one of: always, never",
            "manual",
        ),
        (
            "{rules: [{if: $A, interruptible: true}]}",
            "workflow:rules:rule config contains unknown keys: interruptible",
            "interruptible",
        ),
        (
            "{auto_cancel: {on_new_commit: sometimes}}",
            "workflow:auto_cancel on_new_commit should be one of: conservative, interruptible, none",
            "sometimes",
        ),
        (
            "{auto_cancel: {on_job_failure: some}}",
            "workflow:auto_cancel on_job_failure should be one of: none, all",
            "some",
        ),
        (
            &format!("{{name: {long}}}"),
            "workflow name is too long (the maximum is 255 characters)",
            &long,
        ),
    ] {
        let text = format!("workflow: {given}\njob: {{script: x}}");
        check_errors(&text, &[&format!("{message} @ {place}")]);
    }
    assert_eq!(
        resolve("workflow: {name: ' '}\njob: {script: x}")
            .workflow
            .name,
        None
    );
}

#[test]
fn a_last_rule_that_always_matches_is_warned_about() {
    let warnings = |text: &str| {
        let checked = pipeline::ResolvedPipeline::from_text("ci.yml", text);
        let codes = checked.diagnostics.warnings().map(|warning| warning.code);
        codes.collect::<Vec<_>>()
    };
    let twice = ["duplicate-pipelines"];
    assert_eq!(
        warnings("j: {script: x, rules: [{if: $A}, {when: always}]}"),
        twice
    );
    assert!(warnings("j: {script: x, rules: [{if: $A}, {when: never}]}").is_empty());
    assert!(warnings("j: {script: x, rules: [{when: always}, {if: $A}]}").is_empty());
    let workflow = "workflow: {rules: [{when: always}]}\n";
    assert!(
        warnings(&format!(
            "{workflow}j: {{script: x, rules: [{{when: always}}]}}"
        ))
        .is_empty()
    );
}
