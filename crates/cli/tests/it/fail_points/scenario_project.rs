//! A project in which scenarios are played.

#![expect(
    clippy::disallowed_methods,
    reason = "the tests drive the binary from outside"
)]

use super::cgroup::CaseCgroup;
use super::scenario::{CHILD, DRIVER, OLD_PIPELINES, PIPELINE, RUN, Scenario};
use crate::project::{Done, Project};
use fail_point::VARIABLE;
use std::fs;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// A project with a cgroup for its processes.
#[derive(Debug)]
pub(super) struct ScenarioProject {
    pub(super) project: Project,
    pub(super) cgroup: CaseCgroup,
    /// A directory on another file system than the project.
    elsewhere: TempDir,
}

impl ScenarioProject {
    /// Creates a project; returns `None` where no cgroup can be created.
    pub(super) fn new() -> Option<Self> {
        let cgroup = CaseCgroup::new()?;
        let project = Project::empty_directory();
        let count = project.scratch().join("count").display().to_string();
        project.write(".gitlab-ci.yml", &PIPELINE.replace("COUNT", &count));
        project.write("child.yml", &CHILD.replace("COUNT", &count));
        // A file where the cache has a link.
        project.write("blocked/link/file", "");
        project.git(&["init", "-q", "-b", "main"]);
        project.commit();
        let driver = project.scratch().join("driver.sh");
        let notes = project.scratch().join("private").display().to_string();
        fs::write(&driver, DRIVER.replace("NOTES", &notes)).unwrap();
        let driver = driver.display();
        let phases = ["config", "run", "cleanup"]
            .map(|it| format!("{it}-exec = \"sh\"\n{it}-args = [\"{driver}\", \"{it}\"]\n"));
        let settings = format!("[custom]\nbuilds-dir = \"builds\"\n{}", phases.concat());
        fs::create_dir_all(project.home()).unwrap();
        fs::write(project.home().join("config.toml"), settings).unwrap();
        let elsewhere = tempfile::tempdir_in("/dev/shm").unwrap();
        let stage = Self {
            project,
            cgroup,
            elsewhere,
        };
        stage.next_start("at the very first");
        Some(stage)
    }

    /// Creates a home with some history, and plays the events before the scenario.
    pub(super) fn set(&self, scenario: Scenario) {
        let state = self.state();
        let _ = fs::remove_dir_all(&state);
        let _ = fs::remove_file(self.count());
        let _ = fs::remove_dir_all(self.project.home().join("content"));
        let _ = fs::remove_dir_all(self.project.home().join("caches"));
        for id in 1..=OLD_PIPELINES {
            let old = state.join("pipelines").join(id.to_string());
            fs::create_dir_all(&old).unwrap();
            // Without a lock, a directory counts as left by a killed process and would be removed.
            fs::write(old.join("lock"), "4194303\n").unwrap();
        }
        fs::write(state.join("last-pipeline"), OLD_PIPELINES.to_string()).unwrap();
        match scenario {
            Scenario::AfterDeath => self.die(),
            Scenario::Resumed => self.tear(),
            Scenario::Inputs | Scenario::Packed | Scenario::GotOut => self.fill(),
            Scenario::Cleaned => {
                self.fill();
                self.keep_jobs();
            }
            Scenario::Reused => self.keep_jobs(),
            Scenario::Copies
            | Scenario::InPlace
            | Scenario::Overlays
            | Scenario::Worktree
            | Scenario::Driver => {}
        }
    }

    /// Creates artifacts, an artifact layer, a cache, and leftovers of killed processes.
    fn fill(&self) {
        let content = self.project.home().join("content");
        fs::create_dir_all(&content).unwrap();
        // A recent sweep makes the run leave its layer for later.
        fs::write(content.join("swept"), "").unwrap();
        let done = Done::from(self.play(Scenario::Inputs, ""));
        assert_eq!(done.code, Some(0), "{done:?}");
        for left in ["content/tmp/left", "exports/left"] {
            let left = self.project.home().join(left);
            fs::create_dir_all(&left).unwrap();
            fs::write(left.join("half"), "").unwrap();
        }
        let _ = fs::remove_dir_all(self.got_out());
        fs::write(self.packed(), "old").unwrap();
    }

    /// Plays a run that stores its jobs for reuse.
    fn keep_jobs(&self) {
        let done = Done::from(self.play(Scenario::Reused, ""));
        assert_eq!(done.code, Some(0), "{done:?}");
        let _ = fs::remove_file(self.count());
    }

