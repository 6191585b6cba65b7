//! The ways in which points are reached.

#![expect(
    clippy::disallowed_methods,
    reason = "the tests drive the binary from outside"
)]

use super::cell::Cell;
use crate::project::{Done, Project, files_below, processes_with};
use fail_point::VARIABLE;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Jobs with all that reaches outside: artifacts, reports, caches, an environment, background
/// processes, a read-only directory. Each job writes a line to `COUNT` at the end of its script.
const PIPELINE: &str = "
stages: [first, second]
make:
  stage: first
  resource_group: one
  environment: {name: test}
  cache: {key: kept, paths: [store]}
  script:
    - setsid nohup sleep 600 >/dev/null 2>&1 &
    - mkdir -p out/deep store && echo made >out/deep/file && cp out/deep/file store/file && ln -sf file store/link
    - ln -s deep/file out/link
    - echo VERSION=1 >build.env
    - mkdir kept && chmod 500 kept
    - echo make >>COUNT
  after_script: [echo after]
  artifacts: {paths: [out], reports: {dotenv: build.env}}
use:
  stage: second
  resource_group: one
  cache: {key: kept, paths: [store], policy: pull}
  script: [cat out/link, 'echo version $VERSION', echo use >>COUNT]
wait:
  stage: first
  when: manual
  script: [echo waiting, 'setsid sleep 600 &', sleep 600]
probe:
  stage: first
  when: manual
  script: [echo probed]
";

/// So many ended pipelines make the next run remove some.
const OLD_PIPELINES: u64 = 11;

/// What was done before, and what is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Scenario {
    /// A whole run in copies of the tree.
    Copies,
    /// A run in the tree itself.
    InPlace,
    /// Two jobs on overlays.
    Overlays,
    /// A run in a Git worktree.
    Worktree,
    /// A run after another that was killed together with its guardian, in the middle of a job.
    AfterDeath,
}

pub(super) const SCENARIOS: [Scenario; 5] = [
    Scenario::Copies,
    Scenario::InPlace,
    Scenario::Overlays,
    Scenario::Worktree,
    Scenario::AfterDeath,
];

/// A project with a cell for its processes.
#[derive(Debug)]
pub(super) struct Stage {
    pub(super) project: Project,
    pub(super) cell: Cell,
}

impl Stage {
    /// Makes a project; `None` where no cgroup can be made.
    pub(super) fn new() -> Option<Self> {
        let cell = Cell::new()?;
        let project = Project::empty_directory();
        let count = project.scratch().join("count").display().to_string();
        project.write(".gitlab-ci.yml", &PIPELINE.replace("COUNT", &count));
        project.git(&["init", "-q", "-b", "main"]);
        project.commit();
        let stage = Self { project, cell };
        stage.next_start("at the very first");
        Some(stage)
    }

    /// Makes a home as it is after some use, and lets happen what comes before the scenario.
    pub(super) fn set(&self, scenario: Scenario) {
        let state = self.state();
        let _ = fs::remove_dir_all(&state);
        let _ = fs::remove_file(self.count());
        for id in 1..=OLD_PIPELINES {
            fs::create_dir_all(state.join("pipelines").join(id.to_string())).unwrap();
        }
        fs::write(state.join("last-pipeline"), OLD_PIPELINES.to_string()).unwrap();
        if scenario == Scenario::AfterDeath {
            self.die();
        }
    }

    fn state(&self) -> PathBuf {
        let projects = fs::read_dir(self.project.home().join("projects")).unwrap();
        let only = projects.map(|entry| entry.unwrap().path()).next();
        only.expect("the project is known since its first run")
    }

    fn count(&self) -> PathBuf {
        self.project.scratch().join("count")
    }

    /// Returns how often a job has come to the end of its script.
    fn times(&self, job: &str) -> usize {
        let lines = fs::read_to_string(self.count()).unwrap_or_default();
        lines.lines().filter(|line| *line == job).count()
    }

    /// Returns whether the journal of the run that was played says that a job has finished.
    ///
    /// # Panics
    ///
    /// When a line of the journal that has an end cannot be read.
    fn has_finished(&self, job: &str) -> bool {
        let run = format!("pipelines/{}/journal.jsonl", OLD_PIPELINES + 1);
        let journal = fs::read_to_string(self.state().join(run)).unwrap_or_default();
        // What has no end was being written, and is no line.
        let lines = journal
            .split_inclusive('\n')
            .filter(|line| line.ends_with('\n'));
        let mut lines = lines.map(|line| serde_json::from_str(line).expect("a line is JSON"));
        lines.any(|line: Value| line["type"] == "job_finished" && line["job"] == job)
    }

