//! Results at the end of a run, and in report files.

#![expect(
    clippy::disallowed_methods,
    reason = "the tests read the reports with another program"
)]

use crate::project::Project;
use serde_json::Value;
use std::process::Command;

const PIPELINE: &str = r#"
stages: [build, test, deploy]
build:
  stage: build
  script:
    - mkdir dist && echo app > dist/app
    - echo "VERSION=1.2.3" > build.env
    - "echo 'Coverage: 81.5%'"
  coverage: '/Coverage: (\d+\.\d+)%/'
  artifacts:
    paths: [dist]
    expose_as: the app
    reports: {dotenv: build.env}
unit:
  stage: test
  variables: {VERSION: none, GREETING: 'v$VERSION'}
  script:
    - echo "built $VERSION $GREETING"
    - |
      cat > report.xml <<END
      <testsuite name="unit"><testcase name="adds" classname="math" file="math.py" line="3">
      <failure message="1 &lt; 2 of $TOKEN">trace 1
      trace 2
      trace 3</failure></testcase><testcase name="ok"/><testcase name="no"><skipped/></testcase></testsuite>
      END
    - exit 3
  artifacts:
    reports: {junit: report.xml, sast: [report.xml]}
ship:
  stage: deploy
  script: [echo shipped]
"#;

fn read(project: &Project, path: &str) -> String {
    std::fs::read_to_string(project.dir().join(path)).unwrap()
}

fn project() -> Project {
    Project::with_pipeline(PIPELINE)
}

