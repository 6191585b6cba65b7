use std::time::Duration;

/// What one request may cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// The longest an attempt may take, redirects and body included.
    pub deadline: Duration,
    /// How many redirects are followed.
    pub redirects: usize,
    /// How long an answer may be, in bytes.
    pub bytes: usize,
    /// How often it is tried when a server is overloaded, broken or silent.
    pub attempts: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            deadline: Duration::from_secs(10),
            redirects: 3,
            bytes: 16 << 20,
            attempts: 3,
        }
    }
}
