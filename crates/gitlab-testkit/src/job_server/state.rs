use super::job::Job;
use super::watch::Action;
use super::{Call, Endpoint, RangeCheck, Rule, TraceCheck, Upload, Watch};
use crate::answer::Answer;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::{Duration, Instant};

/// The state of a [`JobServer`](super::JobServer): its calls, and its jobs by id.
#[derive(Debug)]
pub struct JobServerState {
    pub(crate) started: Instant,
    pub(crate) calls: Vec<Call>,
    pub(crate) queue: VecDeque<u64>,
    pub(crate) jobs: BTreeMap<u64, Job>,
    /// The jobs that were handed out and perhaps not acknowledged yet.
    pub(crate) unacknowledged: BTreeSet<u64>,
    pub(crate) rules: Vec<Rule>,
    pub(crate) watches: Vec<ArmedWatch>,
    pub(crate) due: Vec<DueAction>,
    pub(crate) artifacts: BTreeMap<u64, StoredFile>,
    pub(crate) runners: Runners,
    pub(crate) hold: Duration,
    pub(crate) requeue_after: Option<Duration>,
    pub(crate) trace_update_interval: Option<u64>,
    pub(crate) is_stopped: bool,
}

/// A watch, and the jobs for which it has acted.
#[derive(Debug)]
pub(crate) struct ArmedWatch {
    pub(crate) watch: Watch,
    pub(crate) done: BTreeSet<u64>,
}

/// The action of a watch, waiting for its time.
pub(crate) struct DueAction {
    pub(crate) at: Instant,
    pub(crate) job: u64,
    pub(crate) action: Action,
}

impl std::fmt::Debug for DueAction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DueAction")
            .field("at", &self.at)
            .field("job", &self.job)
            .finish_non_exhaustive()
    }
}

/// A file that jobs can download.
#[derive(Debug, Clone)]
pub(crate) struct StoredFile {
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
}

/// What the server knows about runner tokens.
#[derive(Debug, Default)]
pub(crate) struct Runners {
    /// The tokens that are accepted; `None` means all.
    pub(crate) accepted: Option<BTreeSet<String>>,
    pub(crate) revoked: BTreeSet<String>,
    /// The tokens of the coming resets.
    pub(crate) next_tokens: VecDeque<String>,
    pub(crate) created: u64,
    /// The number of jobs queued for all runners, and for each.
    pub(crate) queued_for_all: u64,
    pub(crate) queued_for: BTreeMap<String, u64>,
}

impl Runners {
    /// Returns whether a token belongs to a runner.
    pub(crate) fn knows(&self, token: &str) -> bool {
        let is_accepted = self.accepted.as_ref().is_none_or(|all| all.contains(token));
        is_accepted && !self.revoked.contains(token)
    }

    /// Returns the value of `X-GitLab-Last-Update` for a runner.
    pub(crate) fn last_update(&self, token: &str) -> String {
        let own = self.queued_for.get(token).copied().unwrap_or(0);
        format!("{:08x}", 0x1f0c_4d2e + self.queued_for_all + own)
    }
}

impl JobServerState {
    pub(crate) fn new() -> Self {
        Self {
            started: Instant::now(),
            calls: Vec::new(),
            queue: VecDeque::new(),
            jobs: BTreeMap::new(),
            unacknowledged: BTreeSet::new(),
            rules: Vec::new(),
            watches: Vec::new(),
            due: Vec::new(),
            artifacts: BTreeMap::new(),
            runners: Runners::default(),
            hold: Duration::ZERO,
            requeue_after: None,
            trace_update_interval: Some(3),
            is_stopped: false,
        }
    }

    /// Returns all calls in the order of their arrival.
    pub fn calls(&self) -> &[Call] {
        &self.calls
    }

    /// Returns the number of calls of an endpoint.
    pub fn count(&self, endpoint: Endpoint) -> usize {
        let all = self.calls.iter();
        all.filter(|call| call.endpoint == endpoint).count()
    }

    /// Returns the stored trace of a job; empty for an unknown job.
    pub fn trace(&self, job: u64) -> &[u8] {
        self.jobs.get(&job).map_or(&[], |job| &job.trace)
    }

    /// Returns the accepted final update of a job.
    pub fn final_update(&self, job: u64) -> Option<&Value> {
        self.jobs.get(&job)?.final_update.as_ref()
    }

    /// Returns the accepted uploads of a job.
    pub fn uploads(&self, job: u64) -> &[Upload] {
        self.jobs.get(&job).map_or(&[], |job| &job.uploads)
    }

    /// Returns whether a runner has acknowledged a job.
    pub fn is_acknowledged(&self, job: u64) -> bool {
        self.jobs.get(&job).is_some_and(|job| job.is_acknowledged)
    }

    /// Returns the `Job-Status` of a job.
    pub fn job_status(&self, job: u64) -> &str {
        self.jobs.get(&job).map_or("running", Job::status)
    }

