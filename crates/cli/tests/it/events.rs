//! The event stream as other programs read it.

use crate::project::Project;
use serde_json::Value;

fn events(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).expect(line))
        .collect()
}

fn of_type<'e>(events: &'e [Value], kind: &str) -> Vec<&'e Value> {
    events
        .iter()
        .filter(|event| event["type"] == kind)
        .collect()
}

#[test]
fn events_describe_the_whole_run_in_order() {
    let project = Project::with_pipeline(
        "stages: [a, b]\none:\n  stage: a\n  script: [echo out, echo err >&2]\ntwo:\n  stage: b\n  retry: 1\n  script: [exit 3]\n",
    );
    let done = project
        .runwright(&["run", "--progress", "json"])
        .expect_code(1);
    let events = events(&done.stdout);
    for (number, event) in events.iter().enumerate() {
        assert_eq!(event["v"], 1, "{event}");
        assert_eq!(
            event["seq"].as_u64().unwrap(),
            events[0]["seq"].as_u64().unwrap() + number as u64
        );
        assert!(event["at"].as_str().unwrap().contains('T'), "{event}");
        assert!(event.get("pipeline").is_some(), "{event}");
    }
    assert_eq!(events.first().unwrap()["type"], "pipeline_started");
    let last = events.last().unwrap();
    assert_eq!(
        (&last["type"], &last["status"], &last["exit_code"]),
        (&"pipeline_done".into(), &"failed".into(), &1.into())
    );

    let logs = of_type(&events, "job_log");
    let line = |stream: &str, text: &str| {
        logs.iter()
            .any(|log| log["job"] == "one" && log["stream"] == stream && log["line"] == text)
    };
    assert!(line("stdout", "out"), "{logs:?}");
    assert!(line("stderr", "err"), "{logs:?}");

    let finished = of_type(&events, "job_finished");
    let attempts: Vec<_> = finished
        .iter()
        .filter(|event| event["job"] == "two")
        .map(|event| &event["attempt"])
        .collect();
    assert_eq!(attempts, [&Value::from(1), &Value::from(2)]);
    let failed = finished.last().unwrap();
    assert_eq!(failed["exit_code"], 3);
    assert_eq!(failed["failure_reason"], "script_failure");
    assert_eq!(failed["status"], "failed");
    assert!(failed["duration_ms"].is_u64());

    let statuses = of_type(&events, "job_status");
    let of_one: Vec<_> = statuses
        .iter()
        .filter(|event| event["job"] == "one")
        .map(|event| event["status"].as_str().unwrap())
        .collect();
    assert!(of_one.ends_with(&["running", "success"]), "{of_one:?}");
    assert_eq!(of_type(&events, "stage_start").len(), 2);
}

#[test]
fn events_can_go_to_a_file() {
    let project = Project::with_pipeline("job:\n  script: [echo seen]\n");
    let file = project.scratch().join("events.ndjson");
    let done = project
        .runwright(&["run", "--events", file.to_str().unwrap()])
        .expect_code(0);
    assert!(done.stdout.contains("job | seen"));
    let events = events(&std::fs::read_to_string(file).unwrap());
    assert_eq!(events.last().unwrap()["status"], "success");
}

#[test]
fn long_line_is_split_into_events() {
    let project =
        Project::with_pipeline("job:\n  script: [\"head -c 200000 /dev/zero | tr '\\\\0' x\"]\n");
    let done = project
        .runwright(&["run", "--progress", "json"])
        .expect_code(0);
    let events = events(&done.stdout);
    let parts: Vec<_> = of_type(&events, "job_log")
        .into_iter()
        .filter(|log| {
            log["stream"] == "stdout" && log["line"].as_str().unwrap().starts_with("xxxx")
        })
        .collect();
    assert!(
        parts
            .iter()
            .all(|log| log["line"].as_str().unwrap().len() <= 64 * 1024)
    );
    let total: usize = parts
        .iter()
        .map(|log| log["line"].as_str().unwrap().len())
        .sum();
    assert_eq!(total, 200_000);
    assert!(
        parts[1..].iter().all(|log| log["cont"] == true),
        "later parts say so"
    );
}

#[test]
fn blocked_pipeline_is_reported_in_its_last_event() {
    let project = Project::with_pipeline(
        "job:\n  when: manual\n  allow_failure: false\n  script: [\"true\"]\n",
    );
    let done = project
        .runwright(&["run", "--progress", "json"])
        .expect_code(0);
    assert_eq!(events(&done.stdout).last().unwrap()["status"], "manual");
}
