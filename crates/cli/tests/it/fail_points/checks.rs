//! Checks after a fault was injected.

use super::scenario::{COUNTING, RUN, Scenario};
use super::scenario_project::ScenarioProject;
use crate::project::{Done, files_below, processes_with};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use workstation::{LocalCacheEntry, StateDir};

impl ScenarioProject {
    /// Returns how often a job has reached the end of its script.
    fn times(&self, job: &str) -> usize {
        let lines = fs::read_to_string(self.count()).unwrap_or_default();
        lines.lines().filter(|line| *line == job).count()
    }

    /// Returns whether the journal of the played run records that a job has finished.
    ///
    /// # Panics
    ///
    /// When a complete line of the journal cannot be read.
    pub(super) fn has_finished(&self, job: &str) -> bool {
        let journals = self.journals().into_iter();
        let mut lines = journals.flat_map(|path| lines_of(&path));
        lines.any(|line| line["type"] == "job_finished" && line["job"] == job)
    }

    /// Returns whether the journal of the played run records that the run has ended.
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

    /// Returns the number of jobs whose result is recorded outside of the journal.
    fn recorded_results(&self) -> usize {
        let mut notes = files_below(&self.project.home());
        notes.retain(|path| path.parent().is_some_and(|it| it.ends_with("running")));
        let has_result = |path: &&PathBuf| {
            let is_note = path.extension().is_some_and(|it| it == "json");
            is_note && fs::read_to_string(path).unwrap().contains("\"outcome\"")
        };
        notes.iter().filter(has_result).count()
    }

    fn journals(&self) -> Vec<PathBuf> {
        let mut files = files_below(&self.project.home());
        files.retain(|path| path.ends_with("journal.jsonl"));
        files
    }

    /// Resumes the killed run, and asserts that it succeeds and runs no finished job again.
    pub(super) fn resume(&self, when: &str) -> Done {
        let look = || COUNTING.map(|job| (job, self.has_finished(job), self.times(job)));
        let before = look();
        let is_known = self.state().join(RUN).join("run.json").exists();
        let has_ended = self.has_ended();
        let mut results = self.recorded_results();
        let done = Done::from(self.play(Scenario::Resumed, ""));
        let after = look();
        for ((job, had_finished, times), (_, has_finished, now)) in before.iter().zip(after) {
            if *had_finished {
                assert_eq!(*times, now, "{job} {when}: {done:?}");
                assert!(now <= 1, "{job} {when}: {done:?}");
            } else if done.code == Some(0) {
                assert!(has_finished, "{job} {when}: {done:?}");
                // Only the clean-up of such a job was left.
                let is_kept = now == *times && results > 0;
                results -= usize::from(is_kept);
                let expected = times + usize::from(!is_kept);
                assert_eq!(now, expected, "{job} {when}: {done:?}");
            }
        }
        // Before the run is recorded, and after it has ended, there is nothing to resume.
        let expected = if is_known && !has_ended { 0 } else { 2 };
        assert_eq!(done.code, Some(expected), "{when}: {before:?} {done:?}");
        done
    }

    /// Returns the logs of the played run, without the parts that differ between runs.
    pub(super) fn logs(&self) -> BTreeMap<String, String> {
        let logs = self.state().join(RUN).join("logs");
        let entries = fs::read_dir(logs).into_iter().flatten();
        let read = |entry: std::io::Result<fs::DirEntry>| {
            let path = entry.unwrap().path();
            let text = String::from_utf8(fs::read(&path).unwrap()).expect("a log is text");
            let text = text.replace(&self.project.scratch().display().to_string(), "SCRATCH");
            let lines = text.split_inclusive('\n').map(|line| {
                // All time stamps have the same length.
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

    /// Asserts that no process, group, directory, mount or journal of any run remains.
    pub(super) fn assert_nothing_left(&self, when: &str) {
        self.cgroup.wait_until_empty(when);
        assert_eq!(self.cgroup.groups(), Vec::<PathBuf>::new(), "{when}");
        assert_eq!(self.project.leftovers(), Vec::<PathBuf>::new(), "{when}");
        let mut private = self.private_directories();
        private.retain(|path| path.exists());
        assert_eq!(private, Vec::<PathBuf>::new(), "{when}");
        let scratch = self.project.scratch().display().to_string();
        assert_eq!(processes_with(&scratch), Vec::<u32>::new(), "{when}");
        let home = self.project.home();
        let files = files_below(&home);
        // A partial object, cache, archive or record.
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
    /// Returns the stored caches.
    pub(super) fn caches(&self) -> Vec<LocalCacheEntry> {
        let state = StateDir::at(self.project.home());
        state.caches().entries().unwrap()
    }

    /// Asserts that everything stored for other jobs or for the user is intact.
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
            // The end record of a zip archive without a comment.
            let end = packed.len().checked_sub(22).map(|at| &packed[at..at + 4]);
            assert!(
                is_old || end == Some(b"PK\x05\x06"),
                "{when}: half an archive"
            );
        }
    }
}

/// Returns the complete lines of a journal. A line without a newline was being written and does not count.
fn lines_of(journal: &Path) -> Vec<Value> {
    let journal = fs::read_to_string(journal).unwrap();
    let lines = journal
        .split_inclusive('\n')
        .filter(|line| line.ends_with('\n'));
    lines
        .map(|line| serde_json::from_str(line).expect("a line is JSON"))
        .collect()
}
