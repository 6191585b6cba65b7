use std::time::Duration;

/// What one request may cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// How long one attempt may take, with lookups, redirects and body.
    pub deadline: Duration,
    /// How long all attempts may take, with the pauses between them.
    pub overall: Duration,
    /// How many redirects are followed.
    pub redirects: usize,
    /// How long a response may be, in bytes.
    pub bytes: usize,
    /// How many attempts are made when a server is overloaded, broken or silent.
    pub attempts: usize,
    /// The pause before the second attempt; it doubles before each later one.
    pub pause: Duration,
    /// The longest `Retry-After` that is honoured; when a server asks for more, its response is final.
    pub patience: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            deadline: Duration::from_secs(10),
            overall: Duration::from_secs(40),
            redirects: 3,
            bytes: 16 << 20,
            attempts: 3,
            pause: Duration::from_millis(250),
            patience: Duration::from_secs(10),
        }
    }
}
