//! The running jobs, for `/debug/jobs/list`.

use executor_core::job::{Job, JobId};
use executor_core::{ActiveJobs, RunnerConfig};
use jiff::Timestamp;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use web::Url;

/// The running jobs. Clones share one list.
#[derive(Debug, Clone)]
pub(crate) struct JobList {
    active: ActiveJobs,
    /// What the list of running jobs does not have, by job and runner: ids of two servers may be equal.
    details: Arc<Mutex<BTreeMap<Key, Details>>>,
}

type Key = (JobId, String);

#[derive(Debug)]
struct Details {
    url: String,
    started: Instant,
}

/// A job in the list until this is dropped.
#[derive(Debug)]
pub(crate) struct ListedJob {
    list: JobList,
    key: Key,
    started: Instant,
}

impl JobList {
    pub(crate) fn new(active: ActiveJobs) -> Self {
        Self {
            active,
            details: Arc::default(),
        }
    }

    /// Adds a job of a server, which an earlier process may have accepted.
    pub(crate) fn add(
        &self,
        job: &Job,
        accepted_at: Timestamp,
        server: &Url,
        config: &RunnerConfig,
    ) -> ListedJob {
        let key = (job.id, config.short_token().to_owned());
        // A clock that was set back makes it negative.
        let age = Timestamp::now().duration_since(accepted_at).try_into();
        let now = Instant::now();
        let started = now.checked_sub(age.unwrap_or_default()).unwrap_or(now);
        let url = page_of(job, server);
        let details = Details { url, started };
        self.details.lock().insert(key.clone(), details);
        ListedJob {
            list: self.clone(),
            key,
            started,
        }
    }

    /// Returns a line for each running job, in the order in which they began:
    ///
    /// ```text
    /// url=https://gitlab.example.com/group/project/-/jobs/7 state=running stage=step_script executor_stage=run duration=1m16.25s
    /// ```
    ///
    /// The form is GitLab Runner's (version 2). `stage` is empty before the first stage.
    pub(crate) fn lines(&self) -> String {
        let mut lines = String::new();
        let jobs = self.active.scrape();
        let details = self.details.lock();
        for job in jobs {
            let Some(Details { url, started }) = details.get(&(job.id, job.runner_token)) else {
                continue;
            };
            // Writing to a text does not fail.
            let _ = writeln!(
                lines,
                "url={url} state={} stage={} executor_stage={} duration={}",
                job.state,
                job.stage,
                job.executor_stage,
                go_duration(started.elapsed()),
            );
        }
        lines
    }
}

impl ListedJob {
    /// Returns the time since the job was accepted.
    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }
}

impl Drop for ListedJob {
    fn drop(&mut self) {
        self.list.details.lock().remove(&self.key);
    }
}

/// Returns the address of the job's page.
fn page_of(job: &Job, server: &Url) -> String {
    let mut page = server.clone();
    // These fail for addresses without a host only.
    let _ = page.set_username("");
    let _ = page.set_password(None);
    if let Ok(mut path) = page.path_segments_mut() {
        path.pop_if_empty();
        path.extend(job.job_info.project_full_path.split('/'));
        path.extend(["-", "jobs"]).push(&job.id.to_string());
    }
    page.to_string()
}

/// Returns a duration as Go writes it, to the millisecond.
fn go_duration(duration: Duration) -> String {
    let milliseconds = duration.as_millis();
    if (1..1000).contains(&milliseconds) {
        return format!("{milliseconds}ms");
    }
    let (minutes, rest) = (milliseconds / 60_000, milliseconds % 60_000);
    let fraction = match rest % 1000 {
        0 => String::new(),
        fraction => format!(".{fraction:03}").trim_end_matches('0').to_owned(),
    };
    let seconds = format!("{}{fraction}s", rest / 1000);
    match (minutes / 60, minutes % 60) {
        (0, 0) => seconds,
        (0, minutes) => format!("{minutes}m{seconds}"),
        (hours, minutes) => format!("{hours}h{minutes}m{seconds}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_those_of_go() {
        let check = |milliseconds: u64, expect: &str| {
            assert_eq!(go_duration(Duration::from_millis(milliseconds)), expect);
        };
        check(0, "0s");
        check(350, "350ms");
        check(1000, "1s");
        check(76_250, "1m16.25s");
        check(3_600_001, "1h0m0.001s");
    }

    #[test]
    fn the_page_of_a_job_has_no_credentials() {
        let mut job = Job {
            id: JobId(7),
            ..Job::default()
        };
        job.job_info.project_full_path = "group/a b\n".to_owned();
        let server = Url::parse("https://user:secret@gitlab.example/sub").expect("an address");
        assert_eq!(
            page_of(&job, &server),
            "https://gitlab.example/sub/group/a%20b/-/jobs/7"
        );
    }
}
