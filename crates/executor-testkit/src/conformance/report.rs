use executor_core::HumanDuration;
use std::fmt;
use std::time::Duration;

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The executor obeys the contract.
    Passed,
    /// The executor violates the contract, for this reason.
    Failed(String),
    /// The check does not apply, for this reason.
    Skipped(String),
}

/// One line of a [`Report`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckReport {
    /// The check.
    pub name: &'static str,
    /// What the contract demands, in one sentence.
    pub contract: &'static str,
    /// Its result.
    pub verdict: Verdict,
    /// Its duration.
    pub duration: Duration,
}

/// The results of the conformance suite. `Display` prints them as a table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// The checks in their order.
    pub checks: Vec<CheckReport>,
    /// The checks excluded by [`SuiteOptions::only`](crate::SuiteOptions::only).
    pub left_out: Vec<&'static str>,
}

impl Report {
    /// Returns whether the whole suite ran and no check failed.
    pub fn is_passed(&self) -> bool {
        self.is_whole() && self.failed().is_empty()
    }

    /// Returns whether no check was excluded. Skipped checks do not count as excluded.
    pub fn is_whole(&self) -> bool {
        self.left_out.is_empty() && !self.checks.is_empty()
    }

    /// Returns the names of the checks that failed.
    pub fn failed(&self) -> Vec<&'static str> {
        self.names(|verdict| matches!(verdict, Verdict::Failed(_)))
    }

    /// Returns the names of the checks that were skipped.
    pub fn skipped(&self) -> Vec<&'static str> {
        self.names(|verdict| matches!(verdict, Verdict::Skipped(_)))
    }

    /// Returns the report of the check with this name.
    pub fn check(&self, name: &str) -> Option<&CheckReport> {
        self.checks.iter().find(|check| check.name == name)
    }

    /// Panics unless the whole suite ran and every check passed or was skipped.
    ///
    /// # Panics
    ///
    /// With the table, when a check failed. Also when [`SuiteOptions::only`] excluded checks; for a part of
    /// the suite see [`assert_part_passed`](Self::assert_part_passed).
    ///
    /// [`SuiteOptions::only`]: crate::SuiteOptions::only
    #[track_caller]
    pub fn assert_passed(&self) {
        self.assert_none_failed();
        assert!(
            self.is_whole(),
            "this was a part of the suite, without {}",
            self.left_out.join(", ")
        );
    }

    /// Panics unless every check named by [`SuiteOptions::only`] passed.
    ///
    /// # Panics
    ///
    /// With the table, when a check failed or was skipped: a named check must run.
    ///
    /// [`SuiteOptions::only`]: crate::SuiteOptions::only
    #[track_caller]
    pub fn assert_part_passed(&self) {
        self.assert_none_failed();
        let skipped = self.skipped();
        assert!(
            skipped.is_empty(),
            "{} did not run\n{self}",
            skipped.join(", ")
        );
    }

    #[track_caller]
    fn assert_none_failed(&self) {
        assert!(!self.checks.is_empty(), "no check ran");
        let failed = self.failed();
        assert!(
            failed.is_empty(),
            "the executor violates the contract: {} failed\n{self}",
            failed.join(", ")
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
                "{:width$}  {word:7}  {:>8.3}  {reason}",
                check.name,
                HumanDuration(check.duration)
            );
            writeln!(f, "{}", line.trim_end())?;
        }
        match self.left_out.len() {
            0 => Ok(()),
            1 => writeln!(f, "1 check was left out"),
            count => writeln!(f, "{count} checks were left out"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(verdicts: &[(&'static str, Verdict)]) -> Report {
        let checks = verdicts.iter().map(|(name, verdict)| CheckReport {
            name,
            contract: "It does.",
            verdict: verdict.clone(),
            duration: Duration::from_millis(1500),
        });
        Report {
            checks: checks.collect(),
            left_out: Vec::new(),
        }
    }

    #[test]
    fn table_shows_failures_and_skips_with_reasons() {
        let report = report(&[
            ("success", Verdict::Passed),
            ("terminal", Verdict::Skipped("there is none".to_owned())),
            ("exit_codes", Verdict::Failed("3 became 1".to_owned())),
        ]);
        assert_eq!(
            report.to_string(),
            "success     passed     1.500s\n\
             terminal    skipped    1.500s  there is none\n\
             exit_codes  FAILED     1.500s  3 became 1\n"
        );
        assert_eq!(report.failed(), ["exit_codes"]);
        assert_eq!(report.skipped(), ["terminal"]);
    }

    #[test]
    #[should_panic(expected = "exit_codes failed")]
    fn failed_check_panics() {
        report(&[("exit_codes", Verdict::Failed("3 became 1".to_owned()))]).assert_passed();
    }

    #[test]
    #[should_panic(expected = "this was a part of the suite, without signals")]
    fn part_does_not_pass_as_the_whole_suite() {
        let mut report = report(&[("success", Verdict::Passed)]);
        report.left_out.push("signals");
        assert!(!report.is_passed() && !report.is_whole());
        assert!(report.to_string().ends_with("1 check was left out\n"));
        report.assert_part_passed();
        report.assert_passed();
    }

    #[test]
    #[should_panic(expected = "terminal did not run")]
    fn skipped_named_check_has_not_passed() {
        report(&[("terminal", Verdict::Skipped("there is none".to_owned()))]).assert_part_passed();
    }

    #[test]
    #[should_panic(expected = "no check ran")]
    fn empty_report_has_not_passed() {
        Report::default().assert_passed();
    }
}