    /// Kills a run after one of its jobs has finished, tears the last line of its journal, and lets `history` report
    /// the death.
    fn tear(&self) {
        let killed = self.play(Scenario::Copies, "kill before archive::unpack::create_file");
        assert_eq!(killed.status.signal(), Some(9), "{:?}", Done::from(killed));
        self.cgroup.wait_until_empty("before a resume");
        assert!(self.has_finished("make"));
        self.forget_unknown_ends();
        let journal = self.state().join(RUN).join("journal.jsonl");
        let mut journal = fs::File::options().append(true).open(journal).unwrap();
        write!(journal, "{{\"type\":\"job_fin").unwrap();
        // Simulates another killed run with a job in the queue.
        for group in fs::read_dir(self.state().join("resources")).unwrap() {
            fs::write(group.unwrap().path().join("queue/0-7"), "").unwrap();
        }
        let history = Done::from(self.command(&["history"], "").output().unwrap());
        assert_eq!(history.code, Some(0), "{history:?}");
    }

    /// Drops the counts of jobs whose end the killed run did not record: these jobs run once more.
    fn forget_unknown_ends(&self) {
        let ends = fs::read_to_string(self.count()).unwrap();
        let known = ends.split_inclusive('\n');
        let known: String = known.filter(|end| self.has_finished(end.trim())).collect();
        fs::write(self.count(), known).unwrap();
    }

    fn got_out(&self) -> PathBuf {
        self.project.scratch().join("got-out")
    }

    pub(super) fn packed(&self) -> PathBuf {
        self.elsewhere.path().join("packed.zip")
    }

    pub(super) fn state(&self) -> PathBuf {
        let projects = fs::read_dir(self.project.home().join("projects")).unwrap();
        let only = projects.map(|entry| entry.unwrap().path()).next();
        only.expect("the project is known since its first run")
    }

    /// Returns the private directories that drivers had.
    pub(super) fn private_directories(&self) -> Vec<PathBuf> {
        let notes = fs::read_to_string(self.project.scratch().join("private"));
        let notes = notes.unwrap_or_default();
        notes.lines().map(PathBuf::from).collect()
    }

    pub(super) fn count(&self) -> PathBuf {
        self.project.scratch().join("count")
    }

    /// Kills a run in the middle of a job, before its guardian has started.
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
        assert!(!self.cgroup.processes().is_empty(), "the job lives on");
    }

    fn command(&self, arguments: &[&str], what: &str) -> Command {
        let mut command = self.cgroup.around(&self.project.command(arguments));
        if !what.is_empty() {
            command.env(VARIABLE, what);
        }
        command
    }

    /// Plays the scenario with a fault at a point.
    pub(super) fn play(&self, scenario: Scenario, what: &str) -> std::process::Output {
        let scratch = self.project.scratch();
        let report = scratch.join("report.json").display().to_string();
        let packed = self.packed().display().to_string();
        let got_out = self.got_out().display().to_string();
        let run = (OLD_PIPELINES + 1).to_string();
        let arguments: &[&str] = match scenario {
            Scenario::Copies => &["run", "--report", &report],
            Scenario::InPlace => &["run", "--in-place", "probe"],
            Scenario::Overlays => &["run", "--snapshot", "overlay"],
            Scenario::Worktree => &["run", "--isolation", "worktree", "probe"],
            Scenario::AfterDeath => &["run", "probe"],
            Scenario::Resumed => &["resume", &run],
            Scenario::Inputs => &["run", "many", "take", "stumble", "--snapshot", "overlay"],
            Scenario::Packed => &["artifacts", "many", "--force", "--output", &packed],
            Scenario::GotOut => &["artifacts", "many", "--output", &got_out],
            Scenario::Cleaned => &["clean", "--all"],
            Scenario::Reused => &["run", "--reuse"],
            Scenario::Driver => &["run", "make", "use", "--executor", "custom"],
        };
        self.command(arguments, what).output().unwrap()
    }

    /// Runs a small command, as a user unaware of the fault would.
    pub(super) fn next_start(&self, when: &str) {
        for arguments in [&["run", "probe"][..], &["run", "--in-place", "probe"]] {
            let done: Done = self.command(arguments, "").output().unwrap().into();
            assert_eq!(done.code, Some(0), "{arguments:?} {when}: {done:?}");
        }
    }
}
