use std::time::Duration;

/// How long is waited for the engine.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EngineOptions {
    /// Until it has said who it is. Default: 10 s.
    pub connect: Duration,
    /// Until it begins to answer any other call. Default: 2 min.
    pub call: Duration,
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            call: Duration::from_mins(2),
        }
    }
}
