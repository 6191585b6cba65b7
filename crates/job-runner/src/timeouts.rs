//! The timeouts of a job and its stages, and the moments at which each must stop.

use crate::duration;
use crate::variables::expanded_value;
use executor_core::job::Job;
use executor_core::variable::JobVariables;
use executor_core::{BuildError, HumanDuration, RunnerConfig};
use std::time::Duration;
use tokio::time::Instant;

/// The timeout of a job without one: two hours.
pub(crate) const DEFAULT_JOB_TIMEOUT: Duration = Duration::from_hours(2);
/// The longest timeout, so that no moment overflows the clock.
const LONGEST_JOB_TIMEOUT: Duration = Duration::from_hours(24 * 365 * 10);
const DEFAULT_AFTER_SCRIPT: Duration = Duration::from_mins(5);
const LARGEST_BUDGET: Duration = Duration::from_mins(5);
const SMALLEST_BUDGET: Duration = Duration::from_secs(10);
const LEAST_AFTER_RESUME: Duration = Duration::from_secs(10);

/// The timeouts of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Timeouts {
    pub(crate) job: Duration,
    pub(crate) prepare: Option<Duration>,
    pub(crate) get_sources: Option<Duration>,
    /// All steps but `after_script` together.
    pub(crate) script: Option<Duration>,
    pub(crate) after_script: Duration,
}

impl Timeouts {
    /// Reads the timeouts of a job, with warnings about those that are ignored.
    ///
    /// # Errors
    ///
    /// [`BuildError::Config`] when a value becomes too long as its references are expanded.
    pub(crate) fn read(
        job: &Job,
        config: &RunnerConfig,
        variables: &JobVariables,
    ) -> Result<(Self, Vec<String>), BuildError> {
        let mut warnings = Vec::new();
        let whole = of_job(job);
        let mut from_variable = |name| {
            let (timeout, warning) = read_variable(variables, name, whole)?;
            warnings.extend(warning);
            Ok::<_, BuildError>(timeout)
        };
        let script = from_variable("RUNNER_SCRIPT_TIMEOUT")?;
        let after_script = from_variable("RUNNER_AFTER_SCRIPT_TIMEOUT")?;
        let mut from_config = |name: &str, value: Option<Duration>| {
            let zero = value.is_some_and(|value| value.is_zero());
            if zero {
                warnings.push(format!("{name} is zero; the job's timeout is used"));
            }
            value.filter(|_| !zero).map(|value| value.min(whole))
        };
        let timeouts = Self {
            job: whole,
            prepare: from_config("prepare_timeout", config.prepare_timeout),
            get_sources: from_config("get_sources_timeout", config.get_sources_timeout),
            script,
            after_script: after_script.unwrap_or(DEFAULT_AFTER_SCRIPT),
        };
        Ok((timeouts, warnings))
    }
}

/// Returns the timeout of the whole job.
pub(crate) fn of_job(job: &Job) -> Duration {
    match job.runner_info.timeout {
        0 => DEFAULT_JOB_TIMEOUT,
        seconds => Duration::from_secs(seconds).min(LONGEST_JOB_TIMEOUT),
    }
}

fn read_variable(
    variables: &JobVariables,
    name: &str,
    job: Duration,
) -> Result<(Option<Duration>, Option<String>), BuildError> {
    let Some(variable) = variables.variable(name) else {
        return Ok((None, None));
    };
    let text = &*expanded_value(variables, None, variable)?;
    if text.trim().is_empty() {
        return Ok((None, None));
    }
    let read = match duration::parse(text) {
        None => {
            let warning = format!("{name} is ignored: {text:?} is not a duration such as 1h30m");
            (None, Some(warning))
        }
        // Zero means no timeout.
        Some(Duration::ZERO) => (None, None),
        Some(timeout) if timeout > job => {
            let job = HumanDuration(job);
            let warning =
                format!("{name} is ignored: {text} is longer than the job's timeout, {job}");
            (None, Some(warning))
        }
        Some(timeout) => (Some(timeout), None),
    };
    Ok(read)
}

