use parking_lot::Mutex;
use std::collections::HashMap;
use std::time::{Duration, SystemTime};

/// For so long a server that was silent is not asked what there is an old answer to: each time would
/// cost all tries and all their deadlines.
const PAUSE: Duration = Duration::from_mins(1);

/// The servers that could not be reached, since when, and why.
#[derive(Debug, Default)]
pub(super) struct Silent(Mutex<HashMap<String, (SystemTime, String)>>);

impl Silent {
    pub(super) fn add(&self, server: &str, now: SystemTime, reason: &str) {
        let mut servers = self.0.lock();
        servers.insert(server.to_owned(), (now, reason.to_owned()));
    }

    /// Returns why a server need not be asked now.
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
    fn a_silent_server_is_asked_again_after_a_while() {
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let silent = Silent::default();
        silent.add("https://a", at(100), "silent");
        assert_eq!(
            silent.reason("https://a", at(159)).as_deref(),
            Some("silent")
        );
        assert_eq!(silent.reason("https://a", at(160)), None);
        assert_eq!(
            silent.reason("https://a", at(99)),
            None,
            "the clock was put back"
        );
        assert_eq!(silent.reason("https://b", at(100)), None);
    }
}
