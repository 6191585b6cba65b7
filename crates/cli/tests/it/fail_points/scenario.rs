//! The ways in which points are reached.

#![expect(
    clippy::disallowed_methods,
    reason = "the tests drive the binary from outside"
)]

use super::cell::Cell;
use crate::project::{Done, Project, files_below, processes_with};
use fail_point::VARIABLE;
use runwright::local::{LocalCacheEntry, StateDir};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// Jobs with all that reaches outside: artifacts, reports, caches, an environment, background
/// processes, a read-only directory, a child pipeline. Those that count write a line to `COUNT` at the
/// end of their script.
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
sub:
  stage: second
  trigger: {include: [{local: child.yml}], strategy: depend}
wait:
  stage: first
  when: manual
  script: [echo waiting, 'setsid sleep 600 &', sleep 600]
probe:
  stage: first
  when: manual
  script: [echo probed]
many:
  stage: first
  when: manual
  cache: {key: many, paths: [blocked]}
  script:
    - mkdir many && for i in $(seq 70); do echo $i >many/$i; done
    - echo new >blocked/file && rm -r blocked/link && ln -s file blocked/link
  artifacts: {paths: [many]}
take:
  stage: second
  when: manual
  needs: [many]
  script: [cat many/70]
stumble:
  stage: second
  when: manual
  needs: [{job: many, artifacts: false}]
  cache: {key: many, paths: [blocked], policy: pull}
  script: ['test ! -e blocked/file']
";

/// The child pipeline.
const CHILD: &str = "
inner: {script: [echo inner >>COUNT]}
";

/// The jobs that count.
const COUNTING: [&str; 3] = ["make", "use", "inner"];

/// So many ended pipelines make the next run remove some.
const OLD_PIPELINES: u64 = 11;
/// The directory of the run that is played then.
const RUN: &str = "pipelines/12";

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
    /// A killed run is gone on with, the last line of whose journal is torn.
    Resumed,
    /// A job replaces a cache, and another on an overlay gets many files and a cache that has no room.
    Inputs,
    /// What a job left is packed, over a file that is elsewhere.
    Packed,
    /// What a job left is put into a directory.
    GotOut,
    /// All that runs left is removed.
    Cleaned,
}

pub(super) const SCENARIOS: [Scenario; 10] = [
    Scenario::Copies,
    Scenario::InPlace,
    Scenario::Overlays,
    Scenario::Worktree,
    Scenario::AfterDeath,
    Scenario::Resumed,
    Scenario::Inputs,
    Scenario::Packed,
    Scenario::GotOut,
    Scenario::Cleaned,
];

impl Scenario {
    /// Returns whether all of the pipeline is run, which can be gone on with.
    pub(super) fn is_whole(self) -> bool {
        matches!(self, Self::Copies | Self::Resumed)
    }
}

/// A project with a cell for its processes.
#[derive(Debug)]
pub(super) struct Stage {
    pub(super) project: Project,
    pub(super) cell: Cell,
    /// On another file system than the project.
    elsewhere: TempDir,
}

impl Stage {
    /// Makes a project; `None` where no cgroup can be made.
    pub(super) fn new() -> Option<Self> {
        let cell = Cell::new()?;
        let project = Project::empty_directory();
        let count = project.scratch().join("count").display().to_string();
        project.write(".gitlab-ci.yml", &PIPELINE.replace("COUNT", &count));
        project.write("child.yml", &CHILD.replace("COUNT", &count));
        // Where a cache has a link.
        project.write("blocked/link/file", "");
        project.git(&["init", "-q", "-b", "main"]);
        project.commit();
        let elsewhere = tempfile::tempdir_in("/dev/shm").unwrap();
        let stage = Self {
            project,
            cell,
            elsewhere,
        };
        stage.next_start("at the very first");
        Some(stage)
    }

    /// Makes a home as it is after some use, and lets happen what comes before the scenario.
    pub(super) fn set(&self, scenario: Scenario) {
        let state = self.state();
        let _ = fs::remove_dir_all(&state);
        let _ = fs::remove_file(self.count());
        let _ = fs::remove_dir_all(self.project.home().join("content"));
        let _ = fs::remove_dir_all(self.project.home().join("caches"));
        for id in 1..=OLD_PIPELINES {
            fs::create_dir_all(state.join("pipelines").join(id.to_string())).unwrap();
        }
        fs::write(state.join("last-pipeline"), OLD_PIPELINES.to_string()).unwrap();
        match scenario {
            Scenario::AfterDeath => self.die(),
            Scenario::Resumed => self.tear(),
            Scenario::Inputs | Scenario::Packed | Scenario::GotOut | Scenario::Cleaned => {
                self.fill();
            }
            Scenario::Copies | Scenario::InPlace | Scenario::Overlays | Scenario::Worktree => {}
        }
    }

