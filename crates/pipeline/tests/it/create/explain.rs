//! Why a job is included, and the origins of its keywords and variables.

use super::push;
use executor_core::variable::JobVariable;
use pipeline::context::{ExternalSource, ExternalVariable, Level};
use pipeline::include::KnownFiles;
use pipeline::repository::NoRepository;
use pipeline::{LoadOptions, Pipeline, create};
use pipeline_insight::explain::{
    ExplainedVariables, Explainer, Explanation, FieldSource, LeftOutReason, RuleOutcome,
    VariableSource,
};

const FILE: &str = "\
include: base.yml
variables: {A: root, B: root}
default: {tags: [docker]}
image: alpine
workflow: {name: for $D, rules: [{if: $NO}, {if: $CI_COMMIT_BRANCH, variables: {B: flow}}]}
build:
  extends: .base
  script: make
  parallel: {matrix: [{OS: [linux, mac]}]}
  variables: {A: own, CI_JOB_STAGE: own, CI_ENVIRONMENT_URL: own}
  rules:
    - if: $TOKEN == 'other'
    - if: $A == 'own'
      when: manual
      variables: {C: $A}
    - when: never
  environment: {name: on/$D, url: https://$OS}
";
const BASE: &str = ".base:\n  artifacts: {paths: [out]}\n  variables: {D: base}\n";

fn explain(job: &str) -> Explanation {
    let files = KnownFiles::with_own([("base.yml", BASE)]);
    let options = LoadOptions {
        includes: &files,
        ..LoadOptions::default()
    };
    let loaded = Pipeline::load("ci.yml", FILE, &options);
    let both = loaded.and_then(|pipeline, found| {
        let resolved = pipeline.resolve(found);
        Some((pipeline, resolved))
    });
    let ((pipeline, resolved), _) = both.into_result().unwrap();
    let mut context = push();
    let secret = JobVariable::masked("TOKEN", "s3cret-value");
    context.external = vec![
        ExternalVariable::of_secret(secret),
        ExternalVariable::of_pipeline(JobVariable::public("D", "given $TOKEN")),
    ];
    let creation = create(&resolved, &context, &NoRepository);
    let explainer = Explainer::new(&pipeline, &creation, &context, &NoRepository);
    explainer.explain(creation.job(job).unwrap()).unwrap()
}

#[test]
fn each_rule_has_an_outcome_and_a_location() {
    use RuleOutcome::{Failed, Held, NotReached};
    let job = explain("build: [mac]");
    assert!(job.is_included);
    assert_eq!(job.reason, "its rule 2 matches");
    let outcomes: Vec<RuleOutcome> = job.rules.iter().map(|rule| rule.outcome).collect();
    assert_eq!(outcomes, [Failed, Held, NotReached]);
    let outcomes: Vec<RuleOutcome> = job.workflow.iter().map(|rule| rule.outcome).collect();
    assert_eq!(outcomes, [Failed, Held]);
    assert_eq!(job.rules[1].place.to_string(), "ci.yml:13");
    assert_eq!(job.rules[1].effects, ["when: manual", "variables: C"]);
    let parallel = job.parallel.unwrap();
    assert_eq!((parallel.index, parallel.total), (2, 2));
    assert_eq!(parallel.matrix, [("OS".to_owned(), "mac".to_owned())]);
}

#[test]
fn each_field_has_an_origin() {
    let job = explain("build: [mac]");
    let field = |key: &str| {
        let field = job.fields.iter().find(|field| field.key == key).unwrap();
        (field.source.clone(), field.place.to_string())
    };
    assert_eq!(field("script"), (FieldSource::Own, "ci.yml:8".to_owned()));
    let from_base = FieldSource::From(".base".to_owned());
    assert_eq!(field("artifacts"), (from_base, "base.yml:2".to_owned()));
    assert_eq!(field("tags"), (FieldSource::Default, "ci.yml:3".to_owned()));
    assert_eq!(field("image"), (FieldSource::Global, "ci.yml:4".to_owned()));
    assert_eq!(field("when"), (FieldSource::Rule, "ci.yml:13".to_owned()));
    let artifacts = job
        .fields
        .iter()
        .find(|field| field.key == "artifacts")
        .unwrap();
    assert_eq!(artifacts.place.includes, ["ci.yml:1"]);
}

#[test]
fn each_variable_has_an_origin_and_overridden_values() {
    let job = explain("build: [mac]");
    let variable = |name: &str| {
        job.variables
            .iter()
            .find(|found| found.name == name)
            .unwrap()
    };
    let place = |source: &VariableSource| match source {
        VariableSource::Predefined => "predefined".to_owned(),
        VariableSource::Global { place } => format!("global {place}"),
        VariableSource::WorkflowRule { place } => format!("workflow {place}"),
        VariableSource::Job { place } => format!("job {place}"),
        VariableSource::Matrix { place } => format!("matrix {place}"),
        VariableSource::Rule { place } => format!("rule {place}"),
        VariableSource::External { source, .. } => source.to_string(),
    };
    let sources = |name: &str| {
        let found = variable(name);
        let hidden = found.shadows.iter().map(place);
        [place(&found.source)]
            .into_iter()
            .chain(hidden)
            .collect::<Vec<_>>()
    };
    assert_eq!(sources("A"), ["job ci.yml:10", "global ci.yml:2"]);
    assert_eq!(sources("B"), ["workflow ci.yml:5", "global ci.yml:2"]);
    assert_eq!(sources("C"), ["rule ci.yml:15"]);
    assert_eq!(variable("C").expanded.as_deref(), Some("own"));
    assert_eq!(sources("D"), ["--variable", "job base.yml:3"]);
    assert_eq!(sources("OS"), ["matrix ci.yml:9"]);
    assert_eq!(sources("CI_COMMIT_BRANCH"), ["predefined"]);
}

#[test]
fn predefined_variables_of_a_job_are_explained() {
    let job = explain("build: [mac]");
    let value = |name: &str| {
        let mut found = job.variables.iter().filter(|found| found.name == name);
        let only = found.next().unwrap_or_else(|| panic!("{name}"));
        assert!(found.next().is_none(), "{name} twice");
        (&*only.value, only.shadows.len())
    };
    assert_eq!(value("CI_JOB_ID"), ("2", 0));
    assert_eq!(value("CI_PIPELINE_ID"), ("1", 0));
    assert_eq!(value("CI_JOB_NAME"), ("build: [mac]", 0));
    assert_eq!(value("CI_PIPELINE_NAME"), ("for [MASKED]", 0));
    assert_eq!(value("CI_ENVIRONMENT_NAME"), ("[MASKED]", 0));
    assert_eq!(value("CI_ENVIRONMENT_SLUG"), ("[MASKED]", 0));
    // Variables of the environment override the file.
    assert_eq!(value("CI_ENVIRONMENT_URL"), ("https://$OS", 1));
    assert_eq!(value("CI_JOB_STAGE"), ("own", 1));
}

#[test]
fn explanations_contain_no_secrets() {
    let job = explain("build: [linux]");
    let shown = serde_json::to_string(&job).unwrap();
    assert!(!shown.contains("s3cret"), "{shown}");
    let token = job
        .variables
        .iter()
        .find(|found| found.name == "TOKEN")
        .unwrap();
    assert_eq!((&*token.value, token.is_masked), ("[MASKED]", true));
}

/// Explains the variables of the jobs of a file, and those that all jobs share.
fn variables_of(file: &str, given: Vec<ExternalVariable>) -> Vec<ExplainedVariables> {
    let loaded = Pipeline::load("ci.yml", file, &LoadOptions::default());
    let both = loaded.and_then(|pipeline, found| {
        let resolved = pipeline.resolve(found);
        Some((pipeline, resolved))
    });
    let ((pipeline, resolved), _) = both.into_result().unwrap();
    let mut context = push();
    context.external = given;
    let creation = create(&resolved, &context, &NoRepository);
    let explainer = Explainer::new(&pipeline, &creation, &context, &NoRepository);
    let jobs = creation.jobs.iter();
    let jobs = jobs.map(|job| explainer.variables(job).unwrap());
    jobs.chain([explainer.shared_variables()]).collect()
}

#[test]
fn explained_variables_have_a_scope_and_list_those_left_out() {
    let of_server = |level: Level, path: &str, scope: &str, name: &str| ExternalVariable {
        scope: scope.to_owned(),
        is_protected: name == "SAFE",
        source: ExternalSource::Server {
            server: "https://git.example/x".to_owned(),
            path: Some(path.to_owned()),
        },
        ..ExternalVariable::of_option("", level, JobVariable::masked(name, "s3cret"))
    };
    let file = "\
variables: {URL: root, OWN: $UNKNOWN/$RAW, RAW: {value: $X, expand: false}}
a: {script: x, environment: prod/a, variables: {URL: own}}
b: {script: x}
";
    let shown = variables_of(
        file,
        vec![
            of_server(Level::Project, "g/p", "prod/*", "URL"),
            of_server(Level::Group, "g", "*", "URL"),
            of_server(Level::Group, "g", "*", "SAFE"),
        ],
    );
    let first = |explained: &ExplainedVariables| {
        let variable = &explained.variables[0];
        let VariableSource::External { source, scope, .. } = &variable.source else {
            panic!("{variable:?}");
        };
        let name = &variable.name;
        (format!("{name} {source} {scope}"), variable.shadows.len())
    };
    let [a, b, shared] = shown.as_slice() else {
        panic!("{shown:?}");
    };
    let of_project = "URL g/p on git.example/x prod/*".to_owned();
    assert_eq!(first(a), (of_project, 3));
    let of_group = "URL g on git.example/x *".to_owned();
    assert_eq!(first(b), (of_group.clone(), 1));
    assert_eq!(first(shared), (of_group, 1));
    let left_out = |explained: &ExplainedVariables| {
        let left_out = explained.left_out.iter();
        let left_out = left_out.map(|it| (it.name.clone(), it.reason));
        left_out.collect::<Vec<_>>()
    };
    let protected = ("SAFE".to_owned(), LeftOutReason::Protected);
    let scoped = ("URL".to_owned(), LeftOutReason::Scope);
    assert_eq!(left_out(a), std::slice::from_ref(&protected));
    assert_eq!(left_out(b), [scoped.clone(), protected.clone()]);
    assert_eq!(left_out(shared), [scoped, protected]);
    // References that only a runner can resolve stay, and raw text is inserted.
    let own = b.variables.iter().find(|it| it.name == "OWN").unwrap();
    assert_eq!(own.expanded.as_deref(), Some("$UNKNOWN/$X"));
    assert!(!serde_json::to_string(&shown).unwrap().contains("s3cret"));
}