/// The moments of one job, counted from its start.
///
/// The last part of the job's time, the *finalisation budget*, is reserved for the end of the script and the
/// stages after it: a quarter for the script to react to a cancel, half for `after_script`, a quarter for
/// uploads. The budget is a tenth of the job's time, at least ten seconds (or a quarter of a job shorter than
/// 40 seconds), at most five minutes; zero when no stage follows the script.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadlines {
    start: Instant,
    job: Duration,
    budget: Duration,
}

impl Deadlines {
    pub(crate) fn new(start: Instant, job: Duration, budget: Duration) -> Self {
        Self { start, job, budget }
    }

    /// Returns the default budget of a job of this length.
    pub(crate) fn default_budget(job: Duration) -> Duration {
        let floor = SMALLEST_BUDGET.min(job / 4);
        (job / 10).max(floor).min(LARGEST_BUDGET)
    }

    /// Moves all moments so that a resumed job has some time after `now`: to read its result, or to be ended in its
    /// environment, although its own time may have passed while no process followed it.
    pub(crate) fn leave_time_after(&mut self, now: Instant) {
        let least = LEAST_AFTER_RESUME.min(self.job.saturating_sub(self.budget));
        self.postpone((now + least).saturating_duration_since(self.work_ends()));
    }

    /// Moves all moments by time that does not count as the job's.
    pub(crate) fn postpone(&mut self, by: Duration) {
        self.start += by;
    }

    /// Returns when the script, or a stage before it, is cancelled.
    pub(crate) fn work_ends(&self) -> Instant {
        self.start + self.job.saturating_sub(self.budget)
    }

    /// Returns when a cancelled script is killed; `None` leaves that to the executor's grace period.
    pub(crate) fn script_killed_at(&self) -> Option<Instant> {
        (!self.budget.is_zero()).then(|| self.work_ends() + self.budget / 4)
    }

    /// Returns when `after_script` is cancelled, regardless of its own timeout.
    pub(crate) fn after_script_ends(&self) -> Instant {
        self.end() - self.budget / 4
    }

    /// Returns when everything but cleanup stops.
    pub(crate) fn end(&self) -> Instant {
        self.start + self.job
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use executor_core::variable::JobVariable;

    fn read(name: &str, value: &str) -> (Timeouts, Vec<String>) {
        let mut job = Job::default();
        job.runner_info.timeout = 3600;
        let variables = [JobVariable::public(name, value)].into_iter().collect();
        Timeouts::read(&job, &RunnerConfig::new("r", "shell"), &variables).expect("short")
    }

    #[test]
    fn invalid_timeout_is_ignored_with_a_warning() {
        let check = |value, expect: Option<u64>, warned| {
            let (timeouts, warnings) = read("RUNNER_SCRIPT_TIMEOUT", value);
            assert_eq!(timeouts.script, expect.map(Duration::from_secs), "{value}");
            assert_eq!(!warnings.is_empty(), warned, "{value}: {warnings:?}");
        };
        check("30m", Some(1800), false);
        check("0", None, false);
        check("", None, false);
        check("-5s", None, true);
        check("soon", None, true);
        check("2h", None, true);
        let (timeouts, _) = read("RUNNER_AFTER_SCRIPT_TIMEOUT", "soon");
        assert_eq!(timeouts.after_script, DEFAULT_AFTER_SCRIPT);
    }

    #[test]
    fn budget_follows_the_length_of_the_job() {
        let check = |job, expect| {
            let budget = Deadlines::default_budget(Duration::from_secs(job));
            assert_eq!(budget, Duration::from_secs(expect), "job of {job} s");
        };
        check(7200, 300);
        check(600, 60);
        check(60, 10);
        check(20, 5);
    }

    #[tokio::test]
    async fn moments_are_in_order() {
        let start = Instant::now();
        let job = Duration::from_secs(100);
        let deadlines = Deadlines::new(start, job, Duration::from_secs(20));
        assert_eq!(deadlines.work_ends(), start + Duration::from_secs(80));
        assert_eq!(
            deadlines.script_killed_at(),
            Some(start + Duration::from_secs(85))
        );
        assert_eq!(
            deadlines.after_script_ends(),
            start + Duration::from_secs(95)
        );
        assert_eq!(deadlines.end(), start + job);
        assert_eq!(
            Deadlines::new(start, job, Duration::ZERO).script_killed_at(),
            None
        );
    }
}
