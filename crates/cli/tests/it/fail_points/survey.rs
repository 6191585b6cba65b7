//! Where the points are, and what an undisturbed run keeps.

use super::scenario::{SCENARIOS, Scenario};
use super::stage::Stage;
use crate::project::Done;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// What is learnt from playing every scenario once.
#[derive(Debug)]
pub(super) struct Survey {
    /// The scenario that reaches a point, and how often.
    pub(super) points: BTreeMap<String, (Scenario, usize)>,
    /// The whole logs of the jobs of [`Scenario::Copies`], by file name.
    pub(super) logs: BTreeMap<String, String>,
}

impl Survey {
    /// Plays all scenarios.
    ///
    /// # Panics
    ///
    /// When there is a point that no scenario reaches: nobody has seen it fail.
    pub(super) fn of(stage: &Stage) -> Self {
        let mut all = BTreeSet::new();
        let mut points = BTreeMap::new();
        let mut logs = BTreeMap::new();
        for scenario in SCENARIOS {
            let record = stage.project.scratch().join(format!("record-{scenario:?}"));
            stage.set(scenario);
            let done = Done::from(stage.play(scenario, &format!("record {}", record.display())));
            assert_eq!(done.code, Some(0), "{done:?}");
            if scenario == Scenario::Copies {
                logs = stage.logs();
            }
            let mut visits: BTreeMap<String, usize> = BTreeMap::new();
            for line in fs::read_to_string(record).unwrap().lines() {
                match line.split_once(' ').unwrap() {
                    // The crate's own tests walk them, without a server. What `config init` writes is all
                    // comments, so a part of it says the same.
                    (_, name)
                        if [
                            "includes::store::",
                            "includes::vendored::",
                            "runwright::settings::",
                            // A hook that was moved aside is given back by the next command, which
                            // its tests show; a first pipeline file that stayed empty is none.
                            "runwright::hook::",
                            "cli::init::",
                            // Shells need a terminal: the tests of `shell` kill the program while one
                            // is open.
                            "executor_shell::session_files::",
                            "executor_shell::stage_files::write_missing",
                            "runwright::session::",
                            // A list of times is written anew only when it has grown long, or was
                            // torn; its crate's tests tear it.
                            "runwright::durations::mend",
                            "runwright::durations::publish",
                            "runwright::durations::write",
                            // Containers need an engine, which this walk has not: their crate's tests
                            // kill the runner, the way, the daemon and the container, and look for what
                            // is left.
                            "executor_docker::",
                            "job_runner::staging::send",
                            // Only jobs in containers are noted, to be gone on with, and have their
                            // sources early.
                            "job_runner::notes::",
                            "job_runner::early::",
                            "runwright::supervision::remove_left",
                            // The client of an agent, which is in containers; and the agent itself, a
                            // program of its own that is no part of a run.
                            "steps::",
                        ]
                        .iter()
                        .any(|module| name.starts_with(module)) => {}
                    ("point", name) => drop(all.insert(name.to_owned())),
                    (_, name) => *visits.entry(name.to_owned()).or_default() += 1,
                }
            }
            for (name, visits) in visits {
                points.entry(name).or_insert((scenario, visits));
            }
        }
        let missed: Vec<_> = all.iter().filter(|it| !points.contains_key(*it)).collect();
        assert!(missed.is_empty(), "no scenario reaches {missed:?}");
        assert!(points.len() > 30, "only {points:?}");
        assert_eq!(logs.len(), 2, "{logs:?}");
        Self { points, logs }
    }
}
