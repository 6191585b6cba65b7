use scheduler::{PipelineReport, RunExit, Status};
use std::collections::{BTreeMap, BTreeSet};

/// The jobs that ran in the rounds of a watch, and those left for the next.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rounds {
    /// The selected jobs that did not run.
    left: BTreeSet<String>,
    /// The runs in which jobs last succeeded.
    done: BTreeMap<String, u64>,
}

impl Rounds {
    /// Returns the jobs of the next round: those that a change touches, and earlier selected jobs that did not run.
    pub fn next(&self, touched: BTreeSet<String>) -> BTreeSet<String> {
        touched
            .into_iter()
            .chain(self.left.iter().cloned())
            .collect()
    }

    /// Returns the jobs that succeeded, with the run whose artifacts other jobs may use.
    pub fn done(&self) -> &BTreeMap<String, u64> {
        &self.done
    }

    /// Records how a round ended; `selected` are the jobs that should run, or all.
    pub fn ended(&mut self, selected: Option<&BTreeSet<String>>, report: &PipelineReport) {
        let ended = report.jobs.iter().map(|job| (&*job.name, job.status));
        self.record(selected, report.id.0, report.exit, ended);
    }

    fn record<'j>(
        &mut self,
        selected: Option<&BTreeSet<String>>,
        run: u64,
        exit: RunExit,
        jobs: impl Iterator<Item = (&'j str, Status)>,
    ) {
        let is_selected = |job: &str| selected.is_none_or(|it| it.contains(job));
        for (job, status) in jobs {
            match status {
                Status::Success => {
                    self.done.insert(job.to_owned(), run);
                    self.left.remove(job);
                }
                Status::Failed => {
                    self.done.remove(job);
                    self.left.remove(job);
                }
                Status::Manual => {}
                _ if is_selected(job) => {
                    self.left.insert(job.to_owned());
                }
                _ => {}
            }
        }
        // In a successful run, jobs that did not run had no reason to.
        if exit == RunExit::Success {
            self.left.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn jobs_that_did_not_run_are_left_for_the_next_round() {
        use Status::{Canceled, Failed, Manual, Skipped, Success};
        let mut rounds = Rounds::default();
        let first = [("a", Success), ("b", Failed), ("c", Skipped), ("m", Manual)];
        rounds.record(None, 1, RunExit::JobFailed, first.into_iter());
        assert_eq!(rounds.next(set(&["b"])), set(&["b", "c"]));
        assert_eq!(rounds.done().get("a"), Some(&1));
        // A job that only others needed is not left.
        let second = [("a", Canceled), ("b", Canceled), ("c", Canceled)];
        let selected = set(&["b", "c"]);
        rounds.record(Some(&selected), 2, RunExit::Interrupted, second.into_iter());
        assert_eq!(rounds.next(set(&[])), selected);
        let third = [("a", Success), ("b", Success), ("c", Skipped)];
        rounds.record(Some(&selected), 3, RunExit::Success, third.into_iter());
        assert_eq!(rounds.next(set(&[])), set(&[]));
        assert_eq!(
            rounds.done(),
            &BTreeMap::from([("a".to_owned(), 3), ("b".to_owned(), 3)])
        );
        rounds.record(None, 4, RunExit::JobFailed, [("a", Failed)].into_iter());
        assert!(!rounds.done().contains_key("a"));
    }
}