#[test]
fn end_of_a_run_shows_tests_coverage_and_artifacts() {
    let project = project();
    let args = ["run", "--variable", "TOKEN=hunter22-secret"];
    let done = project.runwright(&args).expect_code(1);
    assert!(
        done.stdout.contains("built 1.2.3 v1.2.3"),
        "{}",
        done.stdout
    );
    let at = done.stdout.find("\ntests:").expect(&done.stdout);
    let end = done.stdout.find("\npipeline ").expect(&done.stdout);
    insta::assert_snapshot!(&done.stdout[at..end], @r"

    tests: 3 in all, 1 failed, 1 skipped
      unit: math > adds math.py:3
        | 1 < 2 of hunter22-secret
        | trace 1
        | trace 2

    coverage: 81.5 % (build 81.5 %)

    artifacts:
      build: the app (1 file), dotenv (1 file)
      unit: junit (1 file), sast (1 file)
    ");
}

#[test]
fn secrets_are_in_no_report_and_no_summary() {
    let project = project();
    project.write("token", "hunter22-secret");
    let args = [
        "run",
        "--secret",
        "TOKEN=@token",
        "--report",
        "r.xml",
        "--report",
        "r.json",
        "--report",
        "r.txt",
        "--events",
        "e.ndjson",
    ];
    let done = project.runwright(&args).expect_code(1);
    let mut texts = vec![done.all()];
    for name in ["r.xml", "r.json", "r.txt", "e.ndjson"] {
        texts.push(read(&project, name));
    }
    for text in texts {
        assert!(!text.contains("hunter22"), "{text}");
    }
    assert!(read(&project, "r.txt").contains("1 < 2 of [MASKED]"));
}

#[test]
fn secrets_in_the_error_of_a_job_are_masked_everywhere() {
    let project =
        Project::with_pipeline("a: {script: [echo x], variables: {GIT_CLONE_PATH: /$TOKEN}}\n");
    project.write("token", "hunter22-secret");
    let args = [
        "run",
        "--secret",
        "TOKEN=@token",
        "--report",
        "r.json",
        "--report",
        "r.xml",
    ];
    let done = project.runwright(&args).expect_code(3);
    assert!(
        done.stdout
            .contains("  invalid GIT_CLONE_PATH \"/[MASKED]\""),
        "{}",
        done.stdout
    );
    for text in [
        done.all(),
        read(&project, "r.json"),
        read(&project, "r.xml"),
    ] {
        assert!(!text.contains("hunter22"), "{text}");
    }
}

#[test]
fn run_without_reports_does_not_mention_them() {
    let project = Project::with_pipeline("a: {script: [echo x]}\n");
    let done = project.runwright(&["run"]).expect_code(0);
    for word in ["tests:", "coverage:", "artifacts:"] {
        assert!(!done.stdout.contains(word), "{}", done.stdout);
    }
}

#[test]
fn refused_report_is_the_failure_reason() {
    let project = Project::with_pipeline(
        "a: {script: [echo nonsense > a.env], artifacts: {reports: {dotenv: a.env}}}\n",
    );
    let done = project.runwright(&["run"]).expect_code(1);
    let end = done
        .stdout
        .find(" a failed in stage test")
        .expect(&done.stdout);
    let why = "the dotenv report is refused: Invalid Format (a.env, line 1)";
    assert!(done.stdout[end..].contains(why), "{}", done.stdout);
}

#[test]
fn report_files_describe_the_result_in_each_format() {
    let project = project();
    project.write("out/old.txt", "an older report");
    let args = [
        "run",
        "--report",
        "r.xml",
        "--report",
        "json=out/report",
        "--report",
        "out/old.txt",
    ];
    project.runwright(&args).expect_code(1);

    let json: Value = serde_json::from_str(&read(&project, "out/report")).unwrap();
    assert_eq!(json["version"], 1);
    assert_eq!(json["status"], "failed");
    assert_eq!(json["coverage"], 81.5);
    assert_eq!(json["tests"]["failed"], 1);
    assert_eq!(json["jobs"][1]["name"], "unit");
    assert_eq!(json["jobs"][1]["exit_code"], 3);
    assert_eq!(json["jobs"][1]["artifacts"][1]["artifact_type"], "sast");
    assert_eq!(json["jobs"][2]["status"], "skipped");

    let text = read(&project, "out/old.txt");
    assert!(text.contains("unit failed: exit code 3"), "{text}");
    assert!(!text.contains("older"), "{text}");

    // As parsed by another XML reader.
    let script = "
import sys, xml.etree.ElementTree as tree
root = tree.parse(sys.argv[1]).getroot()
print(root.tag, root.get('tests'), root.get('failures'), root.get('errors'), root.get('skipped'))
for case in root.iter('testcase'):
    print(case.get('classname'), case.get('name'), *[child.tag for child in case])
";
    let output = Command::new("python3")
        .args(["-c", script, "r.xml"])
        .current_dir(project.dir())
        .output()
        .expect("python3 reads the report: install it to run this test");
    let seen = String::from_utf8(output.stdout).unwrap();
    let expect =
        "testsuites 3 1 0 1\nbuild build properties\ntest unit failure\ndeploy ship skipped\n";
    assert_eq!(seen, expect, "{}", read(&project, "r.xml"));
}

#[test]
fn unwritable_report_stops_the_run_before_it_starts() {
    let project = Project::with_pipeline("a: {script: [touch $HOME/ran, echo ran]}\n");
    let check = |report: &str, expect: &str| {
        let done = project
            .runwright(&["run", "--report", report])
            .expect_code(2);
        let all = done.all();
        assert!(all.contains(expect), "{report}: {all}");
        assert!(
            !all.contains("Job succeeded") && !all.contains("pipeline "),
            "{all}"
        );
    };
    check("none/report.xml", "write the report none/report.xml");
    check(
        "report.html",
        "its extension is not that of a format: use `.xml`, `.json`, `.txt`",
    );
    check("-", "standard output shows the run itself; name a file");
    project.write("dir.xml/file", "");
    check("dir.xml", "write the report dir.xml");
    let twice = ["run", "--report", "json=r", "--report", "junit=./r"];
    let done = project.runwright(&twice).expect_code(2);
    done.expect_text("write the report ./r: the report `json` is written to the same file");
    // A dry run has no result to report.
    let dry = ["run", "--dry-run", "--report", "r.json"];
    project.runwright(&dry).expect_code(2);
}

#[test]
fn canceled_run_writes_its_reports_too() {
    let project = Project::with_pipeline(
        "a: {script: [echo ready, sleep 600]}\nb: {stage: deploy, script: [x]}\n",
    );
    let mut run = project.start(&["run", "--report", "r.json", "--report", "r.xml"]);
    project.wait_for("a | ready");
    let interrupted = Command::new("kill")
        .args(["-INT", &run.id().to_string()])
        .status();
    assert!(interrupted.unwrap().success());
    assert_eq!(
        run.wait().unwrap().code(),
        Some(130),
        "{}",
        project.printed()
    );
    let json: Value = serde_json::from_str(&read(&project, "r.json")).unwrap();
    assert_eq!(json["exit_code"], 130, "{json}");
    assert_eq!(json["jobs"][0]["status"], "canceled", "{json}");
    let why = json["jobs"][0]["error"].as_str().unwrap_or_default();
    assert!(why.contains("by the user"), "{json}");
    assert_eq!(json["jobs"][1]["attempts"], 0, "{json}");
    assert!(
        read(&project, "r.xml").contains("<error "),
        "{}",
        read(&project, "r.xml")
    );
    let names = std::fs::read_dir(project.dir()).unwrap();
    let partial = |name: &std::ffi::OsString| name.to_string_lossy().contains("partial");
    assert!(
        !names
            .map(|entry| entry.unwrap().file_name())
            .any(|name| partial(&name))
    );
}
