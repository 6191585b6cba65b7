use scheduler::{PipelineReport, RunExit, Status};
use std::collections::{BTreeMap, BTreeSet};

/// What ran in the rounds of a watch, and what is left over for the next.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rounds {
    /// The jobs that were to run and did not come to it.
    left: BTreeSet<String>,
    /// The runs in which jobs ended well the last time.
    done: BTreeMap<String, u64>,
}

impl Rounds {
    /// Returns the jobs of the next round: those that a change touches, and those that were to run before
    /// and did not come to it.
    pub fn next(&self, touched: BTreeSet<String>) -> BTreeSet<String> {
        touched
            .into_iter()
            .chain(self.left.iter().cloned())
            .collect()
    }

    /// Returns the jobs that ended well, and in which run: whoever needs one may have what it left then.
    pub fn done(&self) -> &BTreeMap<String, u64> {
        &self.done
    }

    /// Notes how a round ended; `asked` are the jobs that were to run, or all.
    pub fn ended(&mut self, asked: Option<&BTreeSet<String>>, report: &PipelineReport) {
        let ended = report.jobs.iter().map(|job| (&*job.name, job.status));
        self.note(asked, report.id.0, report.exit, ended);
    }

    fn note<'j>(
        &mut self,
        asked: Option<&BTreeSet<String>>,
        run: u64,
        exit: RunExit,
        jobs: impl Iterator<Item = (&'j str, Status)>,
    ) {
        let is_asked = |job: &str| asked.is_none_or(|asked| asked.contains(job));
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
                _ if is_asked(job) => {
                    self.left.insert(job.to_owned());
                }
                _ => {}
            }
        }
        // What did not run although all went well was not meant to.
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
    fn what_did_not_come_to_run_is_left_for_the_next_round() {
        use Status::{Canceled, Failed, Manual, Skipped, Success};
        let mut rounds = Rounds::default();
        let first = [("a", Success), ("b", Failed), ("c", Skipped), ("m", Manual)];
        rounds.note(None, 1, RunExit::JobFailed, first.into_iter());
        assert_eq!(rounds.next(set(&["b"])), set(&["b", "c"]));
        assert_eq!(rounds.done().get("a"), Some(&1));
        // A job that was only needed is not left over.
        let second = [("a", Canceled), ("b", Canceled), ("c", Canceled)];
        let asked = set(&["b", "c"]);
        rounds.note(Some(&asked), 2, RunExit::Interrupted, second.into_iter());
        assert_eq!(rounds.next(set(&[])), asked);
        let third = [("a", Success), ("b", Success), ("c", Skipped)];
        rounds.note(Some(&asked), 3, RunExit::Success, third.into_iter());
        assert_eq!(rounds.next(set(&[])), set(&[]));
        assert_eq!(
            rounds.done(),
            &BTreeMap::from([("a".to_owned(), 3), ("b".to_owned(), 3)])
        );
        rounds.note(None, 4, RunExit::JobFailed, [("a", Failed)].into_iter());
        assert!(!rounds.done().contains_key("a"));
    }
}
