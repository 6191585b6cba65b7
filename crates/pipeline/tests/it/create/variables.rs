//! The precedence of variables, and the expansion of references.

use super::{given, push};
use crate::plans::{resolve, try_plan};
use executor_core::job::Job;
use executor_core::variable::{JobVariable, JobVariables};
use pipeline::Selection;
use pipeline::context::{ExternalVariable, Level, PipelineContext};

/// Returns the only job of a file as a runner receives it.
fn payload(text: &str, context: PipelineContext) -> Job {
    let plan = try_plan(&resolve(text), context, &Selection::default()).unwrap();
    plan.payload(0)
}

fn value<'j>(job: &'j Job, name: &str) -> Option<&'j str> {
    let mut variables = job.variables.iter();
    let found = variables.find(|variable| variable.key == name);
    found.map(|variable| variable.value.as_str())
}

#[test]
fn later_layers_override_earlier_ones() {
    let text = "
variables: {A: root, B: root, C: root, D: root, E: root, F: root, CI_JOB_STAGE: root, GITLAB_USER_LOGIN: root}
workflow: {rules: [{if: $CI, variables: {B: flow, C: flow, D: flow, E: flow, F: flow}}]}
job:
  script: x
  parallel: {matrix: [{D: matrix}]}
  variables: {C: job, D: job, E: job, F: job}
  rules: [{if: $CI, variables: {E: rule, F: rule}}]
";
    let variables = |names: &[&str], level: Level| {
        let list = names.iter().map(move |&name| {
            let variable = JobVariable::public(name, format!("{level:?}"));
            ExternalVariable::of_option("--x", level, variable)
        });
        list.collect::<Vec<_>>()
    };
    let mut context = given(variables(&["F", "G"], Level::Pipeline));
    context
        .external
        .extend(variables(&["F", "G", "H"], Level::Project));
    context
        .external
        .extend(variables(&["H", "I"], Level::Instance));
    context.user.login = "me".to_owned();
    let job = payload(text, context);
    let all = ["A", "B", "C", "D", "E", "F", "G", "H", "I"].map(|name| value(&job, name).unwrap());
    let expect = [
        "root", "flow", "job", "matrix", "rule", "Pipeline", "Pipeline", "Project", "Instance",
    ];
    assert_eq!(all, expect);
    // Unlike other predefined variables, those of the user override the file.
    assert_eq!(value(&job, "CI_JOB_STAGE"), Some("root"));
    assert_eq!(value(&job, "GITLAB_USER_LOGIN"), Some("me"));
}

#[test]
fn a_variable_of_an_environment_is_only_for_its_jobs() {
    let scoped = |name: &str, scope: &str| ExternalVariable {
        scope: scope.to_owned(),
        ..ExternalVariable::of_secret(JobVariable::masked(name, scope))
    };
    let context = || given(vec![scoped("KEY", "review/*"), scoped("KEY", "*")]);
    let of = |environment: &str| {
        let text = format!("a: {{script: x, variables: {{N: x1}}{environment}}}\n");
        let job = payload(&text, context());
        value(&job, "KEY").unwrap().to_owned()
    };
    assert_eq!(of(""), "*");
    assert_eq!(of(", environment: review/$N"), "review/*");
    assert_eq!(of(", environment: production"), "*");
}

#[test]
fn an_environments_name_cannot_use_variables_of_the_environment() {
    let given_as = |value: &str, scope: &str| ExternalVariable {
        scope: scope.to_owned(),
        ..ExternalVariable::of_secret(JobVariable::public("N", value))
    };
    let context = given(vec![given_as("1", "*"), given_as("2", "e-1*")]);
    let text = "a: {script: x, environment: 'e-$N$CI_ENVIRONMENT_ACTION'}\n";
    let job = payload(text, context);
    assert_eq!(value(&job, "CI_ENVIRONMENT_NAME"), Some("e-1"));
    assert_eq!(value(&job, "N"), Some("2"));
    let definition = job.definition.as_deref().unwrap();
    assert_eq!(definition.environment.as_deref().unwrap().name, "e-1");
}

#[test]
fn a_doubled_dollar_is_not_an_escape_where_gitlab_expands() {
    let text = "
workflow: {name: '$$A'}
a: {script: x, variables: {A: a}, resource_group: '$${A}', environment: 'e-$$A'}
";
    let mut context = push();
    context.external = vec![ExternalVariable::of_pipeline(JobVariable::public("A", "b"))];
    let creation = super::created(text, &context);
    assert_eq!(creation.name.as_deref(), Some("$b"));
    let definition = payload(text, context).definition.unwrap();
    assert_eq!(definition.resource_group.as_deref(), Some("$b"));
    assert_eq!(definition.environment.unwrap().name, "e-$b");
}

#[test]
fn scripts_are_not_expanded() {
    // R-GLCI-170
    let text = "
job:
  image: $IMAGE
  before_script: ['echo $A ${A} %A%']
  script: ['echo $A $$A $CI_JOB_NAME', 'echo ${A:-b}']
  after_script: [echo $A]
  variables: {A: a, IMAGE: i$A}
  tags: [$A, $NO]
  resource_group: g-$IMAGE
  environment: {name: e/$A, url: 'https://$CI_ENVIRONMENT_SLUG.x', auto_stop_in: $A day}
";
    let job = payload(text, push());
    let expect = [
        "echo $A ${A} %A%",
        "echo $A $$A $CI_JOB_NAME",
        "echo ${A:-b}",
    ];
    assert_eq!(job.steps[0].script, expect);
    assert_eq!(job.steps[1].script, ["echo $A"]);
    // The runner expands the name of an image.
    assert_eq!(job.image.name, "$IMAGE");
    assert_eq!(value(&job, "IMAGE"), Some("ia"));
    // GitLab expands these itself.
    let definition = job.definition.as_deref().unwrap();
    assert_eq!(definition.tags.as_deref().unwrap(), ["a", "$NO"]);
    assert_eq!(definition.resource_group.as_deref(), Some("g-ia"));
    let environment = definition.environment.as_deref().unwrap();
    assert_eq!(environment.name, "e/a");
    assert_eq!(environment.auto_stop_in.as_deref(), Some("a day"));
    assert_eq!(value(&job, "CI_ENVIRONMENT_NAME"), Some("e/a"));
    // The runner inserts predefined values once, without expanding them.
    let slug = value(&job, "CI_ENVIRONMENT_SLUG").unwrap();
    let runner: JobVariables = job.variables.iter().cloned().collect();
    let url = format!("https://{slug}.x");
    let expanded = runner.expanded();
    assert_eq!(expanded.get("CI_ENVIRONMENT_URL"), Some(&*url));
}
