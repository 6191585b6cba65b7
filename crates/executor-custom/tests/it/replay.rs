//! Recordings of an official runner, repeated: the same calls with the same arguments, environment and files, and the
//! same report, for every end of a call.

use crate::driver::{Call, TestDriver};
use executor_core::job::{Job, Step};
use executor_core::trace::TraceStream;
use executor_core::{CancelCause, JobVariable};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

const RECORDED: &str = include_str!("../data/custom_protocol.json");

/// Scenarios that are not about the executor, and where they are tested.
const ELSEWHERE: [(&str, &str); 6] = [
    ("get-sources-build", "job-runner: attempts pause for 5 s"),
    ("get-sources-system", "job-runner: attempts pause for 5 s"),
    ("multi-stage-order", "job-runner: caches and artifacts"),
    ("job-timeout", "job-runner: the time of a job"),
    ("prepare-job-timeout", "job-runner: the time of a job"),
    ("sigterm-runner", "job-runner: the end of the runner"),
];

/// Scenarios with a deliberately different report, and the reason.
const BETTER: [(&str, &str); 2] = [
    (
        "config-shell-sh",
        "scripts for sh run in dash, so the first job succeeds as the second one does",
    ),
    (
        "odd-variable-name",
        "a name that no shell can export is left out, with a warning",
    ),
];

/// Variables of the config call that are deliberately different, and the reason.
const OTHER_VARIABLES: [(&str, &str); 2] = [
    ("CUSTOM_ENV_CI_RUNNER_REVISION", "the program's own"),
    ("CUSTOM_ENV_CI_RUNNER_VERSION", "the program's own"),
];

/// Variables that the official runner does not set.
const MORE_VARIABLES: [&str; 1] = ["CUSTOM_ENV_CI_JOB_STARTED_AT"];

fn recorded() -> Value {
    serde_json::from_str(RECORDED).unwrap()
}

fn object(value: &Value) -> &Map<String, Value> {
    value.as_object().unwrap()
}

/// Replaces the names of places in a recorded text.
fn placed(text: &str, driver: &TestDriver, driver_tmp: &str) -> String {
    let root = driver.path().display().to_string();
    text.replace("{builds}", &format!("{root}/builds"))
        .replace("{work}", &root)
        .replace("{driver_tmp}", driver_tmp)
}

/// Returns the lines of sh that repeat a recorded call.
fn lines(action: &Value, exit: &Value) -> String {
    let mut lines = String::new();
    let quoted = |text: &str| format!("'{}'", text.replace('\'', r"'\''"));
    let empty = Map::new();
    let action = action.as_object().unwrap_or(&empty);
    if let Some(on_term) = action.get("on_term") {
        let handler = match on_term.as_str().unwrap() {
            "ignore" => "",
            code => code.strip_prefix("exit:").map(|_| "exit 2").unwrap(),
        };
        let _ = writeln!(lines, "trap '{handler}' TERM");
    } else if action.contains_key("sleep") {
        lines.push_str("trap 'exit 143' TERM\n");
    }
    for (stream, redirect) in [("stdout", ""), ("stderr", " >&2")] {
        if let Some(output) = action.get(stream) {
            let text = output
                .as_str()
                .map_or_else(|| output.to_string(), str::to_owned);
            let _ = writeln!(lines, "printf %s {}{redirect}", quoted(&text));
        }
    }
    if let Some(code) = action.get("exit_code_file") {
        let _ = writeln!(
            lines,
            "printf %s {} >\"$BUILD_EXIT_CODE_FILE\"",
            quoted(code.as_str().unwrap())
        );
    }
    if action.contains_key("hold_stdout") {
        lines.push_str("sleep 600 &\n");
    }
    if action.contains_key("signal_self") {
        lines.push_str("kill -9 $$\n");
    }
    if action.contains_key("sleep") {
        lines.push_str("while :; do sleep 600 & wait; done\n");
    }
    let _ = writeln!(lines, "exit {}", exit.as_i64().unwrap_or(0));
    lines
}

/// One recorded scenario, and what is planned for its calls.
struct Scenario<'a> {
    name: &'a str,
    recorded: &'a Map<String, Value>,
    job: &'a Value,
}

