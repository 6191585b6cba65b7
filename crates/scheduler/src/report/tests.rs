use super::*;
use crate::Status;
use executor_core::{
    BuildError, ExitCode, FailedTest, FailureReason, JobProducts, PipelineId, RetainedArtifact,
    TestTotals,
};
use proptest::prelude::*;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

fn job(name: &str, stage: &str, status: Status) -> JobReport {
    JobReport {
        name: name.to_owned(),
        stage: stage.to_owned(),
        status,
        exit_code: (status == Status::Success).then_some(0),
        failure_reason: None,
        error: None,
        allow_failure: false,
        attempts: u32::from(matches!(status, Status::Success | Status::Failed)),
        duration: Duration::from_millis(1_250),
        last_lines: Vec::new(),
        products: Arc::default(),
        exposed_as: None,
        reused: None,
    }
}

fn script_failure(job: JobReport) -> JobReport {
    JobReport {
        exit_code: Some(3),
        failure_reason: Some(FailureReason::ScriptFailure),
        error: Some(Arc::new(BuildError::Script {
            exit_code: ExitCode(3),
        })),
        last_lines: vec![
            "$ make".to_owned(),
            "\x1b[31m<bad> & \"worse\"\x1b[0m".to_owned(),
        ],
        ..job
    }
}

fn report(jobs: Vec<JobReport>) -> PipelineReport {
    PipelineReport {
        id: PipelineId(7),
        status: Status::Failed,
        exit: RunExit::JobFailed,
        jobs,
        duration: Duration::from_millis(65_430),
        error: None,
        children: Vec::new(),
        times: None,
    }
}

fn sample_report() -> PipelineReport {
    let tests = TestTotals {
        total: 4,
        failed: 1,
        skipped: 1,
        seconds: 0.5,
        failures: vec![FailedTest {
            suite: "suite".to_owned(),
            class: "m.Class".to_owned(),
            name: "test_x".to_owned(),
            file: Some("a.py:3".to_owned()),
            message: "want 1\ngot 2".to_owned(),
        }],
        ..TestTotals::default()
    };
    let archive = RetainedArtifact {
        artifact_type: "archive".to_owned(),
        name: String::new(),
        files: 2,
        bytes: 300,
    };
    let mut build = job("build", "build", Status::Success);
    build.products = Arc::new(JobProducts {
        artifacts: vec![archive],
        coverage: Some(80.0),
        ..JobProducts::default()
    });
    build.exposed_as = Some("the app".to_owned());
    let mut unit = script_failure(job("unit", "test", Status::Failed));
    unit.attempts = 2;
    unit.products = Arc::new(JobProducts {
        tests: Some(tests),
        coverage: Some(87.5),
        ..JobProducts::default()
    });
    let mut lint = script_failure(job("lint", "test", Status::Failed));
    lint.allow_failure = true;
    let mut broken = job("broken", "test", Status::Failed);
    broken.failure_reason = Some(FailureReason::RunnerSystemFailure);
    broken.error = Some(Arc::new(BuildError::system(
        "shell",
        "make directory",
        "full",
    )));
    let mut report = report(vec![
        build,
        unit,
        lint,
        broken,
        job("ship", "deploy", Status::Skipped),
        job("by hand", "deploy", Status::Manual),
    ]);
    let mut child = self::report(vec![job("inner", "test", Status::Success)]);
    child.id = PipelineId(8);
    child.status = Status::Success;
    child.exit = RunExit::Success;
    report.children.push(ChildReport {
        job: "trigger".to_owned(),
        project: None,
        report: child,
    });
    report
}

