//! Expected durations from earlier runs: `runwright times`, `run --times`, the live view, reports.

use crate::project::Project;
use crate::tmux::Terminal;
use serde_json::{Value, json};
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::PathBuf;

const PIPELINE: &str = "
stages: [build, test]
build: {stage: build, script: ['true']}
lint: {stage: test, script: ['true']}
test: {stage: test, script: ['sleep 1.2']}
";

/// The same jobs, one after the other on any machine.
const CHAIN: &str = "
stages: [build, test]
lint: {stage: build, script: ['true']}
build: {stage: build, needs: [lint], script: ['true']}
test: {stage: test, script: ['sleep 1.2']}
";

/// Returns the file with the durations of the project, which exists after the first run.
fn durations(project: &Project) -> PathBuf {
    let projects = fs::read_dir(project.home().join("projects")).unwrap();
    let mut projects = projects.map(|entry| entry.unwrap().path());
    projects.next().unwrap().join("durations")
}

/// Replaces the recorded durations by runs whose jobs took these milliseconds; the first run is number 1.
fn know(project: &Project, runs: &[&[(&str, u64)]]) {
    project.runwright(&["history"]);
    if !project.home().join("projects").exists() {
        project.runwright(&["run", "lint"]).expect_code(0);
    }
    let lines = runs.iter().zip(1..).map(|(jobs, run)| {
        let jobs: serde_json::Map<String, Value> = jobs
            .iter()
            .map(|(job, took)| ((*job).to_owned(), json!(took)))
            .collect();
        let at = "2026-11-20T10:00:00Z";
        let line = json!({"v": 1, "run": run, "at": at, "executor": "shell", "jobs": jobs});
        format!("{line}\n")
    });
    fs::write(durations(project), lines.collect::<String>()).unwrap();
}

/// Returns lines with their durations replaced: `12.3s` becomes `T`.
fn normal(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let words = line.split(' ').map(|word| {
            let time = word.trim_end_matches([',', ':', ')']);
            let number = time.strip_suffix('s');
            if number.is_some_and(|number| number.parse::<f64>().is_ok()) {
                format!("T{}", &word[time.len()..])
            } else {
                word.to_owned()
            }
        });
        words.collect::<Vec<String>>().join(" ")
    });
    lines.collect::<Vec<String>>().join("\n")
}

