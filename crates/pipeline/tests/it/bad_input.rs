//! Every error is shown with its location, the line, and help.

use pipeline::ResolvedPipeline;
use proptest::prelude::*;
use yaml::diagnostic::Severity;

fn errors(text: &str) -> String {
    let checked = ResolvedPipeline::from_text(".gitlab-ci.yml", text);
    assert!(checked.diagnostics.has_errors(), "{text:?} is accepted");
    let diagnostics = &checked.diagnostics;
    diagnostics
        .iter()
        .map(|finding| diagnostics.render(finding))
        .collect()
}

fn check_code(text: &str, code: &str) {
    let checked = ResolvedPipeline::from_text(".gitlab-ci.yml", text);
    let codes: Vec<&str> = checked
        .diagnostics
        .errors()
        .map(|error| error.code)
        .collect();
    assert_eq!(codes, [code], "of {text:?}\n{}", checked.diagnostics);
}

#[test]
fn invalid_files_are_refused() {
    insta::assert_snapshot!(errors("\n  \n"), @r"
    error[empty-file]: the file is empty; it must define a job
     --> .gitlab-ci.yml:1:1
      |
    1 |
      | ^
      |
      = help: the smallest pipeline is `hello: {script: echo hello}`
    ");
    insta::assert_snapshot!(errors("- a\n- b\n"), @r"
    error[invalid-file]: a pipeline file is a hash of jobs and keywords, not an array
     --> .gitlab-ci.yml:1:1
      |
    1 | - a
      | ^^^
    ");
    insta::assert_snapshot!(errors("job:\n\tscript: x\n"), @r"
    error[yaml-syntax]: invalid YAML: found character that cannot start any token
     --> .gitlab-ci.yml:2:1
      |
    2 |     script: x
      | ^
      |
      = help: YAML is indented with spaces; this line has a tab
    ");
    insta::assert_snapshot!(errors("job:\n  script: [a\nother: 1\n"), @r"
    error[yaml-syntax]: invalid YAML: did not find expected ',' or ']'
     --> .gitlab-ci.yml:3:6
      |
    2 |   script: [a
      |           - while parsing a flow sequence
    3 | other: 1
      |      ^
    ");
    insta::assert_snapshot!(errors("variables: {A: 1}\n.hidden: {script: x}\n"), @r"
    error[no-jobs]: jobs config should contain at least one visible job
     --> .gitlab-ci.yml:1:1
      |
    1 | variables: {A: 1}
      | ^^^^^^^^^^^^^^^^^
      |
      = help: a dot at the start of a name hides the job
    ");
}

#[test]
fn jobs_without_commands_are_refused() {
    insta::assert_snapshot!(errors("build:\n  scirpt: make\n"), @r"
    error[missing-script]: jobs:build config should implement the script:, run:, or trigger: keyword
     --> .gitlab-ci.yml:2:3
      |
    2 |   scirpt: make
      |   ^^^^^^
      |
      = help: `scirpt` is not a keyword; did you mean `script`?
    ");
    insta::assert_snapshot!(errors("build:\n  stage: build\n"), @r"
    error[missing-script]: jobs:build config should implement the script:, run:, or trigger: keyword
     --> .gitlab-ci.yml:1:1
      |
    1 | build:
      | ^^^^^
      |
      = help: a job needs commands: add `script:`; start the name with a dot to hide it
    ");
    insta::assert_snapshot!(errors("varaibles:\n  A: 1\njob: {script: x}\n"), @r"
    error[missing-script]: jobs:varaibles config should implement the script:, run:, or trigger: keyword
     --> .gitlab-ci.yml:1:1
      |
    1 | varaibles:
      | ^^^^^^^^^
      |
      = help: did you mean `variables`?
    ");
}

#[test]
fn unknown_keywords_and_invalid_values_are_refused() {
    insta::assert_snapshot!(errors("job: {script: x, scripts: y, imgae: z}\n"), @r"
    error[unknown-keyword]: jobs:job config contains unknown keys: scripts, imgae
     --> .gitlab-ci.yml:1:18
      |
    1 | job: {script: x, scripts: y, imgae: z}
      |                  ^^^^^^^
      |                              ----- also unknown
      |
      = help: `scripts`: did you mean `script`?
              `imgae`: did you mean `image`?
    ");
    insta::assert_snapshot!(errors("job:\n  script:\n    - echo a: b\n"), @r"
    error[invalid-value]: jobs:job:script config should be a string or a nested array of strings up to 10 levels deep
     --> .gitlab-ci.yml:3:7
      |
    3 |     - echo a: b
      |       ^^^^^^^^^
      |
      = help: put quotes around a text that contains `: `
    ");
    insta::assert_snapshot!(errors("job: {script: x, when: on_sucess}\n"), @r"
    error[invalid-value]: jobs:job when should be one of: on_success, on_failure, always, manual, delayed
     --> .gitlab-ci.yml:1:24
      |
    1 | job: {script: x, when: on_sucess}
      |                        ^^^^^^^^^
      |
      = help: did you mean `on_success`?
    ");
    insta::assert_snapshot!(errors("job: {script: x, retry: {max: 3, when: script_failed}}\n"), @r"
    error[invalid-value]: retry max must be between 0 and 2
     --> .gitlab-ci.yml:1:31
      |
    1 | job: {script: x, retry: {max: 3, when: script_failed}}
      |                               ^
      |
      = help: GitLab retries a job at most 2 times
    error[invalid-value]: retry when names the unknown failure `script_failed`
     --> .gitlab-ci.yml:1:40
      |
    1 | job: {script: x, retry: {max: 3, when: script_failed}}
      |                                        ^^^^^^^^^^^^^
      |
      = help: did you mean `script_failure`?
    ");
}

#[test]
fn unknown_names_are_refused() {
    // R-PIPE-34
    insta::assert_snapshot!(errors("stages: [compile]\njob: {stage: complie, script: x}\n"), @r"
    error[unknown-stage]: job job: chosen stage complie does not exist; available stages are .pre, compile, .post
     --> .gitlab-ci.yml:2:14
      |
    2 | job: {stage: complie, script: x}
      |              ^^^^^^^
      |
      = help: did you mean `compile`?
    ");
    insta::assert_snapshot!(errors("build: {script: x}\ntest: {script: x, needs: [biuld]}\n"), @r"
    error[unknown-need]: test job: undefined need: biuld
     --> .gitlab-ci.yml:2:27
      |
    2 | test: {script: x, needs: [biuld]}
      |                           ^^^^^
      |
      = help: did you mean `build`?
    ");
    insta::assert_snapshot!(
        errors("a: {script: x, needs: [b]}\nb: {script: x, needs: [c]}\nc: {script: x, needs: [a]}\n"),
        @r"
    error[needs-cycle]: The pipeline has circular dependencies: the jobs need each other in a cycle: a -> b -> c -> a
     --> .gitlab-ci.yml:1:24
      |
    1 | a: {script: x, needs: [b]}
      |                        ^
    "
    );
    insta::assert_snapshot!(
        errors("a: {stage: build, script: x, needs: [z]}\nz: {stage: deploy, script: x}\n"),
        @r"
    error[later-stage]: a job: need z is not defined in current or prior stages
     --> .gitlab-ci.yml:1:38
      |
    1 | a: {stage: build, script: x, needs: [z]}
      |                                      ^
      |
      = help: `z` is in the stage `deploy`, which comes after `build`
    "
    );
    insta::assert_snapshot!(
        errors("a: {script: x, needs: [b]}\nb: {script: x, needs: [c, a]}\nc: {script: x}\nd: {script: x, parallel: 2, needs: [c, d]}\n"),
        @r"
    error[needs-cycle]: The pipeline has circular dependencies: the jobs need each other in a cycle: a -> b -> a
     --> .gitlab-ci.yml:1:24
      |
    1 | a: {script: x, needs: [b]}
      |                        ^
    error[needs-cycle]: The pipeline has circular dependencies: the jobs need each other in a cycle: d 1/2 -> d 1/2
     --> .gitlab-ci.yml:4:40
      |
    4 | d: {script: x, parallel: 2, needs: [c, d]}
      |                                        ^
    "
    );
    check_code("a: {script: x, needs: [a]}", "needs-cycle");
    check_code(
        "b: {script: x}\na: {script: x, needs: [b, b]}",
        "duplicate-need",
    );
    check_code("a: {script: x, dependencies: [b]}", "unknown-dependency");
}

#[test]
fn names_that_an_included_file_may_define_are_not_reported() {
    insta::assert_snapshot!(errors("job: {extends: .base, script: x}\nother: {needs: [nobody]}\ninclude: other.yml\n"), @r"
    error[include-not-fetched]: include: the local file `other.yml` is not fetched: no files can be included here
     --> .gitlab-ci.yml:3:10
      |
    3 | include: other.yml
      |          ^^^^^^^^^
      |
      = help: anything it may define is not reported as missing
    ");
    for text in [
        "include: [a.yml]\nadd-to-it: {tags: [x]}",
        "include: [a.yml]\njob: {script: [!reference [.setup, script]]}",
        "include: [a.yml]\njob: {stage: theirs, script: x, needs: [theirs]}",
        "include: [a.yml]\nvariables: {A: 1}",
    ] {
        check_code(text, "include-not-fetched");
    }
    let other = "include: [a.yml]\njob: {script: x, retry: 9}";
    let checked = ResolvedPipeline::from_text("ci.yml", other);
    let codes: Vec<&str> = checked.diagnostics.errors().map(|e| e.code).collect();
    assert_eq!(codes, ["include-not-fetched", "invalid-value"]);
}

#[test]
fn invalid_variable_names_are_reported() {
    // GitLab accepts any name, so the file is valid, but a job with it cannot run here.
    let check = |text: &str| {
        let checked = ResolvedPipeline::from_text(".gitlab-ci.yml", text);
        let found = checked.diagnostics.iter();
        let found: Vec<_> = found
            .map(|finding| (finding.severity, finding.code))
            .collect();
        let expect = [(Severity::Warning, "invalid-variable-name")];
        assert_eq!(found, expect, "of {text:?}");
    };
    check("variables: {\"A=B\": 1}\njob: {script: x}\n");
    check("job: {script: x, variables: {\"A\\nB\": 1}}");
    check("job: {script: x, variables: {\"A\\0B\": 1}}");
    check("job: {script: x, variables: {\"\": 1}}");
}

#[test]
fn nul_characters_are_refused() {
    insta::assert_snapshot!(errors("variables: {A: \"x\\0\"}\njob:\n  script: [\"echo a\\0b\"]\n"), @r#"
    error[nul-character]: the text contains a NUL character, which cannot be passed to a process
     --> .gitlab-ci.yml:1:16
      |
    1 | variables: {A: "x\0"}
      |                ^^^^^
    error[nul-character]: the text contains a NUL character, which cannot be passed to a process
     --> .gitlab-ci.yml:3:12
      |
    3 |   script: ["echo a\0b"]
      |            ^^^^^^^^^^^
    "#);
    for job in [
        r#"script: "\0""#,
        r#"script: x, variables: {A: {value: "\x00"}}"#,
        r#"script: x, after_script: ["\u0000"]"#,
        r#"script: x, parallel: {matrix: [{A: ["a\0", b]}]}"#,
        r#"script: x, artifacts: {paths: ["a\0"]}"#,
    ] {
        check_code(&format!("job: {{{job}}}"), "nul-character");
    }
}

#[test]
fn invalid_job_names_are_refused() {
    insta::assert_snapshot!(errors("\"a\\nb\": {script: x}\n"), @r#"
    error[invalid-job-name]: jobs:a\nb name contains a line break or NUL
     --> .gitlab-ci.yml:1:1
      |
    1 | "a\nb": {script: x}
      | ^^^^^^
    "#);
    check_code(
        &format!("{}: {{script: x}}", "n".repeat(300)),
        "invalid-job-name",
    );
    check_code("\" \": {script: x}", "invalid-job-name");
    check_code("123: {script: x}", "invalid-job-name");
    // A leading dot hides a job; other dots have no meaning.
    insta::assert_snapshot!(errors("../../x: {script: x}\n"), @r"
    warning[hidden-job]: `../../x` starts with a dot, so it is hidden and will not run
     --> .gitlab-ci.yml:1:1
      |
    1 | ../../x: {script: x}
      | ^^^^^^^
    error[no-jobs]: jobs config should contain at least one visible job
     --> .gitlab-ci.yml:1:1
      |
    1 | ../../x: {script: x}
      | ^^^^^^^^^^^^^^^^^^^^
      |
      = help: a dot at the start of a name hides the job
    ");
    let checked = ResolvedPipeline::from_text("f", "a/../../x: {script: x}");
    assert_eq!(checked.value.unwrap().jobs[0].definition.name, "a/../../x");
    check_code("image: {script: x}\njob: {script: x}", "reserved-name");
    check_code("types: {a: 1}\njob: {script: x}", "missing-script");
}

#[test]
fn too_large_files_are_refused() {
    let text = "#".repeat(40 << 20);
    insta::assert_snapshot!(errors(&text), @"error[file-too-large]: .gitlab-ci.yml is larger than the limit of 33554432 bytes");
}

#[test]
fn all_errors_are_shown_at_once() {
    let text = "
stages: [build]
a: {stage: build, script: x, retry: 9}
b: {stage: biuld, script: x}
c: {stage: build, script: x, needs: [d]}
";
    let checked = ResolvedPipeline::from_text("ci.yml", text);
    let codes: Vec<&str> = checked
        .diagnostics
        .errors()
        .map(|error| error.code)
        .collect();
    assert_eq!(codes, ["invalid-value", "unknown-stage", "unknown-need"]);
}

#[test]
fn records_have_file_line_and_column() {
    let checked = ResolvedPipeline::from_text("ci.yml", "job: {script: x, imgae: z}\n");
    let records = checked.diagnostics.records(Severity::Error);
    insta::assert_snapshot!(serde_json::to_string(&records).unwrap(), @r#"[{"code":"unknown-keyword","severity":"error","message":"jobs:job config contains unknown keys: imgae","file":"ci.yml","line":1,"column":18,"end_line":1,"end_column":23,"related":[],"help":"did you mean `image`?"}]"#);
}

#[test]
fn strange_texts_do_not_panic() {
    let texts = [
        "\0",
        "\u{feff}",
        "[",
        "{",
        "}",
        "*a",
        "&a",
        "!",
        "!!",
        "? ",
        ": ",
        "- - -",
        "a: |",
        "'",
        "\"",
        "%YAML 9.9",
        "---",
        "...",
        "--- a\n--- b",
        "a: &b\n  <<: *b",
        "<<: 1",
        "\r\r\r",
        "a:\r  b",
        "\u{2028}",
        "a: !reference []",
        "j: {script: !reference [j, script]}",
        "j: {extends: [], script: x}",
        "j: {extends: {}, script: x}",
        "default: null\nj: {script: x}",
        "stages: null\nj: {script: x}",
        "j: {script: x, needs: {}}",
        "j: {script: x, parallel: {matrix: [{A: []}]}}",
        "j: {script: x, artifacts: null}",
    ];
    for text in texts {
        let _ = ResolvedPipeline::from_text("ci.yml", text)
            .diagnostics
            .to_string();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_tokens_do_not_panic(tokens in prop::collection::vec(0..TOKENS.len(), 0..60)) {
        let text: String = tokens.into_iter().map(|token| TOKENS[token]).collect();
        let checked = ResolvedPipeline::from_text("ci.yml", &text);
        prop_assert!(checked.value.is_some() || checked.diagnostics.has_errors(), "{text}");
        let _ = checked.diagnostics.to_string();
    }
}

/// Parts of pipeline files for random texts.
const TOKENS: [&str; 40] = [
    "a",
    "b: ",
    ".c: ",
    "\n",
    "\n  ",
    "\n    ",
    "- ",
    "[",
    "]",
    "{",
    "}",
    ", ",
    ": ",
    "&x ",
    "*x",
    "<<: ",
    "!reference ",
    "extends: ",
    "needs: ",
    "script: ",
    "stage: ",
    "stages: ",
    "default: ",
    "variables: ",
    "parallel: ",
    "matrix: ",
    "retry: ",
    "when: ",
    "'",
    "\"",
    "|",
    ">",
    "#",
    "---\n",
    "\t",
    "é",
    "\u{feff}",
    "0755",
    "12:30",
    "\r",
];
