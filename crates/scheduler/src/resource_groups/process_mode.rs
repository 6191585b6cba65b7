use serde::{Deserialize, Serialize};

/// Which job gets a resource group next.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProcessMode {
    /// The job whose request came first.
    #[default]
    Unordered,
    /// The job of the oldest pipeline; if it cannot start yet, the others wait.
    OldestFirst,
    /// The job of the newest pipeline; if it cannot start yet, the others wait.
    NewestFirst,
    /// The job of the newest pipeline among those that can start.
    NewestReadyFirst,
}

/// A job that competes for a resource group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Contender {
    /// The number of its pipeline; newer pipelines have higher ones.
    pub pipeline: u64,
    /// The number of its request, which grows; `None` for a job that has not requested the group yet.
    pub asked: Option<u64>,
}

impl ProcessMode {
    /// All modes, the default first.
    pub const ALL: [Self; 4] = [
        Self::Unordered,
        Self::OldestFirst,
        Self::NewestFirst,
        Self::NewestReadyFirst,
    ];

    /// Returns the name in GitLab.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unordered => "unordered",
            Self::OldestFirst => "oldest_first",
            Self::NewestFirst => "newest_first",
            Self::NewestReadyFirst => "newest_ready_first",
        }
    }

    /// Returns the mode of this name.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.as_str() == word)
    }

    /// Returns the index of the next one; `None` while the group waits for a job without a request.
    pub fn next(self, contenders: &[Contender]) -> Option<usize> {
        let asked = |contender: &Contender| contender.asked.unwrap_or(u64::MAX);
        let all = contenders.iter().enumerate();
        let ready = |(_, contender): &(usize, &Contender)| contender.asked.is_some();
        let chosen = match self {
            Self::Unordered => all
                .filter(ready)
                .min_by_key(|(_, contender)| asked(contender)),
            Self::OldestFirst => {
                all.min_by_key(|(_, contender)| (contender.pipeline, asked(contender)))
            }
            Self::NewestFirst => all.min_by_key(|(_, contender)| {
                (std::cmp::Reverse(contender.pipeline), asked(contender))
            }),
            Self::NewestReadyFirst => all.filter(ready).min_by_key(|(_, contender)| {
                (std::cmp::Reverse(contender.pipeline), asked(contender))
            }),
        };
        let (at, contender) = chosen?;
        contender.asked.is_some().then_some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each contender is a pipeline and the number of its request, if there is one.
    fn check(contenders: &[(u64, Option<u64>)], expect: [Option<usize>; 4]) {
        let contenders: Vec<Contender> = contenders
            .iter()
            .map(|&(pipeline, asked)| Contender { pipeline, asked })
            .collect();
        assert_eq!(ProcessMode::ALL.map(|mode| mode.next(&contenders)), expect);
    }

    #[test]
    fn mode_decides_which_job_is_next() {
        check(&[], [None; 4]);
        check(&[(7, None)], [None; 4]);
        check(&[(7, Some(1))], [Some(0); 4]);
        // Two jobs of one pipeline: the earlier request.
        check(&[(7, Some(2)), (7, Some(1))], [Some(1); 4]);
        check(
            &[(8, Some(1)), (7, Some(2)), (9, Some(3))],
            [Some(0), Some(1), Some(2), Some(2)],
        );
        // The oldest and the newest pipeline have no request yet.
        check(
            &[(7, None), (8, Some(1)), (9, None)],
            [Some(1), None, None, Some(1)],
        );
        // Within a pipeline, a job with a request comes before one without.
        check(&[(7, None), (7, Some(5))], [Some(1); 4]);
    }
}
