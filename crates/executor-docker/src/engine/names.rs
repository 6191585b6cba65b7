//! The names of a job's objects in the engine.

use executor_core::job::JobId;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;

/// The length limit of an owner in a name.
const LONGEST_OWNER: usize = 24;

/// The names of all objects that one attempt of a job has in the engine.
///
/// They derive from the owner, the job and the attempt alone, so that a restarted runner finds its objects. The
/// names of project and job are in [labels](crate::engine::labels::Labels), which allow every character.
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
    /// An owner that does not fit into a name is shortened and gets a part of its hash, so that no two owners share
    /// names.
    pub fn new(owner: &str, job: JobId, attempt: u32) -> Self {
        Self {
            base: format!("runwright-{}-{job}-{attempt}", owner_part(owner)),
        }
    }

    /// Returns the names of the warm container `number` of `owner`.
    pub fn warm(owner: &str, number: u32) -> Self {
        Self {
            base: format!("runwright-{}-warm-{number}", owner_part(owner)),
        }
    }

    /// Returns the name of the job's container.
    pub fn build(&self) -> String {
        self.base.clone()
    }

    /// Returns the name of the helper container.
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

    /// Returns the name of the job's own volume at `destination`.
    pub fn volume(&self, destination: &str) -> String {
        format!("{}-volume-{}", self.base, short_hash(destination))
    }

    /// Returns the prefix of all these names. No other attempt has a name that is this prefix, or begins with it and a
    /// hyphen.
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
    fn warm_containers_do_not_have_names_of_jobs() {
        let warm = Names::warm("a", 7);
        assert_eq!(warm.build(), "runwright-a-warm-7");
        assert_ne!(warm, Names::new("a", JobId(7), 0));
    }

    #[test]
    fn every_owner_has_unique_names_that_engines_accept() {
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
