//! The same jobs and the same server as in recordings of an official runner.

use crate::bench::{Bench, PATIENCE};
use executor_core::CancelCause;
use gitlab_testkit::wire::{Recording, Values};
use runner::config::{ConfigFile, Known, KnownExecutor, Settings};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

/// The differences on purpose, for each recording: `NAME` and then its kinds of differences, indented. Those of `*` may be
/// anywhere and are not always there: they depend on the time that a job takes.
const EXPECTED: &str = include_str!("fixtures/differences.txt");

/// Recordings that this test leaves out.
const LEFT_OUT: [(&str, &str); 8] = [
    ("check-interval-default", "no job"),
    ("request-403", "pauses of minutes"),
    ("request-502", "no job"),
    ("request-dropped-always", "no job"),
    ("request-html", "no job"),
    ("request-idle", "no job"),
    ("run-single", "a command of its own"),
    ("token-rotation", "a command of its own"),
];

/// The number of runners at a time.
const AT_A_TIME: usize = 16;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn wire_is_that_of_the_recordings() {
    // Some differences depend on the speed of the machine.
    if std::env::var_os("RUNWRIGHT_TEST_RECORDINGS").is_none() {
        eprintln!("NOT TESTED: set RUNWRIGHT_TEST_RECORDINGS=1");
        return;
    }
    let Some(folder) = Recording::folder() else {
        eprintln!("NOT TESTED: there are no recordings");
        return;
    };
    let only = std::env::var("RUNWRIGHT_RECORDING").ok();
    let places = Arc::new(Semaphore::new(AT_A_TIME));
    let mut tests = JoinSet::new();
    let files = std::fs::read_dir(folder).expect("the recordings").flatten();
    for file in files
        .map(|it| it.path())
        .filter(|it| it.extension().is_some_and(|it| it == "json"))
    {
        let recording = Recording::load(&file);
        let name = recording.name().to_owned();
        let is_left_out = LEFT_OUT.iter().any(|(known, _)| *known == name);
        let is_meant = only.as_ref().is_none_or(|only| *only == name);
        if recording.executor() != "shell" || is_left_out || name.starts_with("cli-") || !is_meant {
            continue;
        }
        let places = Arc::clone(&places);
        tests.spawn(async move {
            let _place = places.acquire_owned().await.expect("it stays open");
            (name, differences(&recording).await)
        });
    }
    let mut found = BTreeMap::new();
    while let Some(done) = tests.join_next().await {
        let (name, differences) = done.expect("no panic");
        found.insert(name, differences);
    }
    let mut text = String::new();
    for (name, differences) in &found {
        let _ = writeln!(text, "{name}");
        for kind in differences.keys() {
            let _ = writeln!(text, "  {kind}");
        }
    }
    if let Ok(file) = std::env::var("RUNWRIGHT_DIFFERENCES") {
        std::fs::write(file, &text).expect("written");
        return;
    }
    let expected = read(EXPECTED);
    for (name, differences) in &found {
        let none = BTreeSet::new();
        let often = expected.get("*").unwrap_or(&none);
        let expected = expected.get(name.as_str()).unwrap_or(&none);
        for (kind, text) in differences {
            let is_meant = expected.contains(kind.as_str()) || often.contains(kind.as_str());
            assert!(is_meant, "{name}: {kind}: {text}");
        }
    }
}

fn read(text: &str) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut all: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut name = "";
    for line in text.lines().filter(|it| !it.starts_with('#')) {
        match line.strip_prefix("  ") {
            Some(kind) => {
                all.entry(name).or_default().insert(kind);
            }
            None => name = line,
        }
    }
    all
}

/// Runs the jobs of a recording, and returns the differences by their kind.
async fn differences(recording: &Recording) -> BTreeMap<String, String> {
    let mut bench = Bench::new();
    let inside = |name: &str| bench.dir.path().join(name).display().to_string();
    let values = Values::of(&bench.server)
        .set("builds", &inside("builds"))
        .set("cache", &inside("cache"));
    bench.settings = settings(&recording.settings(&values), &bench.server.url());
    let runner = bench.start();
    let stop = runner.stop.clone();
    recording.serve(&bench.server, &values, move |signal| match signal {
        "SIGQUIT" => stop.cancel(CancelCause::Shutdown),
        "SIGTERM" | "SIGINT" => stop.abort(CancelCause::Shutdown),
        _ => {}
    });
    let jobs = recording.jobs(&values);
    let ends: Vec<u64> = jobs
        .iter()
        .filter(|it| has_end(recording, it))
        .filter_map(|it| it["id"].as_u64())
        .collect();
    let all = jobs
        .iter()
        .filter_map(|it| it["id"].as_u64())
        .collect::<Vec<_>>();
    let came = bench.server.wait_until_async(PATIENCE * 2, |state| {
        all.iter().all(|id| state.hand_outs(*id) > 0)
            && ends.iter().all(|id| state.final_update(*id).is_some())
    });
    let came = came.await;
    if ends.is_empty() {
        // Whatever else is sent of a job without an end.
        tokio::time::sleep(Duration::from_secs(3)).await;
    }
    runner.stop.cancel(CancelCause::Shutdown);
    runner.ended().await;
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    if !came {
        found.insert("no end".to_owned(), format!("of {ends:?}"));
    }
    for difference in recording.compare(&bench.server.calls()) {
        found.insert(difference.kind.clone(), difference.to_string());
    }
    if std::env::var_os("RUNWRIGHT_RECORDING").is_some() {
        for id in all {
            let _ = std::io::Write::write_all(&mut std::io::stderr(), &bench.server.trace(id));
        }
    }
    for violation in bench.server.violations() {
        found.insert("violation".to_owned(), violation);
    }
    found
}

/// Returns whether the server takes an end of this job in the recording.
fn has_end(recording: &Recording, job: &Value) -> bool {
    let results = recording.json()["results"].as_array().into_iter().flatten();
    let mut results = results.filter(|it| it["job"] == job["id"]);
    results.next().is_some_and(|it| !it["reported"].is_null())
}

/// Returns the settings of a recorded runner, by way of a `config.toml`.
fn settings(recorded: &Value, url: &str) -> Settings {
    let mut document = toml_edit::DocumentMut::new();
    let global: toml_edit::DocumentMut =
        toml_edit::ser::to_document(&recorded["global"]).expect("settings");
    document.extend(
        global
            .iter()
            .map(|(key, item)| (key.to_owned(), item.clone())),
    );
    let mut runners = toml_edit::ArrayOfTables::new();
    let recorded = recorded["runners"].as_array().expect("runners");
    for runner in recorded {
        let mut table: toml_edit::DocumentMut =
            toml_edit::ser::to_document(runner).expect("a runner");
        table["url"] = toml_edit::value(url);
        runners.push(table.as_table().clone());
    }
    document["runners"] = toml_edit::Item::ArrayOfTables(runners);
    let known = Known {
        executors: vec![KnownExecutor {
            name: "shell",
            tables: &[],
        }],
        ..Known::default()
    };
    let file = ConfigFile::parse(Path::new("config.toml"), &document.to_string(), &known);
    let (settings, _) = file.expect("TOML").into_settings().expect("settings");
    settings
}
