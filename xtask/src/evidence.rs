//! Whether a test does what a requirement's check asks for: connect to an engine, run a client, kill a process.

use std::collections::BTreeSet;

use crate::source::{PackageTests, TestFn};
use crate::workspace::Package;

/// The variables with the engine's address; only a test that reads one of them can connect.
const ENGINE: [&str; 2] = [crate::docker::ADDRESS, crate::docker::SOCKET];

/// The identifiers with which a test starts a program.
const STARTS: [&str; 2] = ["Command", "CommandBuilder"];

/// The identifiers with which a test kills a process, or cuts off something a job depends on.
const KILLS: [&str; 6] = [
    "kill",
    "KILL",
    "SIGKILL",
    "kill_process",
    "RUNWRIGHT_FAIL_POINT",
    "Cut",
];

/// The clients named in the requirements list.
const CLIENTS: [&str; 10] = [
    "aws", "curl", "docker", "git", "glab", "openssl", "podman", "python", "skopeo", "sshd",
];

/// What a test does, according to the identifiers and literals of its body and its helpers.
#[derive(Debug)]
pub(crate) struct Evidence<'a> {
    words: BTreeSet<&'a str>,
    /// The test is an integration test, and its package starts processes.
    runs_processes: bool,
}

impl<'a> Evidence<'a> {
    /// Collects what a test of a package does. Helpers of unit tests are not followed: all functions of the crate are
    /// in reach there, and a test would seem to do everything that the crate can.
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

    /// Returns whether the test satisfies a check. The kind is the first word of the check, or several words joined
    /// by a slash, of which one is enough. A check without a kind counts as satisfied.
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
    fn only_the_address_is_evidence_of_an_engine() {
        assert!(evidence(&["\"RUNWRIGHT_TEST_DOCKER\""], false).satisfies("D: inspect."));
        assert!(!evidence(&["docker", "\"docker\""], true).satisfies("D: inspect."));
    }

    #[test]
    fn client_must_be_the_one_in_the_check() {
        assert!(evidence(&["\"python3\""], false).satisfies("X python grpcio client."));
        assert!(!evidence(&["\"curl\""], false).satisfies("X python grpcio client."));
    }

    #[test]
    fn calls_are_evidence_of_kills_and_processes() {
        assert!(evidence(&["Signal", "KILL"], false).satisfies("K: at random times."));
        assert!(!evidence(&["cancel"], false).satisfies("K: at random times."));
        assert!(evidence(&["Command"], false).satisfies("P."));
        assert!(evidence(&[], true).satisfies("P exit codes."));
        assert!(!evidence(&[], false).satisfies("P."));
    }

    #[test]
    fn one_kind_is_enough_and_other_checks_pass() {
        assert!(evidence(&["Command"], false).satisfies("P/K: inject garbage."));
        assert!(evidence(&[], false).satisfies("U golden."));
        assert!(evidence(&[], false).satisfies("review."));
    }
}
