//! Diagnostics of the server, and those about the merged text.

use super::{Answer, INVALID, OWN};
use pipeline::LoadOptions;

fn shown(answer: &Answer) -> String {
    let checked = answer.read(OWN, &LoadOptions::default());
    let checked = checked.and_then(|pipeline, found| Some(pipeline.resolve(found)));
    checked.diagnostics.to_string()
}

#[test]
fn diagnostics_of_the_server_have_locations_in_the_file() {
    let answer = Answer::of(INVALID);
    assert!(answer.read(OWN, &LoadOptions::default()).value.is_none());
    insta::assert_snapshot!(shown(&answer), @r"
    error[server-error]: gitlab.example.com: jobs:deploy config contains unknown keys: stagee
      --> .gitlab-ci.yml:23:1
       |
    23 | deploy:
       | ^^^^^^

    error[server-error]: gitlab.example.com: deploy job: undefined need: biuld
      --> .gitlab-ci.yml:23:1
       |
    23 | deploy:
       | ^^^^^^

    error[server-error]: gitlab.example.com: Local file `ci/base.yml` does not exist!
     --> .gitlab-ci.yml:9:12
      |
    9 |   - local: ci/base.yml
      |            ^^^^^^^^^^^
    ");
}

#[test]
fn local_diagnostics_have_locations_in_the_merged_text() {
    let text = "---\nbuild:\n  script: x\n  stage: nope\n";
    insta::assert_snapshot!(shown(&Answer::of_text(text)), @r"
    error[unknown-stage]: build job: chosen stage nope does not exist; available stages are .pre, build, test, deploy, .post
     --> merged by gitlab.example.com:4:10
      |
    4 |   stage: nope
      |          ^^^^
    ");
}

#[test]
fn an_empty_response_is_an_error() {
    let mut answer = Answer::of_text("");
    answer.merged = None;
    insta::assert_snapshot!(shown(&answer), @r"
    error[server-error]: gitlab.example.com returned no merged configuration
      = help: omit `--prefer-api` to read the file locally
    ");
}

#[test]
fn equal_diagnostics_are_reported_once() {
    let mut answer = Answer::of_text("build: {script: x, rules: [{when: always}]}\n");
    answer.warnings = vec![
        "jobs:build may allow multiple pipelines to run for a single action due to `rules:when` \
         clause with no `workflow:rules` - read more: https://docs.gitlab.com/x"
            .to_owned(),
        "jobs:build is odd\nin two lines".to_owned(),
    ];
    let checked = answer.read(OWN, &LoadOptions::default());
    let checked = checked.and_then(|pipeline, found| Some(pipeline.resolve(found)));
    let codes: Vec<&str> = checked.diagnostics.iter().map(|it| it.code).collect();
    assert_eq!(codes, ["server-warning", "duplicate-pipelines"]);
    let message = &checked.diagnostics.iter().next().unwrap().message;
    assert_eq!(
        message,
        "gitlab.example.com: jobs:build is odd in two lines"
    );
}

#[test]
fn an_invalid_merged_text_is_refused() {
    let check = |text: &str, code: &str| {
        let checked = Answer::of_text(text).read(OWN, &LoadOptions::default());
        assert!(checked.value.is_none(), "{text}");
        let codes: Vec<&str> = checked.diagnostics.iter().map(|it| it.code).collect();
        assert_eq!(codes, [code], "{text}");
    };
    check("", "empty-file");
    check("--- []\n", "invalid-file");
    check("a: [", "yaml-syntax");
    check("a: &a [*a]", "anchor-cycle");
    let mut limited = LoadOptions::default();
    (limited.limits.bytes, limited.limits.included_bytes) = (OWN.len(), 0);
    let text = format!("a: {{script: {}}}", "x".repeat(OWN.len()));
    let checked = Answer::of_text(&text).read(OWN, &limited);
    let codes: Vec<&str> = checked.diagnostics.iter().map(|it| it.code).collect();
    assert_eq!(codes, ["file-too-large"]);
}
