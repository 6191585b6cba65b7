//! `runwright lint`: findings, output formats and exit codes.

use crate::project::Project;
use serde_json::{Value, json};

/// An error with a second location, a warning, and an error on a line with tabs and wide letters.
const MISTAKES: &str = "\
stages: [build, test]
compile:
  stage: biuld
  script: [make]
  script: [make, all]
検査:
  stage: test
  needs: [compiel]
  script: [echo \"日本\"]
";

#[test]
fn lint_reports_mistakes_with_their_location() {
    let project = Project::with_pipeline("job:\n  stage: tset\n  script: [\"true\"]\n");
    let done = project.runwright(&["lint"]).expect_code(2);
    assert!(done.all().contains(".gitlab-ci.yml:2:"), "{}", done.all());
    assert!(
        done.all().contains("stage: tset"),
        "the line is shown: {}",
        done.all()
    );

    let report = project.runwright(&["lint", "--json"]).expect_code(2).stdout;
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["valid"], false);
    let error = &report["errors"][0];
    assert_eq!(error["line"], 2);
    for key in ["code", "message", "file", "line", "column", "help"] {
        assert!(error.get(key).is_some(), "{key} in {error}");
    }
}

#[test]
fn expressions_in_steps_are_checked_with_the_file() {
    let pipeline = "job:\n  run:\n    - name: a\n      script: \"echo ${{ steps.a\"\n";
    let project = Project::with_pipeline(pipeline);
    let report = project.runwright(&["lint", "--json"]).expect_code(2).stdout;
    let report: Value = serde_json::from_str(&report).unwrap();
    let error = &report["errors"][0];
    assert_eq!(error["code"], "invalid-step");
    assert_eq!((&error["line"], &error["column"]), (&json!(4), &json!(21)));
    // Nothing runs.
    project
        .runwright(&["run"])
        .expect_code(2)
        .expect_text(".gitlab-ci.yml:4:21");
}

#[test]
fn lint_refuses_what_no_situation_accepts() {
    let check = |pipeline: &str, code: &str, line: u32, column: u32| {
        let project = Project::with_pipeline(pipeline);
        let report = project.runwright(&["lint", "--json"]).expect_code(2).stdout;
        let report: Value = serde_json::from_str(&report).unwrap();
        let error = &report["errors"][0];
        assert_eq!(error["code"], code, "{report}");
        let place = (&error["line"], &error["column"]);
        assert_eq!(place, (&json!(line), &json!(column)), "{report}");
        // Both point at the same location.
        let place = format!(".gitlab-ci.yml:{line}:{column}\n");
        project
            .runwright(&["plan"])
            .expect_code(2)
            .expect_text(&place);
        project
            .runwright(&["run"])
            .expect_code(2)
            .expect_text(&place);
    };
    check(
        "variables: {Z: z}\na:\n  script: x\n  variables:\n    A: $B\n    B: $A\n",
        "variable-cycle",
        5,
        5,
    );
    let doubling = (0..40).map(|at| format!("  V{at}: $V{next}$V{next}\n", next = at + 1));
    let doubling: String = doubling.collect();
    check(
        &format!("variables:\n{doubling}  V40: laugh\na: {{script: x}}\n"),
        "variables-too-large",
        24,
        3,
    );
    check(
        &format!(
            "variables:\n  V: {}\na: {{script: x}}\n",
            "x".repeat(1 << 21)
        ),
        "variables-too-large",
        2,
        3,
    );
    let jobs = (0..51).map(|at| format!("j{at}: {{script: x, stage: build}}\n"));
    let jobs = jobs.collect::<Vec<_>>().concat();
    let names: Vec<String> = (0..51).map(|at| format!("j{at}")).collect();
    check(
        &format!("{jobs}t:\n  script: x\n  needs: [{}]\n", names.join(", ")),
        "too-many-needs",
        54,
        10,
    );
    let with_rules = "variables:\n  A: $B\n  B: $A\na: {script: x, rules: [RULES]}\n";
    let always = with_rules.replace("RULES", "{if: $X}, {when: always}");
    check(&always, "variable-cycle", 2, 3);
    for (rules, text) in [
        ("{if: $X}", "variables refer to each other in a cycle"),
        ("{when: always, variables: {A: a}}", "valid"),
    ] {
        let project = Project::with_pipeline(&with_rules.replace("RULES", rules));
        project
            .runwright(&["lint"])
            .expect_code(0)
            .expect_text(text);
    }
    // Variables of the rule that matches.
    let rules = "a:\n  script: x\n  rules:\n    - [{if: $X}]\n    - variables: {A: $B}\nvariables: {B: $A}\n";
    Project::with_pipeline(rules)
        .runwright(&["plan"])
        .expect_code(2)
        .expect_text(".gitlab-ci.yml:5:19\n");
    // A variable from outside, or one of a workflow rule, may end a cycle.
    let project = Project::with_pipeline("variables: {A: $B, B: $A}\na: {script: 'true'}\n");
    project
        .runwright(&["lint", "--variable", "A=1"])
        .expect_code(0);
    project
        .runwright(&["run", "--variable", "A=1"])
        .expect_code(0);
    // A process of Linux has no room for a longer variable.
    let long = format!(
        "a: {{script: 'true', variables: {{V: {}}}}}\n",
        "x".repeat(200_000)
    );
    let done = Project::with_pipeline(&long)
        .runwright(&["run"])
        .expect_code(2);
    assert!(
        done.stderr
            .contains("more than the 131069 that a process accepts"),
        "{}",
        done.stderr
    );
}

