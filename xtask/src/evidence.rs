//! Whether a test does what a requirement's check asks for: reach an engine, run a client, kill a process.

use std::collections::BTreeSet;

use crate::source::{PackageTests, TestFn};
use crate::workspace::Package;

/// Says where the engine of the tests is; only a test that reads one of them can reach it.
const ENGINE: [&str; 2] = [crate::docker::ADDRESS, crate::docker::SOCKET];

/// Starts a program, in the words of a test.
const STARTS: [&str; 2] = ["Command", "CommandBuilder"];

/// Ends a process without warning, or cuts what a job depends on.
const KILLS: [&str; 6] = [
    "kill",
    "KILL",
    "SIGKILL",
    "kill_process",
    "RUNWRIGHT_FAIL_POINT",
    "Cut",
];

/// The clients that lines of the list name.
const CLIENTS: [&str; 10] = [
    "aws", "curl", "docker", "git", "glab", "openssl", "podman", "python", "skopeo", "sshd",
];

/// What a test does, as far as its own words and those of its helpers show it.
#[derive(Debug)]
pub(crate) struct Evidence<'a> {
    words: BTreeSet<&'a str>,
    /// The test sees its package from outside, and the package starts processes.
    runs_processes: bool,
}

impl<'a> Evidence<'a> {
    /// Collects what a test of a package does. Helpers of unit tests are not followed: there every function of the
    /// crate has its words, and a test would seem to do whatever the crate can.
    pub(crate) fn of(package: &Package, tests: &'a PackageTests, test: &'a TestFn) -> Self {
        let words = if tests.is_integration {
            tests.reach(test)
        } else {
            test.words.iter().map(String::as_str).collect()
        };
        let starts_processes = package
            .dependencies
            .iter()
            .any(|dependency| dependency.kind.is_none() && dependency.folder() == Some("process"));
        Self {
            words,
            runs_processes: tests.is_integration && starts_processes,
        }
    }

    /// Returns whether the test does what a check asks for. The kind is the first word of the check, or several that
    /// are joined by a slash: then one of them is enough. A check that names no kind is taken on trust.
    pub(crate) fn satisfies(&self, check: &str) -> bool {
        let kinds = check
            .split(|c: char| !(c.is_ascii_uppercase() || c == '/'))
            .next()
            .unwrap_or_default();
        kinds.split('/').any(|kind| match kind {
            "D" => self.has_literal_with(&ENGINE),
            "K" => self.has_word(&KILLS),
            "P" => self.runs_processes || self.has_word(&STARTS),
            "X" => {
                let named: Vec<_> = CLIENTS
                    .into_iter()
                    .filter(|it| check.contains(it))
                    .collect();
                self.has_literal_with(&named)
            }
            _ => true,
        })
    }

    fn has_word(&self, words: &[&str]) -> bool {
        let bare = |word: &str| word.trim_matches('"').to_owned();
        self.words.iter().any(|word| words.contains(&&*bare(word)))
    }

    fn has_literal_with(&self, parts: &[&str]) -> bool {
        let mut literals = self.words.iter().filter(|word| word.contains('"'));
        literals.any(|literal| parts.iter().any(|part| literal.contains(part)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evidence<'a>(words: &[&'a str], runs_processes: bool) -> Evidence<'a> {
        Evidence {
            words: words.iter().copied().collect(),
            runs_processes,
        }
    }

    #[test]
    fn an_engine_is_reached_by_its_address_alone() {
        assert!(evidence(&["\"RUNWRIGHT_TEST_DOCKER\""], false).satisfies("D: inspect."));
        assert!(!evidence(&["docker", "\"docker\""], true).satisfies("D: inspect."));
    }

    #[test]
    fn a_client_is_the_one_that_the_check_names() {
        assert!(evidence(&["\"python3\""], false).satisfies("X python grpcio client."));
        assert!(!evidence(&["\"curl\""], false).satisfies("X python grpcio client."));
    }

    #[test]
    fn a_kill_and_a_process_are_shown_by_what_a_test_calls() {
        assert!(evidence(&["Signal", "KILL"], false).satisfies("K: at random times."));
        assert!(!evidence(&["cancel"], false).satisfies("K: at random times."));
        assert!(evidence(&["Command"], false).satisfies("P."));
        assert!(evidence(&[], true).satisfies("P exit codes."));
        assert!(!evidence(&[], false).satisfies("P."));
    }

    #[test]
    fn one_of_several_kinds_is_enough_and_other_checks_are_not_looked_at() {
        assert!(evidence(&["Command"], false).satisfies("P/K: inject garbage."));
        assert!(evidence(&[], false).satisfies("U golden."));
        assert!(evidence(&[], false).satisfies("review."));
    }
}
