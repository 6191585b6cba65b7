use parking_lot::Mutex;
use std::collections::HashMap;
use std::time::{Duration, SystemTime};

/// How long a server that did not answer is not asked again while an old answer exists. Each time
/// would cost all attempts and their timeouts.
const PAUSE: Duration = Duration::from_mins(1);

/// The servers that could not be reached, since when, and why.
#[derive(Debug, Default)]
pub(super) struct SilentServers(Mutex<HashMap<String, (SystemTime, String)>>);

impl SilentServers {
    pub(super) fn add(&self, server: &str, now: SystemTime, reason: &str) {
        let mut servers = self.0.lock();
        servers.insert(server.to_owned(), (now, reason.to_owned()));
    }

    /// Returns why a server is not to be asked now.
    pub(super) fn reason(&self, server: &str, now: SystemTime) -> Option<String> {
        let servers = self.0.lock();
        let (since, reason) = servers.get(server)?;
        let is_recent = now.duration_since(*since).is_ok_and(|age| age < PAUSE);
        is_recent.then(|| reason.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silent_server_is_asked_again_after_a_pause() {
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let silent = SilentServers::default();
        silent.add("https://a", at(100), "silent");
        assert_eq!(
            silent.reason("https://a", at(159)).as_deref(),
            Some("silent")
        );
        assert_eq!(silent.reason("https://a", at(160)), None);
        assert_eq!(
            silent.reason("https://a", at(99)),
            None,
            "the clock was set back"
        );
        assert_eq!(silent.reason("https://b", at(100)), None);
    }
}
