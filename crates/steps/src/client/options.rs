use std::time::Duration;

/// The timeouts of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientOptions {
    /// How long the first connection may take, with all attempts.
    ///
    /// It covers the start of an agent that an executor has just started.
    pub ready_within: Duration,
    /// How long one attempt to connect may take.
    pub connect_timeout: Duration,
    /// How long a short call may take.
    pub call_timeout: Duration,
    /// How long a connection may be broken before the service counts as lost.
    pub lost_after: Duration,
    /// The delay after the first failed attempt; it doubles with each.
    pub first_back_off: Duration,
    /// The longest delay between two attempts.
    pub longest_back_off: Duration,
    /// How long a connection may be silent before it is checked, and how long the check may take.
    pub keep_alive: Duration,
    /// How long the log may be silent before a partial line is shown.
    pub idle_after: Duration,
    /// How long an aborted request may take to end.
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