#[test]
fn junit_has_suites_for_stages_and_cases_for_jobs() {
    insta::assert_snapshot!(ReportFormat::Junit.write(&sample_report()), @r#"
    <?xml version="1.0" encoding="UTF-8"?>
    <testsuites name="pipeline 7" tests="7" failures="1" errors="1" skipped="3" time="65.430">
      <testsuite name="build" tests="1" failures="0" errors="0" skipped="0" time="1.250">
        <testcase name="build" classname="build" time="1.250">
          <properties>
            <property name="coverage" value="80"/>
          </properties>
        </testcase>
      </testsuite>
      <testsuite name="test" tests="3" failures="1" errors="1" skipped="1" time="3.750">
        <testcase name="unit" classname="test" time="1.250">
          <properties>
            <property name="attempts" value="2"/>
            <property name="coverage" value="87.5"/>
          </properties>
          <failure message="exit code 3" type="script_failure">$ make
    &lt;bad&gt; &amp; &quot;worse&quot;</failure>
        </testcase>
        <testcase name="lint" classname="test" time="1.250">
          <skipped message="allowed to fail: exit code 3">$ make
    &lt;bad&gt; &amp; &quot;worse&quot;</skipped>
        </testcase>
        <testcase name="broken" classname="test" time="1.250">
          <error message="shell: make directory: full" type="runner_system_failure"/>
        </testcase>
      </testsuite>
      <testsuite name="deploy" tests="2" failures="0" errors="0" skipped="2" time="2.500">
        <testcase name="ship" classname="deploy" time="1.250">
          <skipped message="skipped"/>
        </testcase>
        <testcase name="by hand" classname="deploy" time="1.250">
          <skipped message="manual"/>
        </testcase>
      </testsuite>
      <testsuite name="trigger: test" tests="1" failures="0" errors="0" skipped="0" time="1.250">
        <testcase name="inner" classname="trigger: test" time="1.250"/>
      </testsuite>
    </testsuites>
    "#);
}

#[test]
fn text_lists_jobs_failures_tests_and_artifacts() {
    insta::assert_snapshot!(ReportFormat::Text.write(&sample_report()), @r#"
    pipeline 7: failed, 1m 5s, exit code 1

    stage build
      success   build    1.2s

    stage test
      failed    unit     1.2s, 2 attempts
      failed    lint     1.2s, allowed to fail
      failed    broken   1.2s

    stage deploy
      skipped   ship
      manual    by hand

    unit failed: exit code 3
      | $ make
      | <bad> & "worse"

    lint failed: exit code 3
      | $ make
      | <bad> & "worse"

    broken failed: shell: make directory: full

    tests: 4 in all, 1 failed, 0 errors, 1 skipped
      unit: m.Class > test_x (a.py:3)
        want 1
        got 2

    coverage: 83.75 %
      build: 80.00 %
      unit: 87.50 %

    artifacts:
      build: archive "the app", 2 files, 300 bytes

    pipeline 8, started by trigger: success, 1m 5s, exit code 0

    stage test
      success   inner  1.2s
    "#);
}

#[test]
fn json_has_a_version_and_all_fields() {
    let text = ReportFormat::Json.write(&sample_report());
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["version"], 1);
    assert_eq!(value["pipeline"], 7);
    assert_eq!(value["status"], "failed");
    assert_eq!(value["exit_code"], 1);
    assert_eq!(value["duration_ms"], 65_430);
    assert_eq!(value["coverage"], 83.75);
    assert_eq!(value["tests"]["total"], 4);
    assert_eq!(value["jobs"][0]["artifacts"][0]["files"], 2);
    assert_eq!(value["jobs"][0]["exposed_as"], "the app");
    assert_eq!(value["jobs"][1]["failure_reason"], "script_failure");
    assert_eq!(value["jobs"][1]["error"], "exit code 3");
    assert_eq!(value["jobs"][1]["tests"]["failures"][0]["name"], "test_x");
    assert_eq!(value["jobs"][3]["error"], "shell: make directory: full");
    assert_eq!(value["jobs"][4]["exit_code"], serde_json::Value::Null);
    assert_eq!(value["children"][0]["job"], "trigger");
    assert_eq!(value["children"][0]["jobs"][0]["name"], "inner");
}

#[test]
fn formats_follow_from_names_and_extensions() {
    let check = |file: &str, expect: Option<ReportFormat>| {
        assert_eq!(ReportFormat::of_file(Path::new(file)), expect, "{file}");
    };
    check("out/report.xml", Some(ReportFormat::Junit));
    check("report.JSON", Some(ReportFormat::Json));
    check("a.txt", Some(ReportFormat::Text));
    check("a.html", None);
    check("xml", None);
    for format in ReportFormat::ALL {
        assert_eq!(ReportFormat::of_name(format.name()), Some(format));
    }
    assert_eq!(ReportFormat::of_name("html"), None);
}

#[test]
fn reports_omit_values_of_variables() {
    let mut one = job("one", "test", Status::Success);
    one.products = Arc::new(JobProducts {
        dotenv: vec![executor_core::JobVariable::public("NAME", "hunter22")],
        ..JobProducts::default()
    });
    let report = report(vec![one]);
    for format in ReportFormat::ALL {
        assert!(!format.write(&report).contains("hunter22"), "{format:?}");
    }
}

/// Returns the names of the cases and the texts of their failures, as a reader of XML returns them.
fn read_back(text: &str) -> Vec<(String, String)> {
    use quick_xml::events::Event;
    let mut reader = quick_xml::Reader::from_str(text);
    let mut cases = Vec::new();
    let mut is_failure = false;
    loop {
        match reader.read_event().unwrap() {
            event @ (Event::Start(_) | Event::Empty(_)) => {
                let is_empty = matches!(event, Event::Empty(_));
                let (Event::Start(start) | Event::Empty(start)) = event else {
                    continue;
                };
                let name = start.name();
                is_failure = name.0 == "failure" && !is_empty;
                if name.0 == "testcase" {
                    let name = start.try_get_attribute("name").unwrap().unwrap();
                    let name = name.normalized_value(quick_xml::XmlVersion::Explicit1_0);
                    cases.push((name.unwrap().into_owned(), String::new()));
                }
            }
            Event::End(_) => is_failure = false,
            Event::Text(text) if is_failure => {
                cases.last_mut().unwrap().1.push_str(&text.xml10_content());
            }
            Event::GeneralRef(reference) if is_failure => {
                let words = &mut cases.last_mut().unwrap().1;
                match reference.resolve_char_ref().unwrap() {
                    Some(c) => words.push(c),
                    None => words.push_str(
                        quick_xml::escape::resolve_predefined_entity(&reference).unwrap(),
                    ),
                }
            }
            Event::Eof => return cases,
            _ => {}
        }
    }
}

proptest! {
    #[test]
    fn junit_round_trips_any_text(name in "\\PC*|.*|[\\x00-\\x20<>&'\"\\]]*", line in ".*|[\\x00-\\x20<>&\\]x]*") {
        let mut failed = script_failure(job(&name, &name, Status::Failed));
        failed.last_lines = vec![line.clone()];
        let text = ReportFormat::Junit.write(&report(vec![failed]));
        let is_legal = |c: char| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{fffd}' | '\u{10000}'..);
        prop_assert!(text.chars().all(is_legal), "{text:?}");
        let expect = vec![(xml::legal(&name).into_owned(), xml::legal(&line).into_owned())];
        prop_assert_eq!(read_back(&text), expect, "{}", text);
    }
}
