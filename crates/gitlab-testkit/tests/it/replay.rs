//! Sends the requests of a recording to a job server, in the place of the recorded runner.

use crate::client::{Said, try_send};
use gitlab_testkit::JobServer;
use gitlab_testkit::wire::{Recording, Values};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

/// The headers that the client sends itself, or that belong to no call of ours.
const LEFT_OUT: [&str; 5] = [
    "host",
    "content-length",
    "transfer-encoding",
    "accept-encoding",
    "authorization",
];

/// A runner that repeats what a recorded one sent.
#[derive(Debug)]
pub(crate) struct Replay<'a> {
    server: &'a JobServer,
    recording: &'a Recording,
    values: Values,
    last_update: Option<String>,
    traces: BTreeMap<u64, Trace>,
    /// The answers that differ from the recorded ones.
    pub(crate) problems: Vec<String>,
}

/// What the runner knows about the trace of a job.
#[derive(Debug, Default)]
struct Trace {
    written: String,
    /// The size that the server has, as far as the runner knows.
    sent: usize,
    /// Whether the next piece is sent again instead of a new one.
    repeats: bool,
}

impl<'a> Replay<'a> {
    pub(crate) fn new(server: &'a JobServer, recording: &'a Recording) -> Self {
        let values = Values::of(server)
            .set("system_id", "s_0123456789ab")
            .set("boundary", "x")
            .set("url", "https://runner")
            .set("another host", "other.example.com");
        recording.prepare(server, &values, |_| ());
        for job in recording.jobs(&values) {
            server.queue(job);
        }
        Self {
            server,
            recording,
            values,
            last_update: None,
            traces: BTreeMap::new(),
            problems: Vec::new(),
        }
    }

    /// Sends all calls except those of Git.
    pub(crate) fn run(&mut self, requests: &[Value]) {
        for (index, request) in requests.iter().enumerate() {
            match request["endpoint"].as_str().expect("a string") {
                "git" => {}
                "event" => self.await_event(&request["event"]),
                "trace" => self.send_trace(request, &requests[index + 1..]),
                _ => {
                    for _ in 0..request["repeated"].as_u64().unwrap_or(1) {
                        let body = self.body(request);
                        self.send(request, &body, &[]);
                    }
                }
            }
        }
    }

    fn await_event(&mut self, event: &Value) {
        let Some(status) = event["job_status"].as_str() else {
            return;
        };
        let job = *self.traces.keys().next().expect("a job with a trace");
        let happened = self.server.wait_until(Duration::from_secs(20), |state| {
            state.job_status(job) == status
        });
        assert!(happened, "{event}");
    }

