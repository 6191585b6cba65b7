use executor_core::job::Job;
use gitlab_api::runner::{JOB_STATUS, RegisteredRunner, TRACE_UPDATE_INTERVAL};
use jiff::Timestamp;
use std::time::Duration;
use web::Response;

/// The longest time between two pieces of a log that a server may ask for.
const LONGEST_INTERVAL: Duration = Duration::from_mins(15);

/// The shortest and the longest pause that an overloaded server may ask for.
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_hours(1);

/// The answer to a request for a job.
#[derive(Debug)]
pub enum JobAnswer {
    /// A job.
    Job(Box<Job>),
    /// A job that this version cannot read; it has to be failed.
    Unreadable {
        /// The job's id.
        id: u64,
        /// Its token.
        token: String,
        /// The reason.
        reason: String,
    },
    /// None; the text is for the next request.
    None {
        /// The server's [`last_update`](gitlab_api::runner::JobRequest::last_update).
        last_update: String,
    },
    /// The server does not accept the runner's token.
    Forbidden,
    /// The server cannot answer now.
    Unavailable {
        /// The status.
        status: u16,
        /// The pause that it asks for.
        retry_after: Option<Duration>,
    },
}

/// The answer to an update of a job, or to a piece of its log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpdateAnswer {
    /// The status.
    pub status: u16,
    /// The state of the job at the server.
    pub job_status: JobStatus,
    /// The time between two pieces of a log.
    pub interval: Option<Duration>,
    /// The pause that an overloaded server asks for.
    pub retry_after: Option<Duration>,
    /// The length of the log that the server has.
    pub stored: Option<u64>,
}

impl UpdateAnswer {
    pub(super) fn of(response: &Response) -> Self {
        let seconds = |name: &str| {
            let value = response.header(name)?.trim().parse().ok()?;
            Some(Duration::from_secs(value))
        };
        let interval = seconds(TRACE_UPDATE_INTERVAL).filter(|it| !it.is_zero());
        let stored = response.header("range").and_then(|it| it.split_once('-'));
        Self {
            status: response.status,
            job_status: JobStatus::of(response.header(JOB_STATUS)),
            interval: interval.map(|it| it.min(LONGEST_INTERVAL)),
            retry_after: response.header("retry-after").and_then(pause),
            stored: stored.and_then(|(_, end)| end.trim().parse().ok()),
        }
    }

    /// Returns whether the server took the message.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

/// Reads `Retry-After`: seconds, or the time of the next attempt. A server can neither turn pauses off nor end the runner's work.
fn pause(text: &str) -> Option<Duration> {
    let text = text.trim();
    let seconds = text.parse::<f64>().ok().filter(|it| *it >= 0.0);
    let pause = if let Some(seconds) = seconds {
        Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
    } else {
        let at = jiff::fmt::rfc2822::parse(text).ok()?.timestamp();
        let until = at.duration_since(Timestamp::now());
        Duration::try_from(until).unwrap_or_default()
    };
    Some(pause.clamp(SHORTEST_PAUSE, LONGEST_PAUSE))
}

/// The state of a job at the server (`Job-Status`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum JobStatus {
    /// It runs, or the server says nothing about it.
    #[default]
    Running,
    /// It is to be canceled; `after_script` still runs.
    Canceling,
    /// It has ended at the server: canceled, failed or removed.
    Ended,
}

impl JobStatus {
    fn of(header: Option<&str>) -> Self {
        match header {
            Some("canceling") => Self::Canceling,
            Some("canceled" | "failed") => Self::Ended,
            _ => Self::Running,
        }
    }
}

/// The answer to a registration, a verification or a new token.
#[derive(Debug)]
pub enum RunnerAnswer {
    /// The runner is known.
    Runner(RegisteredRunner),
    /// The token is not accepted.
    Forbidden,
    /// Another refusal.
    Refused {
        /// The status.
        status: u16,
        /// The server's reason.
        reason: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_of_a_server_have_limits() {
        let seconds = |text| pause(text).map(|it| it.as_secs());
        for (text, expect) in [
            ("7", Some(7)),
            (" 2.5 ", Some(2)),
            ("0", Some(1)),
            ("100000000000", Some(3600)),
            ("18446744073709551615", Some(3600)),
            ("Wed, 21 Oct 2015 07:28:00 GMT", Some(1)),
            ("Wed, 21 Oct 2815 07:28:00 GMT", Some(3600)),
            ("soon", None),
            ("-1", None),
        ] {
            assert_eq!(seconds(text), expect, "{text}");
        }
    }
}
