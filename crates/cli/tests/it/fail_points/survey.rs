//! Where the fail points are, and what an undisturbed run stores.

use super::scenario::{SCENARIOS, Scenario};
use super::scenario_project::ScenarioProject;
use crate::project::Done;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// The result of playing every scenario once.
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
    /// When no scenario reaches a point, since its failure would be untested.
    pub(super) fn of(project: &ScenarioProject) -> Self {
        let mut all = BTreeSet::new();
        let mut points = BTreeMap::new();
        let mut logs = BTreeMap::new();
        for scenario in SCENARIOS {
            let record = project
                .project
                .scratch()
                .join(format!("record-{scenario:?}"));
            project.set(scenario);
            let done = Done::from(project.play(scenario, &format!("record {}", record.display())));
            assert_eq!(done.code, Some(0), "{done:?}");
            if scenario == Scenario::Copies {
                logs = project.logs();
            }
            let mut visits: BTreeMap<String, usize> = BTreeMap::new();
            for line in fs::read_to_string(record).unwrap().lines() {
                match line.split_once(' ').unwrap() {
                    // The crate's own tests walk these points without a server. The file that `config init` writes is
                    // all comments, so a part of it has the same meaning.
                    (_, name)
                        if [
                            "includes::store::",
                            "includes::vendored::",
                            "workstation::settings::",
                            // The next command restores a hook that was moved aside, which the tests of `hook` show. An
                            // empty first pipeline file counts as absent.
                            "workstation::hook::",
                            "cli::init::",
                            // Shells need a terminal: the tests of `shell` kill the program while a shell is open.
                            "executor_shell::session_files::",
                            "executor_shell::stage_files::write_missing",
                            "workstation::session::",
                            // A list of times is rewritten only when it is long or torn; the tests of its crate tear
                            // it.
                            "workstation::durations::repair",
                            "workstation::durations::publish",
                            "workstation::durations::write",
                            // Containers need an engine, which this walk does not have. The tests of their crate kill
                            // the runner, the transport, the daemon and the container, and look for leftovers.
                            "executor_docker::",
                            "job_runner::staging::send",
                            // The walk has no host to log in to; a test of that crate kills a program at each point.
                            "executor_ssh::",
                            // Only jobs in containers are resumed, and receive their sources early.
                            "job_runner::early::",
                            "workstation::supervision::remove_left",
                            // The client of an agent in a container, and the agent itself, a separate program that is
                            // not part of a run.
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
