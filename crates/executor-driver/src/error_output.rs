//! What a driver says beside its answers: its standard error, and the lines for one job.

use executor_core::JobTrace;
use executor_core::trace::JobTraceExt;
use executor_core::variable::{JobVariables, without_secrets};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How much error output is kept.
const LIMIT: usize = 4000;

/// How much of it is written to the log of one job.
const LIMIT_OF_JOB: usize = 64 * 1024;

/// Collects the standard error of a driver: each line goes to the logs of the jobs, the last ones to its errors.
#[derive(Debug, Default)]
pub(crate) struct ErrorOutput {
    kept: Mutex<Kept>,
    logs: Arc<JobLogs>,
}

/// The logs of the jobs that are in a driver.
///
/// A driver prints for all of them together, so each log gets each line, without the secrets of any. A line that it sends for one job is in
/// the log of that job alone.
#[derive(Debug, Default)]
pub(crate) struct JobLogs(Mutex<BTreeMap<String, JobLog>>);

#[derive(Debug)]
struct JobLog {
    trace: Arc<dyn JobTrace>,
    variables: Arc<JobVariables>,
    /// How many bytes are still written.
    left: usize,
}

impl JobLogs {
    /// Adds the log of the job in an environment.
    pub(crate) fn add(
        &self,
        environment: &str,
        trace: Arc<dyn JobTrace>,
        variables: Arc<JobVariables>,
    ) {
        let log = JobLog {
            trace,
            variables,
            left: LIMIT_OF_JOB,
        };
        self.0.lock().insert(environment.to_owned(), log);
    }

    /// Removes the log of the job in an environment, which has ended.
    pub(crate) fn remove(&self, environment: &str) {
        self.0.lock().remove(environment);
    }

    /// Writes a line to the log of the job in an environment, or to all.
    fn line(&self, environment: Option<&str>, line: &str) {
        let mut logs = self.0.lock();
        let is_written = |(name, log): (&String, &JobLog)| {
            log.left > 0 && environment.is_none_or(|environment| environment == name)
        };
        if !logs.iter().any(is_written) {
            return;
        }
        let variables: Vec<_> = logs
            .values()
            .map(|log| Arc::clone(&log.variables))
            .collect();
        let line = without_secrets(line, variables.iter().flat_map(|it| it.iter()));
        for (_, log) in logs
            .iter_mut()
            .filter(|(name, log)| is_written((name, log)))
        {
            log.left = log.left.saturating_sub(line.len() + 1);
            if log.left > 0 {
                log.trace.system_line(&format!("driver: {line}"));
            } else {
                log.trace
                    .system_line("driver: (the rest of its lines is left out)");
            }
        }
    }
}

#[derive(Debug, Default)]
struct Kept {
    text: String,
    /// Where in `text` the current line starts.
    line: usize,
}

impl ErrorOutput {
    pub(crate) fn new(logs: Arc<JobLogs>) -> Self {
        Self {
            kept: Mutex::default(),
            logs,
        }
    }

    /// Appends bytes, and logs the lines that they complete.
    pub(crate) fn push(&self, bytes: &[u8]) {
        let mut kept = self.kept.lock();
        kept.text.push_str(&String::from_utf8_lossy(bytes));
        while let Some(end) = kept.text[kept.line..].find('\n') {
            let line = &kept.text[kept.line..kept.line + end];
            tracing::info!(line, "The driver wrote to its standard error.");
            self.logs.line(None, line);
            kept.line += end + 1;
        }
        if let Some(over) = kept.text.len().checked_sub(LIMIT) {
            let cut = kept.text.ceil_char_boundary(over);
            kept.text.drain(..cut);
            kept.line = kept.line.saturating_sub(cut);
        }
    }

    /// Writes the lines of a call to the log of the job that it concerns.
    pub(crate) fn log(&self, environment: Option<&str>, text: &[u8]) {
        for line in String::from_utf8_lossy(text).lines() {
            if environment.is_some() {
                self.logs.line(environment, line);
            } else {
                tracing::info!(line, "The driver wrote to its log.");
            }
        }
    }

    /// Returns the last lines, unless there are none.
    pub(crate) fn text(&self) -> Option<String> {
        let kept = self.kept.lock();
        let text = kept.text.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_of_a_job_gets_a_limited_part() {
        let logs = Arc::new(JobLogs::default());
        let output = ErrorOutput::new(Arc::clone(&logs));
        let trace = executor_testkit::RecordingTrace::new();
        logs.add("one", Arc::new(trace.clone()), Arc::default());
        for _ in 0..100 {
            output.push(format!("{}\n", "x".repeat(1000)).as_bytes());
        }
        let text = trace.text(executor_core::TraceStream::SYSTEM);
        assert!(text.len() < LIMIT_OF_JOB + 2000, "{}", text.len());
        assert_eq!(text.matches("left out").count(), 1);
    }

    #[test]
    fn long_output_keeps_its_end() {
        let output = ErrorOutput::default();
        assert_eq!(output.text(), None);
        for _ in 0..3000 {
            output.push("é\n".as_bytes());
        }
        output.push("the énd".as_bytes());
        let text = output.text().unwrap();
        assert!(text.ends_with("é\nthe énd") && text.len() <= LIMIT);
    }
}
