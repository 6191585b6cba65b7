use super::{Endpoint, Part, multipart};
use crate::Request;
use serde_json::Value;
use std::time::Duration;

/// A call that the job server received, with its answer.
#[derive(Debug, Clone)]
pub struct Call {
    /// The kind of call.
    pub endpoint: Endpoint,
    /// The job that the path names.
    pub job: Option<u64>,
    /// The request as it was sent: method, path, query, headers and body.
    pub request: Request,
    /// The body parsed as JSON, if it is JSON.
    pub json: Option<Value>,
    /// The time since the start of the server.
    pub at: Duration,
    /// The answer; `None` while the call is still waiting for it.
    pub answer: Option<CallAnswer>,
    /// For a trace call with a `Content-Range`: how its range fits.
    pub range_check: Option<RangeCheck>,
    /// For a final update: whether its output describes the stored trace.
    pub trace_check: Option<TraceCheck>,
}

/// The answer to a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallAnswer {
    /// The status; 0 if the connection was cut instead.
    pub status: u16,
    /// The headers, with lowercase names.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// The time since the start of the server.
    pub at: Duration,
}

/// How the range of a trace call fits, as it arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RangeCheck {
    /// Whether the first byte is the size that the server had stored.
    pub first_is_stored_size: bool,
    /// Whether the last byte is the first plus the length of the body, minus 1.
    pub last_is_first_plus_length_minus_1: bool,
    /// The first byte.
    pub first: u64,
    /// The size that the server had stored.
    pub stored: u64,
}

/// Whether a final update describes the stored trace, as it arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceCheck {
    /// Whether `output.bytesize` is the stored size.
    pub bytesize_equals_stored: bool,
    /// Whether `output.checksum` is the CRC-32 of the stored trace.
    pub checksum_equals_crc32_of_stored: bool,
}

impl Call {
    /// Returns the value of a request header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.request.header(name)
    }

    /// Returns a field of a JSON body; null if it is absent.
    pub fn field(&self, name: &str) -> &Value {
        self.json.as_ref().map_or(&Value::Null, |json| &json[name])
    }

    /// Returns the status of the answer; 0 if the connection was cut, `None` while the call waits.
    pub fn status(&self) -> Option<u16> {
        self.answer.as_ref().map(|answer| answer.status)
    }

    /// Returns the job that the call is about: the one in its path, or the one handed out by a job request.
    pub fn job_id(&self) -> Option<u64> {
        self.job.or_else(|| {
            let answer = self.answer.as_ref()?;
            let is_job = self.endpoint == Endpoint::Request && answer.status == 201;
            let body: Value = serde_json::from_slice(&answer.body).ok()?;
            is_job.then(|| body["id"].as_u64()).flatten()
        })
    }

    /// Returns the bytes `first-last` that the `Content-Range` header announces.
    pub fn content_range(&self) -> Option<(u64, u64)> {
        let (first, last) = self.header("content-range")?.split_once('-')?;
        Some((first.trim().parse().ok()?, last.trim().parse().ok()?))
    }

    /// Returns the parts of a multipart body; `None` if the body is not multipart or incomplete.
    pub fn parts(&self) -> Option<Vec<Part>> {
        multipart::parse(self.header("content-type")?, &self.request.body)
    }

    /// Returns the token of the call, from a header or the body.
    pub(crate) fn token(&self) -> Option<String> {
        let names = ["job-token", "runner-token", "private-token"];
        let header = names.iter().find_map(|name| self.header(name));
        header
            .or_else(|| self.field("token").as_str())
            .map(str::to_owned)
            .or_else(|| self.request.parameter("token"))
    }

    /// Returns the token that identifies a runner: that of the body, or that of the headers.
    pub(crate) fn runner_token(&self) -> Option<String> {
        let body = self.field("token").as_str().map(str::to_owned);
        body.or_else(|| self.token())
    }
}

impl CallAnswer {
    /// Returns the value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut all = self.headers.iter();
        all.find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// Returns the body parsed as JSON; null if it is not JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}
