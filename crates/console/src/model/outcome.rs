//! How an attempt of a job ended, and the line that shows it.

use crate::text::{Mark, Style, Tone, columns, fit, seconds};
use executor_core::{FailureReason, PipelineId};
use scheduler::Status;
use std::time::Duration;

/// How an attempt of a job ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outcome {
    pub(crate) status: Status,
    pub(crate) exit_code: Option<i32>,
    pub(crate) reason: Option<FailureReason>,
    pub(crate) may_fail: bool,
    pub(crate) attempt: u32,
    pub(crate) duration: Duration,
    /// The pipeline whose result was reused, if the job did not run.
    pub(crate) reused: Option<PipelineId>,
}

impl Outcome {
    pub(crate) fn succeeded(&self) -> bool {
        self.status == Status::Success
    }

    /// Returns the line without its end; names take `width` columns, or more if they are longer.
    pub(crate) fn line(&self, name: &str, width: usize, style: Style) -> String {
        let (mark, tone) = self.mark();
        let mark = fit(style.mark(mark), style.mark_width(), "");
        let name = fit(name, width.max(columns(name)), "");
        let time = seconds(self.duration);
        let mut line = format!(
            "{} {}  {time:>6}",
            style.paint(tone, &mark),
            style.paint(Tone::Strong, &name)
        );
        let mut remarks = self.remarks();
        if self.status == Status::Canceled {
            remarks.insert(0, "canceled".to_owned());
        }
        if !remarks.is_empty() {
            let remarks = remarks.join(", ");
            line.push_str("  ");
            line.push_str(&style.paint(tone, &remarks));
        }
        line
    }

    /// Returns the end of a log that was shown as it came: `failed, exit code 1, 0.3s`.
    pub(crate) fn words(&self, style: Style) -> String {
        let mut words = vec![style.paint(self.mark().1, self.status.as_str())];
        words.extend(self.remarks());
        words.push(seconds(self.duration));
        words.join(", ")
    }

    fn mark(&self) -> (Mark, Tone) {
        match self.status {
            Status::Success => (Mark::Success, Tone::Good),
            Status::Failed if self.may_fail => (Mark::Allowed, Tone::Warning),
            Status::Canceled => (Mark::Canceled, Tone::Warning),
            _ => (Mark::Failure, Tone::Bad),
        }
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        match (self.exit_code, self.reason) {
            (Some(code), _) if code != 0 => remarks.push(format!("exit code {code}")),
            (None, Some(reason)) if self.status != Status::Canceled => {
                remarks.push(reason.as_str().to_owned());
            }
            _ => {}
        }
        if self.status == Status::Failed && self.may_fail {
            remarks.push("allowed".to_owned());
        }
        if self.attempt > 1 {
            remarks.push(format!("attempt {}", self.attempt));
        }
        if let Some(pipeline) = self.reused {
            remarks.push(format!("reused from run {pipeline}"));
        }
        remarks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_are_shown_as_a_line_and_as_words() {
        let check = |status, exit_code, may_fail, reused, line: &str, words: &str| {
            let outcome = Outcome {
                status,
                exit_code,
                reason: Some(FailureReason::JobCanceled),
                may_fail,
                attempt: 2,
                duration: Duration::from_millis(1250),
                reused,
            };
            assert_eq!(outcome.line("a", 3, Style::PLAIN), line);
            assert_eq!(outcome.words(Style::PLAIN), words);
        };
        check(
            Status::Canceled,
            None,
            false,
            None,
            "stop a      1.2s  canceled, attempt 2",
            "canceled, attempt 2, 1.2s",
        );
        check(
            Status::Failed,
            Some(3),
            true,
            None,
            "warn a      1.2s  exit code 3, allowed, attempt 2",
            "failed, exit code 3, allowed, attempt 2, 1.2s",
        );
        check(
            Status::Success,
            Some(0),
            false,
            Some(PipelineId(7)),
            "ok   a      1.2s  attempt 2, reused from run 7",
            "success, attempt 2, reused from run 7, 1.2s",
        );
    }
}
