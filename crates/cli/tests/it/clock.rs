//! The system clock is changed while jobs run.
//!
//! A library from the package `faketime` gives the binary a wall clock that differs from the machine's; elapsed time is
//! unchanged. Each job sets the clock itself.

use crate::project::{Done, Project};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The paths at which Debian and other distributions install the library, by architecture.
fn library() -> Option<PathBuf> {
    let name = format!(
        "/usr/lib/{}-linux-gnu/faketime/libfaketimeMT.so.1",
        std::env::consts::ARCH
    );
    let places = [
        PathBuf::from(name),
        "/usr/lib/faketime/libfaketimeMT.so.1".into(),
    ];
    let found = places.into_iter().find(|path| path.exists());
    if found.is_none() {
        executor_testkit::not_tested("a clock that is set", "faketime is missing");
    }
    found
}

/// Runs a pipeline whose jobs set the clock by writing seconds into `$CLOCK`, and find the logs below `$STATE`.
fn run(project: &Project, library: &Path) -> Done {
    let clock = project.scratch().join("clock");
    std::fs::write(&clock, "+0").unwrap();
    let clock_is = format!("CLOCK={}", clock.display());
    let state_is = format!("STATE={}", project.home().display());
    let output = project
        .command(&["run", "--timeout", "10 minutes"])
        .args(["--variable", &clock_is, "--variable", &state_is])
        .env("LD_PRELOAD", library)
        .env("FAKETIME_TIMESTAMP_FILE", &clock)
        .env("FAKETIME_NO_CACHE", "1")
        .env("FAKETIME_DONT_FAKE_MONOTONIC", "1")
        .output();
    output.unwrap().into()
}

/// Returns the time stamps of the job's log by stream, in the order of its lines.
fn stamps(project: &Project) -> BTreeMap<String, Vec<String>> {
    let mut streams = BTreeMap::<String, Vec<String>>::new();
    for line in String::from_utf8(project.only_log()).unwrap().lines() {
        let (stamp, rest) = line.split_once(' ').unwrap();
        let stream = rest.split(' ').next().unwrap().to_owned();
        streams.entry(stream).or_default().push(stamp.to_owned());
    }
    streams
}

#[test]
fn stamps_never_decrease_and_no_timeout_fires_early() {
    // fault 20
    let Some(library) = library() else { return };
    let project = Project::with_pipeline(
        r#"job:
  timeout: 5 minutes
  script:
    - kept() { until grep -rq " $1\$" $STATE/projects; do sleep 0.01; done; }
    - echo no''w; kept no''w
    - echo +7200 >$CLOCK
    - echo la''ter; kept la''ter
    - echo -7200 >$CLOCK
    - echo ear''lier
"#,
    );
    let done = run(&project, &library).expect_code(0);
    let stamps = stamps(&project);
    assert!(stamps.values().all(|it| it.is_sorted()), "{stamps:?}");
    let hour = |stamp: &String| stamp["2026-11-20T".len()..][..2].to_owned();
    let hours: BTreeSet<_> = stamps["01O"]
        .iter()
        .chain(&stamps["00O"])
        .map(hour)
        .collect();
    assert!(hours.len() > 1, "the clock was not set: {stamps:?}");
    // The run did not last two hours, and must not report that it did.
    assert!((0.0..7000.0).contains(&done.seconds()), "{done:?}");
}

#[test]
fn timeout_fires_after_the_clock_was_set_back() {
    // fault 20
    let Some(library) = library() else { return };
    let project = Project::with_pipeline(
        "job:
  timeout: 2 seconds
  script:
    - echo -7200 >$CLOCK
    - sleep 600
",
    );
    run(&project, &library)
        .expect_code(1)
        .expect_text("took longer than 2s");
}
