use super::Upload;
use serde_json::Value;
use std::time::Instant;

/// A job that a test queued.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) payload: Value,
    pub(crate) token: String,
    /// The only runner that may have it, by token.
    pub(crate) runner: Option<String>,
    /// How often it was queued.
    pub(crate) queued: u64,
    /// How often it was handed out.
    pub(crate) handed_out: u64,
    /// When it was handed out, or reported as pending, for the last time.
    pub(crate) waiting_since: Option<Instant>,
    pub(crate) is_acknowledged: bool,
    /// The `Job-Status` that the test set.
    pub(crate) status: Option<String>,
    pub(crate) trace: Vec<u8>,
    /// The accepted final update.
    pub(crate) final_update: Option<Value>,
    pub(crate) uploads: Vec<Upload>,
}

impl Job {
    pub(crate) fn new(payload: Value, runner: Option<String>) -> Self {
        let token = payload["token"].as_str().expect("a job has a token");
        Self {
            token: token.to_owned(),
            payload,
            runner,
            queued: 0,
            handed_out: 0,
            waiting_since: None,
            is_acknowledged: false,
            status: None,
            trace: Vec::new(),
            final_update: None,
            uploads: Vec::new(),
        }
    }

    /// Returns the value of `Job-Status`.
    pub(crate) fn status(&self) -> &str {
        self.status.as_deref().unwrap_or("running")
    }

    /// Returns whether the runner has it but has not acknowledged it.
    pub(crate) fn waits_for_acknowledgement(&self) -> bool {
        self.waiting_since.is_some() && !self.is_acknowledged && self.final_update.is_none()
    }
}