#[test]
fn run_records_the_durations_of_its_jobs() {
    let project = Project::with_pipeline(PIPELINE);
    let done = project.runwright(&["times"]).expect_code(0);
    assert_eq!((&*done.stdout, done.stderr.lines().count()), ("", 1));
    project.runwright(&["run"]).expect_code(0);
    // A failed job is no measure of its duration.
    project.write(".gitlab-ci.yml", "build: {script: ['exit 1']}");
    project.runwright(&["run"]).expect_code(1);
    let done = project.runwright(&["times", "--json"]).expect_code(0);
    let json: Value = serde_json::from_str(&done.stdout).unwrap();
    let jobs = json["places"][0]["jobs"].as_array().unwrap();
    let names: Vec<&str> = jobs
        .iter()
        .map(|job| job["job"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["build", "lint", "test"]);
    assert_eq!(json["places"][0]["executor"], "shell");
    assert_eq!(jobs[2]["times"][0]["run"], 1);
    assert!(jobs[2]["last_ms"].as_u64().unwrap() >= 1200, "{json}");
    assert_eq!(jobs[2]["usual_ms"], Value::Null, "one run says nothing yet");
    assert_eq!(json["last_run"]["run"], 2);
    // Without a terminal, expectations are shown only on request.
    assert_eq!(
        fs::read_to_string(durations(&project))
            .unwrap()
            .lines()
            .count(),
        1
    );
}

#[test]
fn table_shows_slower_jobs_and_since_when() {
    let project = Project::with_pipeline(PIPELINE);
    let one = |build, test| [("build", build), ("test", test)];
    let runs = [
        &one(12_000, 22_000)[..],
        &one(12_100, 22_500),
        &one(11_900, 21_800),
        &one(12_000, 41_000),
        &one(12_200, 43_000),
        &[("lint", 900)],
    ];
    know(&project, &runs);
    let done = project.runwright(&["times"]).expect_code(0);
    let table = done.stdout.split("critical path").next().unwrap();
    insta::assert_snapshot!(table, @"
    job      usually       last  runs
    build      12.0s      12.2s     5
    lint           ?       0.9s     1
    test       22.5s      43.0s     5  slower since run 4: 43.0s, before 22.0s
    ");
    let done = project.runwright(&["times", "test"]).expect_code(0);
    insta::assert_snapshot!(done.stdout, @"
    test usually takes 22.5s
    slower since run 4: 43.0s, before 22.0s
      run 1         22.0s
      run 2         22.5s
      run 3         21.8s
      run 4         41.0s  slower than before
      run 5         43.0s  slower than before
    ");
    let done = project.runwright(&["times", "tset"]).expect_code(2);
    assert!(
        done.stderr.contains("did you mean `test`?"),
        "{}",
        done.stderr
    );
    let done = project.runwright(&["times", "--json"]).expect_code(0);
    let json: Value = serde_json::from_str(&done.stdout).unwrap();
    let trend = json!({"slower": true, "since_run": 4, "before_ms": 22_000, "now_ms": 43_000});
    assert_eq!(json["places"][0]["jobs"][2]["trend"], trend);
}

#[test]
fn times_option_shows_the_expected_duration_and_the_critical_path() {
    let project = Project::with_pipeline(CHAIN);
    let run = [("build", 20), ("lint", 10), ("test", 1_500)];
    know(&project, &[&run, &run, &run]);
    let done = project.runwright(&["run", "--times"]).expect_code(0);
    let first = done.stdout.lines().next().unwrap();
    assert_eq!(normal(first), "about T, if as usual");
    let path = |text: &str| {
        let line = text.lines().find(|line| line.starts_with("critical path"));
        // A slow machine also reports the time before a job starts.
        line.map(|line| normal(line).replace("waiting T, ", ""))
    };
    let expect = "critical path: lint T, build T, test T";
    assert_eq!(path(&done.stdout).as_deref(), Some(expect));
    // A job without recorded durations.
    project.write(
        ".gitlab-ci.yml",
        &format!("{CHAIN}new: {{stage: test, script: ['true']}}\n"),
    );
    let done = project.runwright(&["run", "--times"]).expect_code(0);
    let first = done.stdout.lines().next().unwrap();
    assert_eq!(
        normal(first),
        "at least T, if as usual; 1 job has no known time"
    );
    // Without a terminal, expectations are shown only on request.
    let done = project.runwright(&["run"]).expect_code(0);
    for word in ["as usual", "critical path", "slower"] {
        assert!(!done.stdout.contains(word), "{}", done.stdout);
    }
    // A setting enables it too, for the project or by a variable.
    let mut command = project.command(&["run"]);
    let done = command.env("RUNWRIGHT_TIMES", "true").output().unwrap();
    assert!(String::from_utf8_lossy(&done.stdout).contains("critical path"));
}

#[test]
fn job_slower_than_usual_is_named() {
    let project = Project::with_pipeline(CHAIN);
    let run = [("build", 20), ("lint", 10), ("test", 100)];
    know(&project, &[&run, &run, &run]);
    let report = project.scratch().join("report.json");
    let words = ["run", "--times", "--report", report.to_str().unwrap()];
    let done = project.runwright(&words).expect_code(0);
    // On a busy machine the other jobs may be slower too.
    let slower = "slower: test took T, usually T";
    let is_named = done.stdout.lines().any(|line| normal(line) == slower);
    assert!(is_named, "{}", done.stdout);
    let json: Value = serde_json::from_str(&fs::read_to_string(&report).unwrap()).unwrap();
    let times = &json["times"];
    assert_eq!(
        (&times["expected_ms"], &times["at_least"]),
        (&json!(130), &json!(false))
    );
    let path = times["critical_path"].as_array().unwrap();
    let names: Vec<&Value> = path.iter().map(|step| &step["job"]).collect();
    assert_eq!(names, ["lint", "build", "test"]);
    let mut slower = times["slower"].as_array().unwrap().iter();
    let json = slower.find(|slower| slower["job"] == "test");
    assert_eq!(json.unwrap()["usual_ms"], 100);
}

#[test]
fn plan_shows_the_expected_duration() {
    let project = Project::with_pipeline(PIPELINE);
    let run = [("build", 12_000), ("lint", 3_000), ("test", 40_000)];
    know(&project, &[&run, &run, &run]);
    let done = project.runwright(&["plan", "--times"]).expect_code(0);
    insta::assert_snapshot!(done.stdout, @"
    branch main (push): 3 of 3 jobs
    stage build
      build  on_success  usually 12.0s
    stage test
      lint   on_success  usually 3.0s
      test   on_success  usually 40.0s
    about 52s, if as usual
    critical path: build 12.0s, test 40.0s
    ");
    let done = project
        .runwright(&["plan", "--times", "--json"])
        .expect_code(0);
    let json: Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(json["times"]["expected_ms"], 52_000);
    assert_eq!(json["times"]["usual_ms"]["lint"], 3_000);
    let done = project.runwright(&["plan"]).expect_code(0);
    assert!(!done.stdout.contains("usual"), "{}", done.stdout);
}

#[test]
fn live_view_counts_down() {
    let project = Project::with_pipeline(PIPELINE);
    // Long enough that no job is slower on any machine.
    let run = [("build", 600_000), ("lint", 600_000), ("test", 1_200_000)];
    know(&project, &[&run, &run, &run]);
    project.write(
        ".gitlab-ci.yml",
        &PIPELINE.replace("sleep 1.2", "while ! test -e $GO; do sleep 0.05; done"),
    );
    let go = project.scratch().join("go");
    let words = format!("run --variable GO={}", go.display());
    let terminal = Terminal::start(&project, (100, 24), &words);
    terminal.wait_for(&[
        "about 30m, if as usual",
        "1 running",
        // It was 20 min when the last job began.
        "about 19:",
        " left",
    ]);
    fs::write(go, "").unwrap();
    terminal.wait_for(&["[exit code 0]"]);
    let text = terminal.text();
    assert!(!text.contains("left") && !text.contains("slower"), "{text}");
}

#[test]
fn damaged_records_are_dropped_and_reported_once() {
    let project = Project::with_pipeline(PIPELINE);
    let run = [("build", 20), ("lint", 10), ("test", 100)];
    know(&project, &[&run, &run, &run]);
    let mut file = OpenOptions::new()
        .append(true)
        .open(durations(&project))
        .unwrap();
    file.write_all(b"\x00\xff\x1b[31m\n{\"v\":1,\"run\":9")
        .unwrap();
    let done = project.runwright(&["times"]).expect_code(0);
    assert!(
        done.stderr.contains("cannot be read and are ignored"),
        "{}",
        done.stderr
    );
    assert!(done.stdout.contains("test"), "{}", done.stdout);
    let done = project.runwright(&["times"]).expect_code(0);
    assert_eq!(done.stderr, "");
    // A directory in place of the file fails no run.
    fs::remove_file(durations(&project)).unwrap();
    fs::create_dir(durations(&project)).unwrap();
    let done = project.runwright(&["run", "--times"]).expect_code(0);
    assert!(done.stderr.contains("cannot be read"), "{}", done.stderr);
    project.runwright(&["times"]).expect_code(3);
}

#[test]
fn times_of_another_pipeline_file_are_its_own() {
    let project = Project::with_pipeline("job: {script: ['true']}\n");
    project.write("other.yml", "job: {script: [sleep 1.2]}\n");
    project.runwright(&["run"]).expect_code(0);
    for _ in 0..3 {
        project
            .runwright(&["run", "-f", "other.yml"])
            .expect_code(0);
    }
    let plan = |options: &[&str]| {
        let words = [&["plan", "--times"], options].concat();
        project.runwright(&words).expect_code(0).stdout
    };
    let unknown = "there are no times of earlier runs yet";
    assert!(plan(&[]).contains(unknown), "{}", plan(&[]));
    let other = plan(&["-f", "other.yml"]);
    assert!(!other.contains(unknown), "{other}");
    let times = project.runwright(&["times"]).expect_code(0).stdout;
    assert!(times.starts_with("shell, other.yml\n"), "{times}");
    assert!(times.contains("\nshell\n"), "{times}");
}