    /// Returns how often a job was handed out.
    pub fn hand_outs(&self, job: u64) -> u64 {
        self.jobs.get(&job).map_or(0, |job| job.handed_out)
    }

    /// Returns the number of queued jobs.
    pub fn queued(&self) -> usize {
        self.queue.len()
    }

    /// Adds a job to the queue, or queues a known one again.
    pub(crate) fn queue(&mut self, payload: Value, runner: Option<String>) -> u64 {
        let id = payload["id"].as_u64().expect("a job has an id");
        let new = Job::new(payload, runner);
        let known = self.jobs.remove(&id);
        let (queued, handed_out) = known.map_or((0, 0), |job| (job.queued, job.handed_out));
        let job = Job {
            queued,
            handed_out,
            ..new
        };
        self.jobs.insert(id, job);
        self.enqueue(id);
        id
    }

    /// Puts a known job at the end of the queue.
    pub(crate) fn enqueue(&mut self, id: u64) {
        let Some(job) = self.jobs.get_mut(&id) else {
            return;
        };
        job.queued += 1;
        job.waiting_since = None;
        match &job.runner {
            None => self.runners.queued_for_all += 1,
            Some(token) => *self.runners.queued_for.entry(token.clone()).or_default() += 1,
        }
        self.queue.push_back(id);
    }

    /// Records a call with its checks; returns its number and the rule for it.
    pub(crate) fn arrived(&mut self, mut call: Call) -> (usize, Option<Rule>) {
        call.range_check = self.range_check(&call);
        call.trace_check = self.trace_check(&call);
        let mut rule = None;
        for one in &mut self.rules {
            // Every rule counts the call, the first that applies answers it.
            if one.applies(call.endpoint, call.job) && rule.is_none() {
                rule = Some(one.clone());
            }
        }
        self.calls.push(call);
        (self.calls.len() - 1, rule)
    }

    fn range_check(&self, call: &Call) -> Option<RangeCheck> {
        if call.endpoint != Endpoint::Trace {
            return None;
        }
        let (first, last) = call.content_range()?;
        let stored = self.trace(call.job?).len() as u64;
        let length = call.request.body.len() as u64;
        Some(RangeCheck {
            first_is_stored_size: first == stored,
            last_is_first_plus_length_minus_1: last.wrapping_add(1) == first.wrapping_add(length),
            first,
            stored,
        })
    }

    fn trace_check(&self, call: &Call) -> Option<TraceCheck> {
        if call.endpoint != Endpoint::UpdateFinal {
            return None;
        }
        let trace = self.trace(call.job?);
        let output = call.field("output");
        let checksum = format!("crc32:{:08x}", crc32fast::hash(trace));
        Some(TraceCheck {
            bytesize_equals_stored: output["bytesize"].as_u64() == Some(trace.len() as u64),
            checksum_equals_crc32_of_stored: output["checksum"].as_str() == Some(&checksum),
        })
    }

    /// Returns the job of a call, if its token may change the job.
    pub(crate) fn running_job(&mut self, call: &Call) -> Result<&mut Job, Answer> {
        let job = call.job.and_then(|id| self.jobs.get_mut(&id));
        let job = job.ok_or_else(|| Answer::message(404, "404 Not Found"))?;
        if job.handed_out == 0 || call.token().as_deref() != Some(&job.token) {
            return Err(Answer::forbidden());
        }
        if let Some(done) = &job.final_update {
            let state = done["state"].as_str().unwrap_or_default();
            let refusal = Answer::message(403, "403 Forbidden - Job is not running");
            return Err(refusal.header("job-status", state));
        }
        Ok(job)
    }

    /// Adds the headers that every answer to an update carries.
    pub(crate) fn with_update_headers(&self, answer: Answer, job: u64) -> Answer {
        let status = self.jobs.get(&job).map_or("running", Job::status);
        let answer = answer.header("job-status", status);
        match self.trace_update_interval {
            Some(seconds) => answer.header("x-gitlab-trace-update-interval", seconds.to_string()),
            None => answer,
        }
    }

    /// Plans the actions of watches whose text a job's trace contains.
    pub(crate) fn check_watches(&mut self, id: u64) {
        let Some(job) = self.jobs.get(&id) else {
            return;
        };
        let now = Instant::now();
        for armed in &mut self.watches {
            let watch = &armed.watch;
            let is_meant = watch.job.is_none_or(|job| job == id) && !armed.done.contains(&id);
            if is_meant && contains(&job.trace, watch.text.as_bytes()) {
                armed.done.insert(id);
                self.due.push(DueAction {
                    at: now + watch.wait,
                    job: id,
                    action: watch.action.clone(),
                });
            }
        }
    }
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    part.is_empty() || text.windows(part.len()).any(|window| window == part)
}
