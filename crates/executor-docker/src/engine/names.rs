//! What the things of a job are called in the engine.

use executor_core::job::JobId;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;

/// The longest an owner's part of a name is.
const LONGEST_OWNER: usize = 24;

/// The names of everything one attempt of a job has in the engine.
///
/// They follow from what the journal knows (who runs the job, which job, which attempt) and from
/// nothing else, so that a runner which was restarted finds again what it made. No name has anything
/// of the project or the job's own name in it: those are the users' words, and are in
/// [labels](crate::engine::labels::Labels), where every character may stand.
///
/// # Examples
///
/// ```
/// use executor_core::job::JobId;
/// use executor_docker::engine::names::Names;
///
/// let names = Names::new("3f9c", JobId(7), 0);
/// assert_eq!(names.build(), "runwright-3f9c-7-0");
/// assert_eq!(names.service(1), "runwright-3f9c-7-0-service-1");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Names {
    base: String,
}

impl Names {
    /// Returns the names of attempt `attempt`, from 0, of the job `job` that `owner` runs.
    ///
    /// An owner which is too long for a name, or has a character which no name may have, stands there
    /// changed, with a part of its hash, so that two owners never have the same names.
    pub fn new(owner: &str, job: JobId, attempt: u32) -> Self {
        Self {
            base: format!("runwright-{}-{job}-{attempt}", owner_part(owner)),
        }
    }

    /// Returns the names of what `owner` makes ahead of any job, as number `number`.
    pub fn warm(owner: &str, number: u32) -> Self {
        Self {
            base: format!("runwright-{}-warm-{number}", owner_part(owner)),
        }
    }

    /// Returns the name of the job's container.
    pub fn build(&self) -> String {
        self.base.clone()
    }

    /// Returns the name of the container of the runner's own tools, where an engine needs one.
    pub fn helper(&self) -> String {
        format!("{}-helper", self.base)
    }

    /// Returns the name of the service with this index, from 0, in the order the job lists them.
    pub fn service(&self, index: usize) -> String {
        format!("{}-service-{index}", self.base)
    }

    /// Returns the name of the job's network.
    pub fn network(&self) -> String {
        format!("{}-network", self.base)
    }

    /// Returns the name of the volume that ends with the job and is mounted at `destination`.
    pub fn volume(&self, destination: &str) -> String {
        format!("{}-volume-{}", self.base, short_hash(destination))
    }

    /// Returns what all of these names begin with, and no name of another attempt does when it is
    /// followed by its end or a hyphen.
    pub fn base(&self) -> &str {
        &self.base
    }
}

fn owner_part(owner: &str) -> String {
    let fits = |character: char| character.is_ascii_alphanumeric() || "_.-".contains(character);
    if !owner.is_empty() && owner.len() <= LONGEST_OWNER && owner.chars().all(fits) {
        return owner.to_owned();
    }
    let hash = short_hash(owner);
    let kept = LONGEST_OWNER - hash.len() - 1;
    let mut part: String = owner.chars().filter(|&c| fits(c)).take(kept).collect();
    if !part.is_empty() {
        part.push('-');
    }
    part + &hash
}

/// Returns the first twelve hexadecimal digits of the hash of `text`.
fn short_hash(text: &str) -> String {
    let mut short = String::with_capacity(12);
    for byte in &Sha256::digest(text)[..6] {
        let _ = write!(short, "{byte:02x}");
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_from_owner_job_and_attempt() {
        let names = Names::new("20261122-0514_a.b", JobId(7), 2);
        let all = [
            names.build(),
            names.helper(),
            names.service(10),
            names.network(),
        ];
        let ends = ["", "-helper", "-service-10", "-network"];
        assert_eq!(
            all,
            ends.map(|end| format!("runwright-20261122-0514_a.b-7-2{end}"))
        );
        assert_eq!(names, Names::new("20261122-0514_a.b", JobId(7), 2));
        assert_ne!(names.volume("/a"), names.volume("/b"));
    }

    #[test]
    fn what_has_no_job_yet_has_no_jobs_name() {
        let warm = Names::warm("a", 7);
        assert_eq!(warm.build(), "runwright-a-warm-7");
        assert_ne!(warm, Names::new("a", JobId(7), 0));
    }

    #[test]
    fn every_owner_makes_a_name_that_engines_accept_and_that_is_its_own() {
        let owners = [
            "",
            "a/b",
            "a b",
            "ab",
            "ä",
            "../../x",
            "\n\0$(id)",
            "x".repeat(24).as_str(),
            "x".repeat(25).as_str(),
            "x".repeat(70).as_str(),
        ]
        .map(str::to_owned);
        let mut seen = std::collections::HashSet::new();
        for owner in owners {
            let names = Names::new(&owner, JobId(u64::MAX), u32::MAX);
            for name in [names.service(255), names.network(), names.volume("/é")] {
                let valid = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
                assert!(name.chars().all(valid), "{name}");
                assert!(name.len() <= 100, "{name}");
            }
            assert!(seen.insert(names.build()), "{owner:?} has another's name");
        }
    }
}
