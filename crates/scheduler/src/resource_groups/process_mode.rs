use serde::{Deserialize, Serialize};

/// Who is next in a resource group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProcessMode {
    /// Whoever came first.
    #[default]
    Unordered,
    /// The job of the oldest pipeline; it is waited for if it cannot start yet.
    OldestFirst,
    /// The job of the newest pipeline; it is waited for if it cannot start yet.
    NewestFirst,
    /// The job of the newest pipeline among those that could start.
    NewestReadyFirst,
}

/// One of those that a resource group serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Contender {
    /// The number of its pipeline; newer pipelines have higher ones.
    pub pipeline: u64,
    /// When it asked, as a number that grows; `None` for a pipeline of which a job is still to ask.
    pub asked: Option<u64>,
}

impl ProcessMode {
    /// All modes, the usual one first.
    pub const ALL: [Self; 4] = [
        Self::Unordered,
        Self::OldestFirst,
        Self::NewestFirst,
        Self::NewestReadyFirst,
    ];

    /// Returns GitLab's word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unordered => "unordered",
            Self::OldestFirst => "oldest_first",
            Self::NewestFirst => "newest_first",
            Self::NewestReadyFirst => "newest_ready_first",
        }
    }

    /// Returns the mode that GitLab calls so.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.as_str() == word)
    }

    /// Returns the place of the one that is next; nobody is while one is awaited that has not asked.
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

    /// Each contender is a pipeline and when its job asked, or nothing if that is still to come.
    fn check(contenders: &[(u64, Option<u64>)], expect: [Option<usize>; 4]) {
        let contenders: Vec<Contender> = contenders
            .iter()
            .map(|&(pipeline, asked)| Contender { pipeline, asked })
            .collect();
        assert_eq!(ProcessMode::ALL.map(|mode| mode.next(&contenders)), expect);
    }

    #[test]
    fn the_mode_says_who_is_next() {
        check(&[], [None; 4]);
        check(&[(7, None)], [None; 4]);
        check(&[(7, Some(1))], [Some(0); 4]);
        // Two of one pipeline: the first that asked.
        check(&[(7, Some(2)), (7, Some(1))], [Some(1); 4]);
        check(
            &[(8, Some(1)), (7, Some(2)), (9, Some(3))],
            [Some(0), Some(1), Some(2), Some(2)],
        );
        // The oldest and the newest are still to ask.
        check(
            &[(7, None), (8, Some(1)), (9, None)],
            [Some(1), None, None, Some(1)],
        );
        // Of one pipeline, a job that has asked goes before one that is to come.
        check(&[(7, None), (7, Some(5))], [Some(1); 4]);
    }
}