#[test]
fn lint_refuses_a_need_that_rules_always_leave_out() {
    let lint = |a: &str, b: &str, code: u8| {
        let text = format!("a:\n  script: x\n  RULES\nb:\n  script: x\n  {b}\n");
        let project = Project::with_pipeline(&text.replace("RULES", a));
        project.runwright(&["lint"]).expect_code(code.into()).stdout
    };
    let never = "rules: [{when: never}]";
    insta::assert_snapshot!(lint(never, "needs: [a]", 2), @"
    error[left-out-need]: `b` needs `a`, which is not in the pipeline
     --> .gitlab-ci.yml:6:11
      |
    3 |   rules: [{when: never}]
      |           ------------- leaves `a` out: it always matches
    ...
    6 |   needs: [a]
      |           ^ needs `a`
      |
      = help: with `optional: true`, the need is dropped when rules leave `a` out: `needs: [{job: a, optional: true}]`

    .gitlab-ci.yml is invalid: 1 error.
    ");
    insta::assert_snapshot!(lint("rules: [{if: $X, when: never}, {if: '\"1\" == \"2\"'}]", "needs: [a]", 2), @r#"
    error[left-out-need]: `b` needs `a`, which is not in the pipeline
     --> .gitlab-ci.yml:6:11
      |
    3 |   rules: [{if: $X, when: never}, {if: '"1" == "2"'}]
      |                -- leaves `a` out: it has `when: never`
      |                                       ------------ leaves `a` out: it never matches
    ...
    6 |   needs: [a]
      |           ^ needs `a`
      |
      = help: with `optional: true`, the need is dropped when rules leave `a` out: `needs: [{job: a, optional: true}]`

    .gitlab-ci.yml is invalid: 1 error.
    "#);
    // Such a pipeline exists without the job, or with other needs.
    for job in [
        "needs: [a]\n  rules: [{if: $X}]",
        "needs: [a]\n  only: [tags]",
        "rules: [{if: $X, needs: [a]}, {when: always}]",
    ] {
        let text = lint(never, job, 0);
        assert!(text.contains("warning[left-out-need]"), "{text}");
    }
    for (rules, job) in [
        (never, "needs: [{job: a, optional: true}]"),
        (never, "needs: [a]\n  rules: [{when: never}]"),
        (
            "rules: [{if: $X, when: never}, {when: always}]",
            "needs: [a]",
        ),
        (
            "rules: [{if: '\"1\" == \"1\"'}, {when: never}]",
            "needs: [a]",
        ),
    ] {
        let text = lint(rules, job, 0);
        assert!(!text.contains("left-out-need"), "{text}");
    }
}

#[test]
fn an_included_project_without_a_known_gitlab_is_reported_at_the_project() {
    let project =
        Project::with_pipeline("include: {project: group/p, file: x.yml}\na: {script: x}\n");
    // The address of a clone of a directory names no GitLab.
    project.git(&["remote", "add", "origin", "../other"]);
    let done = project.runwright(&["lint"]).expect_code(2);
    let words = "error[include-not-fetched]: include: `group/p/x.yml` is not fetched: the GitLab of the project is not known";
    let done = done.expect_text(words).expect_text(".gitlab-ci.yml:1:20\n");
    done.expect_text("`--gitlab` names it");
}

#[test]
fn strict_lint_fails_on_warnings() {
    let project = Project::with_pipeline("job:\n  script: [\"true\"]\n  script: [\"false\"]\n");
    let done = project.runwright(&["lint", "--json"]).expect_code(0);
    let report: Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(report["valid"], true);
    assert!(
        !report["warnings"].as_array().unwrap().is_empty(),
        "{report}"
    );
    project
        .runwright(&["lint", "--strict"])
        .expect_code(2)
        .expect_text(".gitlab-ci.yml is valid, with 1 warning. --strict refuses 1 warning.");
    let clean = Project::with_pipeline("job:\n  script: [\"true\"]\n");
    clean.runwright(&["lint", "--strict"]).expect_code(0);
}

#[test]
fn file_has_one_name_in_reports_however_it_is_given() {
    let project = Project::with_pipeline("job: {script: [x]}\n");
    project.write("ci/other.yml", "job: {scrip: [x]}\n");
    let check = |directory: &str, file: &str, expect: &str| {
        let arguments = ["lint", "--sarif", "-C", directory, "-f", file];
        let report = project.runwright(&arguments).expect_code(2).stdout;
        let report: Value = serde_json::from_str(&report).unwrap();
        let location = &report["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
        assert_eq!(location["artifactLocation"]["uri"], expect, "of {file}");
    };
    let absolute = project.dir().join("ci/other.yml");
    check(".", absolute.to_str().unwrap(), "ci/other.yml");
    check("ci", "other.yml", "ci/other.yml");
    check("ci", "../ci/other.yml", "ci/other.yml");
    check(".", "./ci//other.yml", "ci/other.yml");
    // A symbolic link keeps its own name.
    std::os::unix::fs::symlink("ci/other.yml", project.dir().join("link.yml")).unwrap();
    check(".", "link.yml", "link.yml");
}

#[test]
fn missing_file_is_reported_as_json_too() {
    let project = Project::with_pipeline("job:\n  script: [\"true\"]\n");
    let report = project
        .runwright(&["lint", "--json", "-f", "no.yml"])
        .expect_code(2)
        .stdout;
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["valid"], false);
    assert_eq!(report["errors"][0]["file"], "no.yml");
}

#[test]
fn all_findings_are_shown_with_their_lines() {
    let project = Project::with_pipeline(MISTAKES);
    let done = project.runwright(&["lint"]).expect_code(2);
    assert_eq!(done.stderr, "");
    insta::assert_snapshot!(done.stdout, @r"
    error[unknown-stage]: compile job: chosen stage biuld does not exist; available stages are .pre, build, test, .post
     --> .gitlab-ci.yml:3:10
      |
    3 |   stage: biuld
      |          ^^^^^
      |
      = help: did you mean `build`?

    warning[duplicate-key]: `script` is given twice; the last one counts
     --> .gitlab-ci.yml:5:3
      |
    4 |   script: [make]
      |   ------ first given here
    5 |   script: [make, all]
      |   ^^^^^^

    error[unknown-need]: 検査 job: undefined need: compiel
     --> .gitlab-ci.yml:8:11
      |
    8 |   needs: [compiel]
      |           ^^^^^^^
      |
      = help: did you mean `compile`?

    .gitlab-ci.yml is invalid: 2 errors, 1 warning.
    ");
}

#[test]
fn findings_are_coloured_on_request() {
    let project = Project::with_pipeline("job: {script: a, stage: tset}\n");
    let mut command = project.command(&["lint"]);
    let output = command.env("CLICOLOR_FORCE", "1").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.starts_with("\u{1b}[31;1merror["), "{text:?}");
    let plain = project.runwright(&["lint"]).stdout;
    assert!(!plain.contains('\u{1b}'), "{plain:?}");
    let mut colourless = String::new();
    for part in text.split("\u{1b}[") {
        colourless += part.split_once('m').map_or(part, |(_, rest)| rest);
    }
    assert_eq!(colourless, plain);
}

#[test]
fn json_findings_have_start_and_end() {
    let project = Project::with_pipeline(MISTAKES);
    let done = project.runwright(&["lint", "--json"]).expect_code(2);
    let report: Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(report["valid"], false);
    assert_eq!(report["notes"], json!([]));
    let warning = &report["warnings"][0];
    let expect = json!({
        "code": "duplicate-key", "severity": "warning", "file": ".gitlab-ci.yml",
        "line": 5, "column": 3, "end_line": 5, "end_column": 9,
        "message": warning["message"], "help": warning["help"],
        "related": [{
            "message": "first given here", "file": ".gitlab-ci.yml",
            "line": 4, "column": 3, "end_line": 4, "end_column": 9,
        }],
    });
    assert_eq!(warning, &expect);
    let other = project.runwright(&["lint", "--format", "json"]);
    assert_eq!(other.stdout, done.stdout);
    project
        .runwright(&["lint", "--json", "--format", "sarif"])
        .expect_code(2)
        .expect_text("cannot be used with");
}

/// Asserts that an object has the properties the standard requires, and none that it does not define.
fn check_object(value: &Value, required: &[&str], others: &[&str]) {
    let object = value
        .as_object()
        .unwrap_or_else(|| panic!("no object: {value}"));
    for key in required {
        assert!(object.contains_key(*key), "no {key} in {value}");
    }
    for key in object.keys() {
        let known = required.iter().chain(others).any(|it| it == key);
        assert!(known, "{key} in {value}");
    }
}

fn check_location(location: &Value) {
    check_object(location, &["artifactLocation"], &["region"]);
    check_object(&location["artifactLocation"], &["uri"], &["uriBaseId"]);
    let region = &location["region"];
    if !region.is_null() {
        let keys = ["startLine", "startColumn", "endLine", "endColumn"];
        check_object(region, &keys, &[]);
        let number = |key: &str| region[key].as_u64().unwrap();
        assert!(keys.iter().all(|key| number(key) >= 1), "{region}");
        let (start, end) = (
            (number("startLine"), number("startColumn")),
            (number("endLine"), number("endColumn")),
        );
        assert!(start <= end, "{region}");
    }
}

#[test]
fn sarif_report_conforms_to_the_standard() {
    let project = Project::with_pipeline(MISTAKES);
    let done = project.runwright(&["lint", "--sarif"]).expect_code(2);
    let report: Value = serde_json::from_str(&done.stdout).unwrap();
    check_object(&report, &["version", "runs", "$schema"], &[]);
    assert_eq!(report["version"], "2.1.0");
    let run = &report["runs"][0];
    check_object(run, &["tool", "results"], &["columnKind"]);
    check_object(&run["tool"], &["driver"], &[]);
    let driver = &run["tool"]["driver"];
    check_object(driver, &["name", "rules"], &["version", "semanticVersion"]);
    let rules = driver["rules"].as_array().unwrap();
    for rule in rules {
        check_object(rule, &["id", "shortDescription"], &[]);
        check_object(&rule["shortDescription"], &["text"], &[]);
    }
    let results = run["results"].as_array().unwrap();
    assert!(results.len() >= 3, "{report}");
    for result in results {
        let others = ["relatedLocations"];
        check_object(
            result,
            &["ruleId", "ruleIndex", "level", "message", "locations"],
            &others,
        );
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(rules[index]["id"], result["ruleId"]);
        check_object(&result["message"], &["text"], &[]);
        assert!(["error", "warning", "note"].contains(&result["level"].as_str().unwrap()));
        for location in result["locations"].as_array().unwrap() {
            check_object(location, &["physicalLocation"], &[]);
            check_location(&location["physicalLocation"]);
        }
        for location in result["relatedLocations"].as_array().into_iter().flatten() {
            check_object(location, &["id", "physicalLocation", "message"], &[]);
            check_location(&location["physicalLocation"]);
        }
    }
    let needs = results.iter().find(|result| {
        let line = &result["locations"][0]["physicalLocation"]["region"]["startLine"];
        line == 8
    });
    let location = &needs.unwrap()["locations"][0]["physicalLocation"];
    let expect = json!({
        "artifactLocation": { "uri": ".gitlab-ci.yml", "uriBaseId": "%SRCROOT%" },
        "region": { "startLine": 8, "startColumn": 11, "endLine": 8, "endColumn": 18 },
    });
    assert_eq!(location, &expect);
}

#[test]
fn sarif_report_names_a_missing_file() {
    let project = Project::with_pipeline("job:\n  script: [\"true\"]\n");
    let done = project
        .runwright(&["lint", "--sarif", "-f", "no such.yml"])
        .expect_code(2);
    let report: Value = serde_json::from_str(&done.stdout).unwrap();
    let result = &report["runs"][0]["results"][0];
    assert_eq!(result["ruleId"], "unreadable-file");
    let location = &result["locations"][0]["physicalLocation"];
    assert_eq!(location["artifactLocation"]["uri"], "no%20such.yml");
}

#[test]
fn valid_file_is_reported_as_valid() {
    let project = Project::with_pipeline("job:\n  script: [\"true\"]\n");
    let done = project.runwright(&["lint", "--notes"]).expect_code(0);
    assert_eq!(done.all(), ".gitlab-ci.yml is valid.\n");
    let report = project.runwright(&["lint", "--json"]).expect_code(0).stdout;
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!(
        report,
        json!({"valid": true, "errors": [], "warnings": [], "notes": []})
    );
}

#[test]
fn file_to_check_is_named_by_position() {
    let project = Project::with_pipeline("job: {script: x}\n");
    project.write("ci/other.yml", "other: {scrpt: x}\n");
    let done = project.runwright(&["lint", "ci/other.yml"]);
    done.expect_code(2).expect_text("ci/other.yml is invalid");
    let done = project.runwright(&["lint", "ci/other.yml", "-f", ".gitlab-ci.yml"]);
    done.expect_code(2).expect_text("cannot be used with");
}