    /// Goes on with the run that was played and killed, which ends well and runs no finished job again.
    pub(super) fn resume(&self, when: &str) {
        let jobs = ["make", "use"];
        let before = jobs.map(|job| (job, self.has_finished(job), self.times(job)));
        let run = (OLD_PIPELINES + 1).to_string();
        let output = self.command(&["resume", &run], "").output().unwrap();
        let done = Done::from(output);
        for (job, has_finished, times) in before {
            let now = self.times(job);
            if has_finished {
                assert_eq!((times, now), (1, 1), "{job} {when}: {done:?}");
            } else if done.code == Some(0) {
                assert!(now >= 1, "{job} {when}: {done:?}");
            }
        }
        // Before there is a run, and after it has ended, there is nothing to go on with.
        let is_over = before.iter().all(|(_, has_finished, _)| *has_finished);
        let has_not_begun = before.iter().all(|(_, _, times)| *times == 0);
        let is_right = match done.code {
            Some(0) => true,
            Some(2) => is_over || has_not_begun,
            _ => false,
        };
        assert!(is_right, "{when}: {before:?} {done:?}");
    }

    /// Kills a run in the middle of a job, while its guardian is not there yet.
    fn die(&self) {
        let pipe = self.project.scratch().join("never");
        if !pipe.exists() {
            assert!(
                Command::new("mkfifo")
                    .arg(&pipe)
                    .status()
                    .unwrap()
                    .success()
            );
        }
        let what = format!("pause before process::guardian::start {}", pipe.display());
        let out = fs::File::create(self.project.scratch().join("out")).unwrap();
        let mut command = self.command(&["run", "wait", "--snapshot", "overlay"], &what);
        let mut run = command.stdout(out).stderr(Stdio::null()).spawn().unwrap();
        self.project.wait_for("wait | waiting");
        run.kill().unwrap();
        run.wait().unwrap();
        assert!(!self.cell.processes().is_empty(), "the job lives on");
    }

    fn command(&self, arguments: &[&str], what: &str) -> Command {
        let mut command = self.cell.around(&self.project.command(arguments));
        if !what.is_empty() {
            command.env(VARIABLE, what);
        }
        command
    }

    /// Plays the scenario while something happens at a point.
    pub(super) fn play(&self, scenario: Scenario, what: &str) -> std::process::Output {
        let report = self.project.scratch().join("report.json");
        let report = report.display().to_string();
        let arguments: &[&str] = match scenario {
            Scenario::Copies => &["run", "--report", &report],
            Scenario::InPlace => &["run", "--in-place", "probe"],
            Scenario::Overlays => &["run", "--snapshot", "overlay"],
            Scenario::Worktree => &["run", "--isolation", "worktree", "probe"],
            Scenario::AfterDeath => &["run", "probe"],
        };
        self.command(arguments, what).output().unwrap()
    }

    /// Runs something small, as somebody would who knows nothing of what happened.
    pub(super) fn next_start(&self, when: &str) {
        for arguments in [&["run", "probe"][..], &["run", "--in-place", "probe"]] {
            let done: Done = self.command(arguments, "").output().unwrap().into();
            assert_eq!(done.code, Some(0), "{arguments:?} {when}: {done:?}");
        }
    }

    /// Returns the logs of the run that was played, without what differs from run to run.
    pub(super) fn logs(&self) -> BTreeMap<String, String> {
        let logs = self
            .state()
            .join(format!("pipelines/{}/logs", OLD_PIPELINES + 1));
        let entries = fs::read_dir(logs).into_iter().flatten();
        let read = |entry: std::io::Result<fs::DirEntry>| {
            let path = entry.unwrap().path();
            let text = String::from_utf8(fs::read(&path).unwrap()).expect("a log is text");
            let text = text.replace(&self.project.scratch().display().to_string(), "SCRATCH");
            let lines = text.split_inclusive('\n').map(|line| {
                // Time stamps all have the same length.
                line.get("2026-11-20T20:26:19.247473Z".len()..)
                    .unwrap_or_default()
            });
            (
                path.file_name().unwrap().display().to_string(),
                lines.collect(),
            )
        };
        entries.map(read).collect()
    }

    /// Asserts that nothing of any run is left: no process, group, directory, mount or journal.
    pub(super) fn assert_nothing_left(&self, when: &str) {
        self.cell.wait_until_empty(when);
        assert_eq!(self.cell.groups(), Vec::<PathBuf>::new(), "{when}");
        assert_eq!(self.project.leftovers(), Vec::<PathBuf>::new(), "{when}");
        let scratch = self.project.scratch().display().to_string();
        assert_eq!(processes_with(&scratch), Vec::<u32>::new(), "{when}");
        let files = files_below(&self.project.home());
        // Half of an object, a cache or a record.
        let partial = files.iter().find(|path| {
            let is_tmp = path.parent().is_some_and(|parent| parent.ends_with("tmp"));
            is_tmp || path.extension().is_some_and(|it| it == "partial")
        });
        assert_eq!(partial, None, "{when}");
        let half = files_below(&self.project.home().join("content/tmp"));
        assert_eq!(half, Vec::<PathBuf>::new(), "{when}");
        let tree = fs::read_dir(self.project.dir()).unwrap();
        let names: BTreeSet<_> = tree.map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(
            names,
            [".git", ".gitlab-ci.yml"].map(Into::into).into(),
            "{when}"
        );
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        assert!(!mounts.contains(&scratch), "{when}: {mounts}");
    }
}
