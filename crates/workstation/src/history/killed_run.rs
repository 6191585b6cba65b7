use std::fmt;

/// A killed run that no command has reported yet.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct KilledRun {
    /// The run.
    pub id: u64,
    /// How many of its jobs had finished.
    pub finished: usize,
    /// How many it had; 0 if it was killed before the first started.
    pub jobs: usize,
}

impl fmt::Display for KilledRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, finished, jobs } = self;
        write!(f, "run {id} was killed ")?;
        match (finished, jobs) {
            (_, 0) => f.write_str("before its first job"),
            (finished, jobs) if finished == jobs => f.write_str("when all its jobs had finished"),
            (finished, 1) => write!(f, "while {finished} of 1 job had finished"),
            (finished, jobs) => write!(f, "while {finished} of {jobs} jobs had finished"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn displays_how_far_the_run_was() {
        let check = |finished, jobs, expect: &str| {
            let run = KilledRun {
                id: 12,
                finished,
                jobs,
            };
            assert_eq!(run.to_string(), format!("run 12 was killed {expect}"));
        };
        check(3, 8, "while 3 of 8 jobs had finished");
        check(0, 1, "while 0 of 1 job had finished");
        check(8, 8, "when all its jobs had finished");
        check(0, 0, "before its first job");
    }
}