    fn send(&mut self, request: &Value, body: &[u8], headers: &[(&str, &str)]) -> Option<Said> {
        let recorded = request["headers"].as_object().expect("an object").iter();
        let recorded = recorded.map(|(name, value)| {
            (
                name.to_lowercase(),
                self.values.text(value.as_str().expect("a string")),
            )
        });
        let recorded: Vec<(String, String)> = recorded
            .filter(|(name, _)| !LEFT_OUT.contains(&name.as_str()) && name != "content-range")
            .collect();
        let recorded = recorded
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()));
        let headers: Vec<(&str, &str)> = recorded.chain(headers.iter().copied()).collect();
        let method = request["method"].as_str().expect("a string");
        let path = request["path"].as_str().expect("a string");
        let target = format!("{path}?{}", query(request));
        let said = try_send(self.server.address(), method, &target, &headers, body);
        if request["endpoint"] == "request" {
            let header = said
                .as_ref()
                .map(|said| said.header("x-gitlab-last-update"));
            let header = header.filter(|header| !header.is_empty());
            self.last_update = header.map(str::to_owned);
        }
        self.check_answer(request, said.as_ref());
        said
    }

    fn check_answer(&mut self, request: &Value, said: Option<&Said>) {
        let answer = &request["answer"];
        let status = said.map_or(0, |said| said.status);
        if answer["status"] != status {
            let problem = format!(
                "call {}: status {status} in place of {}",
                request["n"], answer["status"]
            );
            self.problems.push(problem);
            return;
        }
        for (name, value) in answer["headers"].as_object().into_iter().flatten() {
            let found = said.map_or("", |said| said.header(&name.to_lowercase()));
            let value = value
                .as_str()
                .expect("a string")
                .replace("{server}", &self.server.url());
            let depends = ["Range", "Location", "X-GitLab-Last-Update"];
            let fits = if depends.contains(&name.as_str()) {
                !found.is_empty()
            } else {
                found == value
            };
            if !fits {
                self.problems.push(format!(
                    "call {}: {name} {found:?} in place of {value:?}",
                    request["n"]
                ));
            }
        }
    }

    fn send_trace(&mut self, request: &Value, later: &[Value]) {
        let job = job_of(request);
        let trace = self.traces.entry(job).or_default();
        // The recorded runner sent the piece whose answer told it to stop once more, from its old offset.
        let is_old = request["range_check"]["first_is_stored_size"] == false;
        if is_old && !trace.repeats {
            trace.sent = 0;
        }
        if !trace.repeats {
            trace.written.push_str("a line of output\n");
        }
        let event = later.first().filter(|one| one["endpoint"] == "event");
        if let Some(event) = event {
            trace
                .written
                .push_str(event["event"]["trace_contains"].as_str().expect("a string"));
        }
        let (first, text) = (trace.sent, trace.written[trace.sent..].to_owned());
        let range = format!("{first}-{}", first + text.len() - 1);
        let said = self.send(request, text.as_bytes(), &[("content-range", &range)]);
        let status = said.as_ref().map_or(0, |said| said.status);
        let asked = said
            .as_ref()
            .and_then(|said| said.header("range").split_once('-')?.1.parse().ok());
        let trace = self.traces.get_mut(&job).expect("the trace of the job");
        trace.repeats = status != 202;
        match status {
            202 => trace.sent = trace.written.len(),
            416 => trace.sent = asked.expect("416 has a Range"),
            _ => {}
        }
    }

    /// Returns the body of any call but a piece of the trace.
    fn body(&mut self, request: &Value) -> Vec<u8> {
        if let Some(parts) = request["parts"].as_array() {
            return multipart(parts);
        }
        let Some(fields) = request["body"].as_object() else {
            // A reset with a personal access token sends `null`.
            let length = request["body_bytes"].as_u64().unwrap_or(0);
            return b"null"[..usize::try_from(length).expect("a small body").min(4)].to_vec();
        };
        let mut fields = self.values.json(&Value::Object(fields.clone()));
        if let Some(info) = fields["info"].as_str() {
            fields["info"] = self.recording.json()["infos"][info].clone();
        }
        if request["endpoint"] == "request" && fields.get("last_update").is_some() {
            fields["last_update"] = json!(self.last_update);
        }
        if fields.get("checksum").is_some() {
            self.describe_trace(request, &mut fields);
        }
        fields.to_string().into_bytes()
    }

    /// Fills in the size and checksum of an update.
    fn describe_trace(&mut self, request: &Value, fields: &mut Value) {
        let trace = self.traces.entry(job_of(request)).or_default();
        let mut text = trace.written.clone();
        if request["trace_check"]["checksum_equals_crc32_of_stored"] == false {
            text.push_str("what was not sent");
        }
        let checksum = format!("crc32:{:08x}", crc32fast::hash(text.as_bytes()));
        fields["checksum"] = json!(checksum);
        fields["output"]["checksum"] = json!(checksum);
        if fields["output"].get("bytesize").is_some() {
            fields["output"]["bytesize"] = json!(text.len());
        }
        if request["answer"]["status"] == 412 {
            (trace.sent, trace.repeats) = (0, true);
        }
    }
}

fn job_of(request: &Value) -> u64 {
    let path = request["path"].as_str().expect("a string");
    let id = path.split('/').nth(4).and_then(|id| id.parse().ok());
    id.expect("the path of a job")
}

fn query(request: &Value) -> String {
    let pairs = request["query"].as_object().expect("an object").iter();
    let pairs = pairs.map(|(name, value)| (name, value.as_str().expect("a string")));
    url::form_urlencoded::Serializer::new(String::new())
        .extend_pairs(pairs)
        .finish()
}

fn multipart(parts: &[Value]) -> Vec<u8> {
    let mut body = String::new();
    for part in parts {
        body.push_str("--x\r\n");
        for (name, value) in part["headers"].as_object().expect("an object") {
            body.push_str(&[name, ": ", value.as_str().expect("a string"), "\r\n"].concat());
        }
        body.push_str("\r\ncontent\r\n");
    }
    body.push_str("--x--\r\n");
    body.into_bytes()
}
