use std::fmt;
use std::time::Duration;

/// What came of one check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The executor does what the contract says.
    Passed,
    /// It does not, for this reason.
    Failed(String),
    /// It need not, for this reason.
    Skipped(String),
}

/// One line of a [`Report`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckReport {
    /// The check.
    pub name: &'static str,
    /// What came of it.
    pub verdict: Verdict,
    /// How long it took.
    pub duration: Duration,
}

/// What the conformance suite found, check by check. `Display` prints it as a table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// The checks, in the order they ran.
    pub checks: Vec<CheckReport>,
}

impl Report {
    /// Returns whether no check failed.
    pub fn is_passed(&self) -> bool {
        self.failed().is_empty()
    }

    /// Returns the names of the checks that failed.
    pub fn failed(&self) -> Vec<&'static str> {
        self.names(|verdict| matches!(verdict, Verdict::Failed(_)))
    }

    /// Returns the names of the checks that were skipped.
    pub fn skipped(&self) -> Vec<&'static str> {
        self.names(|verdict| matches!(verdict, Verdict::Skipped(_)))
    }

    /// Returns the report of the check of this name.
    pub fn check(&self, name: &str) -> Option<&CheckReport> {
        self.checks.iter().find(|check| check.name == name)
    }

    /// Ends the test unless every check passed or was skipped.
    ///
    /// # Panics
    ///
    /// With the table, when a check failed or when there was none.
    #[track_caller]
    pub fn assert_passed(&self) {
        assert!(!self.checks.is_empty(), "no check ran");
        assert!(
            self.is_passed(),
            "the executor does not keep to the contract: {} failed\n{self}",
            self.failed().join(", ")
        );
    }

    fn names(&self, fits: impl Fn(&Verdict) -> bool) -> Vec<&'static str> {
        let fitting = self.checks.iter().filter(|check| fits(&check.verdict));
        fitting.map(|check| check.name).collect()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.checks.iter().map(|check| check.name.len()).max();
        let width = width.unwrap_or(0);
        for check in &self.checks {
            let (word, reason) = match &check.verdict {
                Verdict::Passed => ("passed", ""),
                Verdict::Failed(reason) => ("FAILED", reason.as_str()),
                Verdict::Skipped(reason) => ("skipped", reason.as_str()),
            };
            let line = format!(
                "{:width$}  {word:7}  {:7.3} s  {reason}",
                check.name,
                check.duration.as_secs_f64()
            );
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(verdicts: &[(&'static str, Verdict)]) -> Report {
        let checks = verdicts.iter().map(|(name, verdict)| CheckReport {
            name,
            verdict: verdict.clone(),
            duration: Duration::from_millis(1500),
        });
        Report {
            checks: checks.collect(),
        }
    }

    #[test]
    fn the_table_names_failures_and_skips_with_their_reasons() {
        let report = report(&[
            ("success", Verdict::Passed),
            ("terminal", Verdict::Skipped("there is none".to_owned())),
            ("exit_codes", Verdict::Failed("3 became 1".to_owned())),
        ]);
        assert_eq!(
            report.to_string(),
            "success     passed     1.500 s\n\
             terminal    skipped    1.500 s  there is none\n\
             exit_codes  FAILED     1.500 s  3 became 1\n"
        );
        assert_eq!(report.failed(), ["exit_codes"]);
        assert_eq!(report.skipped(), ["terminal"]);
    }

    #[test]
    #[should_panic(expected = "exit_codes failed")]
    fn a_failed_check_ends_the_test() {
        report(&[("exit_codes", Verdict::Failed("3 became 1".to_owned()))]).assert_passed();
    }

    #[test]
    #[should_panic(expected = "no check ran")]
    fn no_check_at_all_is_no_success() {
        Report::default().assert_passed();
    }
}
