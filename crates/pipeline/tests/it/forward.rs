//! The variables that a pipeline gets from the job that triggers it.

use crate::plans::{resolve, try_plan};
use executor_core::variable::JobVariable;
use pipeline::Selection;
use pipeline::context::{ExternalVariable, PipelineContext};

const FILE: &str = "
variables: {TOP: top, REF: '$TOP-$CI_COMMIT_REF_NAME', RAW: {value: '$TOP', expand: false}}
child:
  variables:
    OWN: own $UNKNOWN.
    JOB: '$CI_JOB_NAME $CI_JOB_ID $CI_PIPELINE_ID'
    VERSION: '$BUILD_VERSION'
    SECRET: 'key=$KEY'
    FILE: '$CERT'
  trigger: {include: child.yml}
";

/// Forwards with these settings of `forward`, and returns `NAME=value` of each variable.
fn forwarded(file: &str, forward: &str) -> Vec<String> {
    let text = file.replace(
        "child.yml}",
        &format!("child.yml, forward: {{{forward}}}}}"),
    );
    let mut context = PipelineContext::default();
    "main".clone_into(&mut context.commit.ref_name);
    let secret = JobVariable::masked("KEY", "hidden-value");
    let cert = JobVariable::file("CERT", "-----BEGIN");
    context.external = vec![
        ExternalVariable::of_secret(secret),
        ExternalVariable::of_secret(cert),
        ExternalVariable::of_pipeline(JobVariable::public("TOP", "asked")),
        ExternalVariable::of_pipeline(JobVariable::public("MINE", "$TOP!")),
    ];
    let plan = try_plan(&resolve(&text), context, &Selection::default()).unwrap();
    let dotenv = [
        JobVariable::public("BUILD_VERSION", "1.2"),
        JobVariable::public("OWN", "reported"),
    ];
    let forwarded = plan.forwarded(plan.position("child").unwrap(), &dotenv);
    let shown = forwarded.iter().map(|it| {
        let marks = [(it.raw, " raw"), (it.masked, " masked"), (it.file, " file")];
        let marks = marks.iter().filter(|(is_so, _)| *is_so);
        let marks: String = marks.map(|(_, mark)| *mark).collect();
        format!("{}={}{marks}", it.key, it.value)
    });
    shown.collect()
}

#[test]
fn variables_of_the_file_are_forwarded_expanded() {
    let expect = [
        "TOP=top",
        "REF=asked-main",
        "RAW=$TOP raw",
        "OWN=own .",
        "JOB=child  1",
        "VERSION=1.2",
        "SECRET=key=hidden-value masked",
        "CERT=-----BEGIN raw file",
        "FILE=$CERT",
    ];
    assert_eq!(forwarded(FILE, ""), expect);
    assert_eq!(forwarded(FILE, "yaml_variables: true"), expect);
}

#[test]
fn reports_and_pipeline_variables_are_forwarded_on_request() {
    let none: [&str; 0] = [];
    assert_eq!(forwarded(FILE, "yaml_variables: false"), none);
    let expect = [
        "BUILD_VERSION=1.2",
        "OWN=reported",
        "TOP=asked",
        "MINE=asked!",
    ];
    assert_eq!(
        forwarded(FILE, "yaml_variables: false, pipeline_variables: true"),
        expect
    );
    let both = forwarded(FILE, "pipeline_variables: true");
    assert!(both.contains(&"TOP=asked".to_owned()), "{both:?}");
    assert!(both.contains(&"OWN=reported".to_owned()), "{both:?}");
}

#[test]
fn matrix_values_are_forwarded_and_inherit_excludes_others() {
    let file = "
variables: {TOP: top, OTHER: other}
child:
  inherit: {variables: [OTHER]}
  parallel: {matrix: [{OS: [linux, mac]}]}
  trigger: {include: child.yml}
";
    let plan = try_plan(
        &resolve(file),
        PipelineContext::default(),
        &Selection::default(),
    )
    .unwrap();
    let of = |name: &str| {
        let forwarded = plan.forwarded(plan.position(name).unwrap(), &[]);
        let shown = forwarded
            .iter()
            .map(|it| format!("{}={}", it.key, it.value));
        shown.collect::<Vec<_>>()
    };
    assert_eq!(of("child: [linux]"), ["OTHER=other", "OS=linux"]);
    assert_eq!(of("child: [mac]"), ["OTHER=other", "OS=mac"]);
}