impl Scenario<'_> {
    fn calls(&self) -> Vec<&Map<String, Value>> {
        let calls = self.recorded["calls"].as_array().unwrap();
        calls.iter().map(object).collect()
    }

    fn driver(&self) -> TestDriver {
        let mut driver = TestDriver::new();
        let phases = self.recorded["phases"].as_array().unwrap();
        let config = &mut driver.config;
        for (phase, program) in [
            ("config", &mut config.config_exec),
            ("prepare", &mut config.prepare_exec),
            ("cleanup", &mut config.cleanup_exec),
        ] {
            if !phases.contains(&phase.into()) {
                program.clear();
            }
        }
        let run_exec = self.recorded["run_exec"].as_str().unwrap();
        if !run_exec.contains("{work}") {
            run_exec.clone_into(&mut config.run_exec);
        }
        // Seconds become halves: a call on a busy machine still has the time to note what it got.
        let limit = |key: &str| {
            self.recorded["limits"][key]
                .as_u64()
                .map(|it| Duration::from_millis(500 * it))
        };
        config.config_exec_timeout = limit("config_exec_timeout");
        config.prepare_exec_timeout = limit("prepare_exec_timeout");
        config.cleanup_exec_timeout = limit("cleanup_exec_timeout");
        config.graceful_kill_timeout = limit("graceful_kill_timeout");
        if self.recorded["names_builds_dir"] == false {
            driver.runner.builds_dir = None;
        }
        let mut times = BTreeMap::new();
        for call in self.calls() {
            let phase = call["phase"].as_str().unwrap();
            let stage = call.get("stage").and_then(Value::as_str);
            let name = stage.map_or_else(|| phase.to_owned(), |stage| format!("{phase}.{stage}"));
            let time = times.entry(name.clone()).or_insert(0_usize);
            let planned = stage.and_then(|stage| self.recorded["plan"].get(format!("run:{stage}")));
            let planned = planned.or_else(|| self.recorded["plan"].get(phase));
            let action = match planned {
                Some(Value::Array(list)) => list.get(*time).cloned().unwrap_or_default(),
                other => other.cloned().unwrap_or_default(),
            };
            // Its script is what sleeps.
            let action = if self.name == "cancel-graceful" && stage == Some("build_script") {
                json!({"stdout": "sleeping\n", "sleep": 60})
            } else {
                action
            };
            *time += 1;
            let mut lines = lines(&action, &call["exit"]);
            if action.get("report").is_some() && call["exit"] == 1 {
                lines = format!("echo 3 >\"$BUILD_EXIT_CODE_FILE\"\n{lines}");
            }
            let is_better = BETTER.iter().any(|(name, _)| *name == self.name);
            if is_better && stage.is_some() && planned.is_none() {
                "\"$4\"; exit".clone_into(&mut lines);
            }
            let lines = placed(&lines, &driver, "");
            driver.plan(&format!("{name}.{time}"), &lines);
        }
        driver
    }

    fn job(&self, number: usize) -> Job {
        let mut job: Job = serde_json::from_value(self.job.clone()).unwrap();
        let own = &self.recorded["jobs"][number];
        job.steps = serde_json::from_value::<Vec<Step>>(own["steps"].clone()).unwrap();
        let variables: Vec<JobVariable> = serde_json::from_value(own["variables"].clone()).unwrap();
        job.variables.extend(variables);
        job.cache = serde_json::from_value(own["cache"].clone()).unwrap();
        job.artifacts = serde_json::from_value(own["artifacts"].clone()).unwrap();
        job.dependencies = serde_json::from_value(own["dependencies"].clone()).unwrap();
        job.git_info.repo_url = "http://host.example/group/project.git".into();
        job
    }
}

