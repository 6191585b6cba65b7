//! Recordings of official runners: our server answers as the recorded one did, and a repeated recording equals itself.

use crate::replay::Replay;
use gitlab_testkit::wire::{Recording, Values};
use gitlab_testkit::{Call, Endpoint, JobServer};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

/// Returns a recording; `None` on a machine without recordings.
fn load(name: &str) -> Option<Recording> {
    let folder = Recording::folder()?;
    Some(Recording::load(folder.join(format!("{name}.json"))))
}

fn replay(recording: &Recording) -> (Vec<Call>, Vec<String>) {
    let server = JobServer::start();
    let mut replay = Replay::new(&server, recording);
    let requests = recording.json()["requests"].as_array();
    replay.run(requests.expect("a recording with jobs"));
    let problems = replay.problems;
    (server.calls(), problems)
}

fn kinds(recording: &Recording, calls: &[Call]) -> Vec<String> {
    let all = recording.compare(calls).into_iter();
    all.map(|difference| difference.kind).collect()
}

#[test]
fn repeated_recording_equals_itself() {
    for name in [
        "success",
        "trace-416",
        "cancel-graceful-listed",
        "artifacts-upload",
    ] {
        let Some(recording) = load(name) else { return };
        let (calls, problems) = replay(&recording);
        assert_eq!(problems, Vec::<String>::new(), "{name}");
        assert_eq!(recording.compare(&calls), [], "{name}");
    }
}

#[test]
fn server_answers_every_recording_as_recorded() {
    let Some(folder) = Recording::folder() else {
        return;
    };
    let files = fs::read_dir(folder).unwrap();
    let paths: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    let threads = thread::scope(|scope| {
        let chunks = paths.chunks(paths.len().div_ceil(4));
        let threads: Vec<_> = chunks
            .map(|chunk| scope.spawn(|| chunk.iter().flat_map(|path| problems(path)).collect()))
            .collect();
        let results = threads.into_iter().map(|thread| thread.join().unwrap());
        results.collect::<Vec<Vec<String>>>()
    });
    let found = threads.concat();
    assert_eq!(found, Vec::<String>::new());
}

/// Returns the answers that differ from those of a recording, and the differences that the comparison finds.
fn problems(path: &Path) -> Vec<String> {
    if path.extension().is_none_or(|it| it != "json") {
        return Vec::new();
    }
    let recording = Recording::load(path);
    let rules = recording.json()["server"]["rules"].as_array();
    let mut rules = rules.into_iter().flatten();
    let is_slow = rules.any(|rule| rule.get("delay").is_some());
    if is_slow || recording.json().get("requests").is_none() {
        return Vec::new();
    }
    let (calls, problems) = replay(&recording);
    let differences = recording.compare(&calls);
    let all = problems
        .into_iter()
        .chain(differences.iter().map(ToString::to_string));
    all.map(|it| format!("{}: {it}", recording.name()))
        .collect()
}

#[test]
fn commands_are_repeated_step_by_step() {
    for name in [
        "cli-register-new",
        "cli-reset-token",
        "cli-unregister",
        "cli-verify",
    ] {
        let Some(recording) = load(name) else { return };
        for (index, step) in recording.steps().into_iter().enumerate() {
            let server = JobServer::start();
            let mut replay = Replay::new(&server, &recording);
            for rule in step.rules {
                server.rule(rule);
            }
            replay.run(step.json["requests"].as_array().unwrap());
            assert_eq!(replay.problems, Vec::<String>::new(), "{name} {index}");
            assert_eq!(
                recording.compare_step(index, &server.calls()),
                [],
                "{name} {index}"
            );
        }
    }
}

#[test]
fn differences_are_named() {
    let Some(recording) = load("success") else {
        return;
    };
    let (calls, _) = replay(&recording);
    let without = |endpoint: Endpoint| -> Vec<Call> {
        calls
            .iter()
            .filter(|call| call.endpoint != endpoint)
            .cloned()
            .collect()
    };
    assert_eq!(
        kinds(&recording, &without(Endpoint::UpdateRunning)),
        ["missing update_running 200"]
    );

    let change = |endpoint: Endpoint, change: &dyn Fn(&mut Call)| {
        let mut calls = calls.clone();
        calls
            .iter_mut()
            .filter(|call| call.endpoint == endpoint)
            .for_each(change);
        kinds(&recording, &calls)
    };
    let set = |name: &'static str, value: Value| {
        move |call: &mut Call| call.json.as_mut().unwrap()[name] = value.clone()
    };
    let found = change(Endpoint::UpdateFinal, &set("exit_code", 1.into()));
    assert_eq!(found, ["update_final: body exit_code"]);
    let found = change(Endpoint::UpdateFinal, &set("state", "failed".into()));
    assert_eq!(found, ["update_final: body state"]);
    let found = change(Endpoint::Request, &set("last_update", Value::Null));
    assert_eq!(found, ["request: body last_update"]);
    let found = change(Endpoint::Trace, &|call| {
        call.request.headers.retain(|(name, _)| name != "job-token");
        call.request.query.clear();
        call.range_check.as_mut().unwrap().first_is_stored_size = false;
    });
    let expect = [
        "trace: query debug_trace",
        "trace: header job-token",
        "range_check: first_is_stored_size",
    ];
    assert_eq!(found, expect);
    let found = change(Endpoint::UpdateRunning, &|call| {
        call.json.as_mut().unwrap()["info"]["features"]["proxy"] = true.into();
    });
    assert_eq!(found, ["info: feature features.proxy"]);
    let twice = kinds(&recording, &[calls.clone(), calls.clone()].concat());
    let expect = [
        "request 201",
        "update_running 200",
        "trace 202",
        "update_final 200",
    ];
    assert_eq!(twice, expect.map(|call| format!("extra {call}")));
}

#[test]
fn recorded_job_has_a_commit_of_the_repository() {
    let Some(recording) = load("success") else {
        return;
    };
    let server = JobServer::start();
    let values = Values::of(&server).set("builds", "/builds");
    recording.serve(&server, &values, |_| ());
    let job = crate::runner::request(&server).json();
    let project = server.project("group/project");
    let head = project.commit_of("main").unwrap();
    assert_eq!(job["git_info"]["sha"], head.as_str());
    assert_eq!(project.commit_of("refs/pipelines/900"), Some(head));
    let url = format!(
        "http://gitlab-ci-token:glcbt-64_jobToken0101@{}/group/project.git",
        server.address()
    );
    assert_eq!(job["git_info"]["repo_url"], url.as_str());
    let folder = tempfile::tempdir().unwrap();
    assert!(crate::job_git::clone(&url, &folder.path().join("a")));
    let text = fs::read_to_string(folder.path().join("a/sub/README.md")).unwrap();
    assert_eq!(text, "# sub\n");
    assert_eq!(
        recording.settings(&values)["runners"][0]["builds_dir"],
        "/builds"
    );
}
