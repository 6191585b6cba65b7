use serde_json::Value;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// An action that the server takes when a text appears in a job's trace.
#[derive(Clone)]
pub struct Watch {
    pub(crate) text: String,
    pub(crate) job: Option<u64>,
    pub(crate) wait: Duration,
    pub(crate) action: Action,
}

#[derive(Clone)]
pub(crate) enum Action {
    SetStatus(String),
    Call(Arc<dyn Fn() + Send + Sync>),
}

impl Watch {
    /// Returns a watch that sets the `Job-Status` of the job from then on.
    pub fn set_status(text: &str, status: &str) -> Self {
        Self::new(text, Action::SetStatus(status.to_owned()))
    }

    /// Returns a watch that calls a function, on a thread of the server.
    pub fn call(text: &str, function: impl Fn() + Send + Sync + 'static) -> Self {
        Self::new(text, Action::Call(Arc::new(function)))
    }

    fn new(text: &str, action: Action) -> Self {
        Self {
            text: text.to_owned(),
            job: None,
            wait: Duration::ZERO,
            action,
        }
    }

    /// Reads a watch of a recording: `trace_contains`, `wait`, and `job_status` or `signal`. The function receives the
    /// name of the signal, such as `SIGTERM`.
    ///
    /// # Panics
    ///
    /// If the watch has neither a status nor a signal.
    pub fn from_json(json: &Value, send: impl Fn(&str) + Send + Sync + 'static) -> Self {
        let text = json["trace_contains"].as_str().unwrap_or_default();
        let watch = match (json["job_status"].as_str(), json["signal"].as_str()) {
            (Some(status), _) => Self::set_status(text, status),
            (None, Some(signal)) => {
                let signal = signal.to_owned();
                Self::call(text, move || send(&signal))
            }
            (None, None) => panic!("invalid watch {json}: expected job_status or signal"),
        };
        watch.wait(Duration::from_secs_f64(
            json["wait"].as_f64().unwrap_or(0.0),
        ))
    }

    /// Waits between the text and the action.
    pub fn wait(mut self, wait: Duration) -> Self {
        self.wait = wait;
        self
    }

    /// Limits the watch to one job.
    pub fn job(mut self, id: u64) -> Self {
        self.job = Some(id);
        self
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch")
            .field("text", &self.text)
            .field("job", &self.job)
            .field("wait", &self.wait)
            .finish_non_exhaustive()
    }
}
