//! The order of calls, with timing folded away, and the alignment of two orders.

/// A call in a sequence.
#[derive(Debug, Clone)]
pub(super) struct Step<T> {
    pub(super) endpoint: &'static str,
    /// The status of the answer; 0 if the connection was cut.
    pub(super) status: u16,
    pub(super) job: Option<u64>,
    /// Whether the first byte and the last byte of a trace call fit.
    pub(super) range: Option<[bool; 2]>,
    pub(super) call: T,
}

impl<T> Step<T> {
    /// Returns whether its time and number depend on chance, or on Git.
    fn is_noise(&self) -> bool {
        self.endpoint == "git" || (self.endpoint == "request" && self.status == 204)
    }

    /// Returns whether a call after the same call tells nothing new.
    fn repeats(&self, before: &Self) -> bool {
        let is_same = (self.endpoint, self.status) == (before.endpoint, before.status);
        let is_poll = self.endpoint == "request" && self.status != 201;
        let is_piece = self.endpoint == "trace" && self.status == 202;
        is_same && (is_poll || is_piece)
    }

    fn key(&self) -> (&'static str, u16) {
        (self.endpoint, self.status)
    }
}

/// Splits calls by job, or returns one sequence if there is one job; each sequence is folded.
pub(super) fn split<T>(steps: Vec<Step<T>>, by_job: bool) -> Vec<(Option<u64>, Vec<Step<T>>)> {
    let mut groups: Vec<(Option<u64>, Vec<Step<T>>)> = Vec::new();
    for step in steps.into_iter().filter(|step| !step.is_noise()) {
        let job = step.job.filter(|_| by_job);
        let index = groups.iter().position(|(known, _)| *known == job);
        let index = index.unwrap_or_else(|| {
            groups.push((job, Vec::new()));
            groups.len() - 1
        });
        let group = &mut groups[index].1;
        match group.last_mut() {
            Some(before) if step.repeats(before) => {
                let both = before.range.zip(step.range);
                before.range = both.map(|([a, b], [c, d])| [a && c, b && d]);
            }
            _ => group.push(step),
        }
    }
    groups
}

/// A position in the expected sequence, in the found one, or in both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Aligned {
    Both(usize, usize),
    Missing(usize),
    Extra(usize),
}

/// Aligns two sequences so that as many calls as possible have a partner with the same endpoint and status.
pub(super) fn align<T, U>(expected: &[Step<T>], found: &[Step<U>]) -> Vec<Aligned> {
    // The longest common part of the sequences from each pair of positions on.
    let mut longest = vec![vec![0_usize; found.len() + 1]; expected.len() + 1];
    for one in (0..expected.len()).rev() {
        for other in (0..found.len()).rev() {
            longest[one][other] = if expected[one].key() == found[other].key() {
                longest[one + 1][other + 1] + 1
            } else {
                longest[one + 1][other].max(longest[one][other + 1])
            };
        }
    }
    let (mut one, mut other) = (0, 0);
    let mut aligned = Vec::new();
    while one < expected.len() || other < found.len() {
        if one == expected.len() {
            aligned.push(Aligned::Extra(other));
            other += 1;
        } else if other == found.len() {
            aligned.push(Aligned::Missing(one));
            one += 1;
        } else if expected[one].key() == found[other].key() {
            aligned.push(Aligned::Both(one, other));
            one += 1;
            other += 1;
        } else if longest[one + 1][other] >= longest[one][other + 1] {
            aligned.push(Aligned::Missing(one));
            one += 1;
        } else {
            aligned.push(Aligned::Extra(other));
            other += 1;
        }
    }
    aligned
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(names: &[(&'static str, u16)]) -> Vec<Step<()>> {
        let steps = names.iter().map(|(endpoint, status)| Step {
            endpoint,
            status: *status,
            job: Some(1),
            range: None,
            call: (),
        });
        steps.collect()
    }

    #[test]
    fn polls_and_pieces_are_folded() {
        let all = [
            ("request", 204),
            ("request", 500),
            ("request", 500),
            ("request", 201),
            ("git", 200),
            ("trace", 202),
            ("trace", 202),
            ("trace", 500),
            ("trace", 500),
        ];
        let folded = split(steps(&all), false).remove(0).1;
        let keys: Vec<_> = folded.iter().map(Step::key).collect();
        assert_eq!(
            keys,
            [
                ("request", 500),
                ("request", 201),
                ("trace", 202),
                ("trace", 500),
                ("trace", 500)
            ]
        );
    }

    #[test]
    fn missing_and_extra_calls_are_found() {
        let expected = steps(&[("request", 201), ("trace", 202), ("update_final", 200)]);
        let found = steps(&[
            ("request", 201),
            ("update_running", 200),
            ("update_final", 200),
        ]);
        let aligned = align(&expected, &found);
        let expect = [
            Aligned::Both(0, 0),
            Aligned::Missing(1),
            Aligned::Extra(1),
            Aligned::Both(2, 2),
        ];
        assert_eq!(aligned, expect);
    }
}