/// Fails unless a call is the recorded one.
fn compare(
    scenario: &str,
    driver: &TestDriver,
    call: &Call,
    recorded: &Map<String, Value>,
    standard: &Value,
) {
    let what = format!("{scenario}: {}", call.name);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let phase = text(&recorded["phase"]);
    let name = recorded
        .get("stage")
        .map_or(phase.clone(), |stage| format!("{phase}.{}", text(stage)));
    assert_eq!(call.name, name, "{what}");
    let numbered = |text: &str| {
        let (before, rest) = text.split_once("/script").unwrap_or((text, ""));
        let rest = rest.trim_start_matches(|it: char| it.is_ascii_digit());
        if rest.is_empty() {
            before.to_owned()
        } else {
            format!("{before}/script{{n}}{rest}")
        }
    };
    let argv: Vec<_> = recorded["argv"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| placed(&text(it), driver, &call.cwd))
        .collect();
    let found: Vec<_> = call.argv.iter().map(|it| numbered(it)).collect();
    assert_eq!(found, argv, "{what}");
    let own = object(recorded.get("from_runner").unwrap_or(standard));
    for (name, value) in own {
        assert_eq!(
            call.environ[name],
            placed(&text(value), driver, &call.cwd),
            "{what}: {name}"
        );
    }
    for (name, value) in object(&recorded["job"]) {
        let value = text(value);
        // Deliberately different: an attempt knows nothing of the directories of an earlier one.
        if phase == "config" && name.ends_with("_DIR") {
            assert!(
                ["", ".tmp"].contains(&call.environ[name].as_str()),
                "{what}: {name}"
            );
            continue;
        }
        // Relative directories are made absolute: a script may start elsewhere.
        let value = if value.starts_with("rel-") {
            format!("{}/{value}", call.cwd)
        } else {
            placed(&value, driver, &call.cwd)
        };
        assert_eq!(call.environ[name], value, "{what}: {name}");
    }
    if let Some(script) = recorded.get("script") {
        let modes = [
            format!("0o{}", mode(call, "script1")),
            format!(
                "0o{}",
                mode(call, &format!("script1/{}", text(&script["name"])))
            ),
        ];
        assert_eq!(
            modes,
            [text(&script["dir_mode"]), text(&script["mode"])],
            "{what}"
        );
        assert_eq!(
            call.noted("script").lines().next(),
            script["first_line"].as_str(),
            "{what}"
        );
    }
    assert_eq!(
        format!("0o{}", mode(call, "response.json")),
        "0o600",
        "{what}"
    );
    assert_eq!(call.noted("umask").trim(), "0022", "{what}");
    let streams = call.noted("streams");
    let streams: Vec<_> = streams.lines().collect();
    assert_eq!(streams[0], "/dev/null", "{what}");
    assert!(
        streams[1].starts_with("pipe:") && streams[2].starts_with("pipe:"),
        "{what}"
    );
    assert_ne!(streams[1], streams[2], "{what}");
    let group = call.noted("group");
    let group: Vec<_> = group.lines().collect();
    assert_eq!(group[0], group[1], "{what}: it leads its group");
}

fn mode<'c>(call: &'c Call, path: &str) -> &'c str {
    let file = call
        .files
        .iter()
        .find_map(|line| line.strip_prefix(path)?.strip_prefix(' '));
    file.unwrap_or_else(|| panic!("no {path} in {:?}", call.files))
}

