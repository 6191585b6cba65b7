use std::time::Duration;

/// What one request may cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// The longest an attempt may take, lookups, redirects and body included.
    pub deadline: Duration,
    /// The longest all attempts may take, with what is waited between them.
    pub overall: Duration,
    /// How many redirects are followed.
    pub redirects: usize,
    /// How long an answer may be, in bytes.
    pub bytes: usize,
    /// How often it is tried when a server is overloaded, broken or silent.
    pub attempts: usize,
    /// How long to wait before the second attempt; twice as long before each one after it.
    pub pause: Duration,
    /// How long a server may ask to be left alone; when it asks for longer, its answer is the last.
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
