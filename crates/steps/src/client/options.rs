use std::time::Duration;

/// How patient a client is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientOptions {
    /// How long the first connection may take to be there, with all attempts.
    ///
    /// An executor that has started the agent a moment ago gives it the time to begin.
    pub ready_within: Duration,
    /// How long one attempt to connect may take.
    pub connect_timeout: Duration,
    /// How long a short call may take to be answered.
    pub call_timeout: Duration,
    /// How long a connection that broke may be gone before the service counts as lost.
    pub lost_after: Duration,
    /// The wait after the first attempt that failed; it doubles with each.
    pub first_back_off: Duration,
    /// The longest wait between two attempts.
    pub longest_back_off: Duration,
    /// How long a connection may be silent before it is asked whether it lives, and how long it may take to say so.
    pub keep_alive: Duration,
    /// Silence after which the output is told that a partial line may be shown.
    pub idle_after: Duration,
    /// How long a request that was aborted may take to end, its service included.
    pub abort_within: Duration,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            ready_within: Duration::from_secs(15),
            connect_timeout: Duration::from_secs(10),
            call_timeout: Duration::from_secs(30),
            lost_after: Duration::from_secs(30),
            first_back_off: Duration::from_millis(20),
            longest_back_off: Duration::from_secs(2),
            keep_alive: Duration::from_secs(5),
            idle_after: Duration::from_millis(100),
            abort_within: Duration::from_secs(10),
        }
    }
}
