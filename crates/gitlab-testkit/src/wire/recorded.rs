//! The calls of a recording.

use serde_json::Value;

/// A recorded call.
#[derive(Debug, Clone, Copy)]
pub(super) struct RecordedCall<'a> {
    pub(super) json: &'a Value,
}

/// Reads the calls of a recording, without the moments at which watches acted.
pub(super) fn read(requests: &Value) -> Vec<RecordedCall<'_>> {
    let all = requests.as_array().into_iter().flatten();
    all.map(|json| RecordedCall { json })
        .filter(|call| call.endpoint() != "event")
        .collect()
}

impl<'a> RecordedCall<'a> {
    pub(super) fn endpoint(self) -> &'a str {
        self.json["endpoint"].as_str().unwrap_or_default()
    }

    /// Returns the status of the answer; 0 if the connection was cut.
    pub(super) fn status(self) -> u16 {
        let status = self.json["answer"]["status"].as_u64();
        status.and_then(|it| it.try_into().ok()).unwrap_or(0)
    }

    /// Returns the job in the path, or the job that was handed out.
    pub(super) fn job(self) -> Option<u64> {
        let path = self.text("path").strip_prefix("/api/v4/jobs/")?;
        let id = path.split('/').next()?;
        if let Ok(id) = id.parse() {
            return Some(id);
        }
        let handed_out = self.json["answer"]["body"].as_str()?;
        handed_out
            .strip_prefix("{job ")?
            .strip_suffix('}')?
            .parse()
            .ok()
    }

    pub(super) fn text(self, name: &str) -> &'a str {
        self.json[name].as_str().unwrap_or_default()
    }

    /// Returns the value of a request header.
    pub(super) fn header(self, name: &str) -> Option<&'a str> {
        let mut all = self.json["headers"].as_object()?.iter();
        all.find(|(known, _)| known.eq_ignore_ascii_case(name))
            .and_then(|(_, value)| value.as_str())
    }

    /// Returns a check, such as `trace_check.bytesize_equals_stored`.
    pub(super) fn check(self, group: &str, name: &str) -> Option<bool> {
        self.json[group][name].as_bool()
    }
}