async fn replay(recorded: &Value, scenario: &Scenario<'_>) {
    let driver = scenario.driver();
    let calls = scenario.calls();
    let reports = scenario.recorded["reported"].as_array().unwrap();
    let is_canceled = scenario.name.contains("cancel");
    for (number, report) in reports.iter().enumerate() {
        let stop = async {
            if is_canceled {
                let ready = if scenario.name == "prepare-cancel" {
                    "preparing"
                } else {
                    "sleeping"
                };
                driver
                    .observer
                    .output()
                    .wait_for(TraceStream::STDOUT, ready)
                    .await;
                driver.cancellation.cancel(CancelCause::User);
            }
        };
        let (outcome, ()) = tokio::join!(driver.run(scenario.job(number)), stop);
        let log = driver.log();
        let exit_code = outcome.exit_code().map(|it| it.0).filter(|code| *code != 0);
        let mut found = Map::new();
        found.insert(
            "state".to_owned(),
            if outcome.error.is_some() {
                "failed"
            } else {
                "success"
            }
            .into(),
        );
        if let Some(reason) = outcome.failure_reason() {
            // The server calls a cancelled job one that failed for an unknown reason.
            let reason = if reason.as_str() == "job_canceled" {
                "unknown_failure"
            } else {
                reason.as_str()
            };
            found.insert("failure_reason".to_owned(), reason.into());
        }
        if let Some(code) = exit_code {
            found.insert("exit_code".to_owned(), code.into());
        }
        if BETTER.iter().any(|(name, _)| *name == scenario.name) {
            assert_eq!(found["state"], "success", "{}: {log}", scenario.name);
        } else {
            assert_eq!(&found, object(report), "{}: {log}", scenario.name);
        }
    }
    driver.assert_nothing_left();
    if BETTER.iter().any(|(name, _)| *name == scenario.name) {
        return;
    }
    let made = driver.calls();
    let names = |calls: &[Call]| calls.iter().map(|it| it.name.clone()).collect::<Vec<_>>();
    assert_eq!(
        made.len(),
        calls.len(),
        "{}: {:?}\n{}",
        scenario.name,
        names(&made),
        driver.log()
    );
    for (call, recorded_call) in made.iter().zip(calls) {
        compare(
            scenario.name,
            &driver,
            call,
            recorded_call,
            &recorded["from_runner"],
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn recorded_scenarios_are_repeated() {
    // R-EXEC-102
    let recorded = recorded();
    let all = recorded["scenarios"].as_array().unwrap();
    let mut count = 0;
    for one in all.iter().map(object) {
        let name = one["name"].as_str().unwrap();
        if let Some((_, place)) = ELSEWHERE.iter().find(|(it, _)| *it == name) {
            println!("not here: {name} ({place})");
            continue;
        }
        let scenario = Scenario {
            name,
            recorded: one,
            job: &recorded["job"],
        };
        replay(&recorded, &scenario).await;
        count += 1;
    }
    for (name, why) in BETTER.iter().chain(&OTHER_VARIABLES) {
        println!("deliberately different: {name}: {why}");
    }
    assert_eq!(count, all.len() - ELSEWHERE.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn first_call_gets_the_recorded_variables_and_job() {
    let recorded = recorded();
    let all = recorded["scenarios"].as_array().unwrap();
    let full = all
        .iter()
        .map(object)
        .find(|it| it["name"] == "full-success")
        .unwrap();
    let scenario = Scenario {
        name: "full-success",
        recorded: full,
        job: &recorded["job"],
    };
    let driver = scenario.driver();
    driver.run(scenario.job(0)).await;
    let call = &driver.calls()[0];
    let expect = object(&full["calls"][0]["all_of_job"]);
    for (name, value) in expect {
        let found = call
            .environ
            .get(name)
            .unwrap_or_else(|| panic!("{name} is missing"));
        if !OTHER_VARIABLES.iter().any(|(other, _)| other == name) {
            assert_eq!(found, value.as_str().unwrap(), "{name}");
        }
    }
    for flag in shells::ScriptOptions::FEATURE_FLAGS {
        // Of the recorded flags only these are left.
        assert_eq!(call.environ[&format!("CUSTOM_ENV_{flag}")], "false");
    }
    let more: Vec<_> = call
        .environ
        .keys()
        .filter(|name| name.starts_with("CUSTOM_ENV_") && !expect.contains_key(*name))
        .filter(|name| !name.starts_with("CUSTOM_ENV_FF_"))
        .collect();
    let unexpected: Vec<_> = more
        .into_iter()
        .filter(|name| !MORE_VARIABLES.contains(&name.as_str()))
        .collect();
    assert_eq!(unexpected, Vec::<&String>::new());

    let response: Value = serde_json::from_str(&call.noted("response")).unwrap();
    let keys = object(&response).keys();
    let recorded_keys = &full["calls"][0]["response"]["top_level_keys"];
    let recorded_keys = recorded_keys
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it.as_str().unwrap());
    assert_eq!(keys.collect::<Vec<_>>(), recorded_keys.collect::<Vec<_>>());
    let differences = object(&full["calls"][0]["response"]["against_the_payload_served"]);
    for (path, difference) in differences {
        let difference = difference.as_str().unwrap();
        let pointer = format!("/{}", path.replace(['.', '['], "/").replace(']', ""));
        let found = response.pointer(&pointer);
        if difference.starts_with("missing") {
            assert!(
                found.is_none_or(Value::is_null),
                "{path}: {found:?}, recorded: {difference}"
            );
        } else if let Some(added) = difference.strip_prefix("added: ") {
            let added: Value = serde_json::from_str(added).unwrap();
            let same = found == Some(&added)
                || (added.is_null() && found.is_none_or(|it| it.is_null() || it == &json!([])));
            assert!(same, "{path}: {found:?}, recorded: {difference}");
        }
    }
}
