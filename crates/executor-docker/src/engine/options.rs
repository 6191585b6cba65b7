use std::time::Duration;

/// How the engine is reached, and how long is waited for it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct EngineOptions {
    /// Until it has said who it is. Default: 10 s.
    pub connect: Duration,
    /// Until it begins to answer any other call. Default: 2 min.
    pub call: Duration,
    /// The command that logs in to other hosts. Default: `ssh`.
    pub ssh: Vec<String>,
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            call: Duration::from_mins(2),
            ssh: vec!["ssh".to_owned()],
        }
    }
}