    /// Leaves artifacts, a layer of them and a cache, and what killed processes leave.
    fn fill(&self) {
        let content = self.project.home().join("content");
        fs::create_dir_all(&content).unwrap();
        // So the run leaves its layer for later.
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

    /// Kills a run when one of its jobs has finished, in the middle of a line of its journal, and lets
    /// people be told.
    fn tear(&self) {
        let killed = self.play(Scenario::Copies, "kill before archive::unpack::create_file");
        assert_eq!(killed.status.signal(), Some(9), "{:?}", Done::from(killed));
        self.cell.wait_until_empty("before a resume");
        assert!(self.has_finished("make"));
        let journal = self.state().join(RUN).join("journal.jsonl");
        let mut journal = fs::File::options().append(true).open(journal).unwrap();
        write!(journal, "{{\"type\":\"job_fin").unwrap();
        // Another that was killed had a job in the queue.
        for group in fs::read_dir(self.state().join("resources")).unwrap() {
            fs::write(group.unwrap().path().join("queue/0-7"), "").unwrap();
        }
        let told = Done::from(self.command(&["history"], "").output().unwrap());
        assert_eq!(told.code, Some(0), "{told:?}");
    }

    fn got_out(&self) -> PathBuf {
        self.project.scratch().join("got-out")
    }

    fn packed(&self) -> PathBuf {
        self.elsewhere.path().join("packed.zip")
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

    /// Returns whether the journal of a run that was played says that a job has finished.
    ///
    /// # Panics
    ///
    /// When a line of a journal that has an end cannot be read.
    fn has_finished(&self, job: &str) -> bool {
        let journals = self.journals().into_iter();
        let mut lines = journals.flat_map(|path| lines_of(&path));
        lines.any(|line| line["type"] == "job_finished" && line["job"] == job)
    }

    /// Returns whether the journal of the run that was played says that it has ended.
    fn has_ended(&self) -> bool {
        let journal = self.state().join(RUN).join("journal.jsonl");
        let lines = if journal.exists() {
            lines_of(&journal)
        } else {
            Vec::new()
        };
        lines
            .last()
            .is_some_and(|line| line["type"] == "pipeline_done")
    }

    fn journals(&self) -> Vec<PathBuf> {
        let mut files = files_below(&self.project.home());
        files.retain(|path| path.ends_with("journal.jsonl"));
        files
    }

    /// Goes on with the run that was played and killed, which ends well and runs no finished job again.
    pub(super) fn resume(&self, when: &str) -> Done {
        let look = || COUNTING.map(|job| (job, self.has_finished(job), self.times(job)));
        let before = look();
        let is_known = self.state().join(RUN).join("run.json").exists();
        let has_ended = self.has_ended();
        let done = Done::from(self.play(Scenario::Resumed, ""));
        let after = look();
        for ((job, had_finished, times), (_, has_finished, now)) in before.iter().zip(after) {
            if *had_finished {
                assert_eq!(*times, now, "{job} {when}: {done:?}");
                assert!(now <= 1, "{job} {when}: {done:?}");
            } else if done.code == Some(0) {
                assert!(has_finished, "{job} {when}: {done:?}");
                assert_eq!(now, times + 1, "{job} {when}: {done:?}");
            }
        }
        // Before there is a run, and after it has ended, there is nothing to go on with.
        let expected = if is_known && !has_ended { 0 } else { 2 };
        assert_eq!(done.code, Some(expected), "{when}: {before:?} {done:?}");
        done
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
        let logs = self.state().join(RUN).join("logs");
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
        let home = self.project.home();
        let files = files_below(&home);
        // Half of an object, a cache, an archive or a record.
        let partial = files.iter().find(|path| {
            let parent = path.parent().unwrap_or(path);
            let is_tmp = parent.ends_with("tmp") || parent.ends_with("exports");
            is_tmp || path.extension().is_some_and(|it| it == "partial")
        });
        assert_eq!(partial, None, "{when}");
        for path in self.journals() {
            lines_of(&path);
        }
        self.assert_whole(when);
        let tree = fs::read_dir(self.project.dir()).unwrap();
        let names: BTreeSet<_> = tree.map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(
            names,
            [".git", ".gitlab-ci.yml", "blocked", "child.yml"]
                .map(Into::into)
                .into(),
            "{when}"
        );
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        assert!(!mounts.contains(&scratch), "{when}: {mounts}");
    }
    /// Returns the caches there are.
    pub(super) fn caches(&self) -> Vec<LocalCacheEntry> {
        let state = StateDir::at(self.project.home());
        state.caches().entries().unwrap()
    }

    /// Asserts that all that is kept for other jobs, and for whoever wants it, is what it says.
    fn assert_whole(&self, when: &str) {
        let state = StateDir::at(self.project.home());
        let store = state.kept_files().store();
        let trees = fs::read_dir(store.path().join("trees")).into_iter();
        for entry in trees.flatten() {
            let name = entry.unwrap().file_name().display().to_string();
            let tree = store.tree(name.parse().expect("the name is a digest"));
            let verified = tree.and_then(|tree| store.verify(&tree));
            assert!(verified.is_ok(), "{when}: {verified:?}");
        }
        for cache in self.caches() {
            assert_ne!(cache.format, "", "{when}: {cache:?}");
        }
        if let Ok(packed) = fs::read(self.packed()) {
            let is_old = packed == b"old";
            // The end of a zip archive without a comment.
            let end = packed.len().checked_sub(22).map(|at| &packed[at..at + 4]);
            assert!(
                is_old || end == Some(b"PK\x05\x06"),
                "{when}: half an archive"
            );
        }
    }
}

/// Returns the lines of a journal. What has no end was being written, and is no line.
fn lines_of(journal: &Path) -> Vec<Value> {
    let journal = fs::read_to_string(journal).unwrap();
    let lines = journal
        .split_inclusive('\n')
        .filter(|line| line.ends_with('\n'));
    lines
        .map(|line| serde_json::from_str(line).expect("a line is JSON"))
        .collect()
}
