use super::Endpoint;
use serde_json::Value;
use std::ops::RangeInclusive;
use std::time::Duration;

/// An answer that differs from the usual one.
///
/// A rule with a status answers in place of the server, which changes nothing. Without a status the server processes
/// the call, and the rule changes how the answer is sent.
///
/// ```
/// use gitlab_testkit::{Endpoint, Rule};
///
/// // The second and third trace call are answered 500.
/// let rule = Rule::on(Endpoint::Trace).nth(2..=3).status(500);
/// ```
#[derive(Debug, Clone)]
pub struct Rule {
    pub(crate) on: Endpoint,
    pub(crate) job: Option<u64>,
    pub(crate) nth: Option<RangeInclusive<u64>>,
    pub(crate) status: Option<u16>,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Option<Value>,
    pub(crate) delay: Duration,
    pub(crate) drop: Option<DropMoment>,
    pub(crate) job_status: Option<String>,
    pub(crate) empties_trace: bool,
    pub(crate) token_expires_at: Option<Value>,
    pub(crate) hangs: bool,
    pub(crate) damage: Option<Damage>,
    /// The number of calls that the rule has seen.
    pub(crate) seen: u64,
}

/// When a connection is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DropMoment {
    /// Before the server processes the call.
    Before,
    /// After the server has processed the call, so that only the answer is lost.
    After,
}

/// How an answer is damaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Damage {
    CutBody,
    MediaType,
    Json,
}

impl Rule {
    /// Returns a rule for all calls of an endpoint, which changes nothing yet.
    pub fn on(endpoint: Endpoint) -> Self {
        Self {
            on: endpoint,
            job: None,
            nth: None,
            status: None,
            headers: Vec::new(),
            body: None,
            delay: Duration::ZERO,
            drop: None,
            job_status: None,
            empties_trace: false,
            token_expires_at: None,
            hangs: false,
            damage: None,
            seen: 0,
        }
    }

    /// Reads a rule of a recording: `on`, `job`, `nth`, `status`, `headers`, `body`, `delay`, `drop` (true, `"before"`
    /// or `"after"`), `job_status`, `empty_trace`, `token_expires_at`, `hang`, `cut_body`, `wrong_media_type` and
    /// `bad_json`.
    ///
    /// # Panics
    ///
    /// If the rule has an unknown field or an unknown endpoint.
    pub fn from_json(json: &Value) -> Self {
        let on = json["on"].as_str().and_then(Endpoint::from_name);
        let mut rule = Self::on(on.unwrap_or_else(|| panic!("unknown endpoint in rule {json}")));
        for (key, value) in json.as_object().into_iter().flatten() {
            rule.set(key, value);
        }
        rule
    }

    fn set(&mut self, key: &str, value: &Value) {
        let is_set = value.as_bool() == Some(true);
        match key {
            "on" => {}
            "job" => self.job = value.as_u64(),
            "nth" => self.nth = times(value),
            "status" => self.status = value.as_u64().and_then(|it| it.try_into().ok()),
            "headers" => {
                let all = value.as_object().into_iter().flatten();
                let all = all.map(|(name, value)| (name.to_lowercase(), plain(value)));
                self.headers = all.collect();
            }
            "body" => self.body = Some(value.clone()),
            "delay" => self.delay = Duration::from_secs_f64(value.as_f64().unwrap_or(0.0)),
            "drop" if value.as_str() == Some("after") => self.drop = Some(DropMoment::After),
            "drop" if is_set || value.as_str() == Some("before") => {
                self.drop = Some(DropMoment::Before);
            }
            "drop" => self.drop = None,
            "job_status" => self.job_status = value.as_str().map(str::to_owned),
            "empty_trace" => self.empties_trace = is_set,
            "token_expires_at" => self.token_expires_at = Some(value.clone()),
            "hang" => self.hangs = is_set,
            "cut_body" => self.damage = is_set.then_some(Damage::CutBody),
            "wrong_media_type" => self.damage = is_set.then_some(Damage::MediaType),
            "bad_json" => self.damage = is_set.then_some(Damage::Json),
            _ => panic!("unknown field {key:?} in a rule for {}", self.on),
        }
    }

    /// Limits the rule to calls about one job.
    pub fn job(mut self, id: u64) -> Self {
        self.job = Some(id);
        self
    }

    /// Limits the rule to these calls, counted from 1 since the rule was added.
    pub fn nth(mut self, times: RangeInclusive<u64>) -> Self {
        self.nth = Some(times);
        self
    }

    /// Limits the rule to the first call.
    pub fn once(self) -> Self {
        self.nth(1..=1)
    }

    /// Answers with this status, without processing the call.
    pub fn status(mut self, status: u16) -> Self {
        self.status = Some(status);
        self
    }

    /// Adds a header to the answer. `{server}` in its value is the server's URL, `{other}` the same server under the
    /// host name `localhost`.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_lowercase(), value.to_owned()));
        self
    }

    /// Replaces the body: a string is sent as it is, any other value as JSON.
    pub fn body(mut self, body: impl Into<Value>) -> Self {
        self.body = Some(body.into());
        self
    }

    /// Waits before the call is processed.
    pub fn delay(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Cuts the connection in place of an answer.
    pub fn cut(mut self, moment: DropMoment) -> Self {
        self.drop = Some(moment);
        self
    }

    /// Sets the `Job-Status` of the job, from the answer to this call on.
    pub fn job_status(mut self, status: &str) -> Self {
        self.job_status = Some(status.to_owned());
        self
    }

    /// Empties the stored trace of the job before the call is answered.
    pub fn empty_trace(mut self) -> Self {
        self.empties_trace = true;
        self
    }

    /// Never answers, until the server stops. The call is not processed.
    pub fn hang(mut self) -> Self {
        self.hangs = true;
        self
    }

    /// Processes the call, sends half of the announced body and cuts the connection.
    pub fn cut_body(mut self) -> Self {
        self.damage = Some(Damage::CutBody);
        self
    }

    /// Processes the call and sends its answer as `text/html`.
    pub fn wrong_media_type(mut self) -> Self {
        self.damage = Some(Damage::MediaType);
        self
    }

    /// Processes the call and sends a body that ends in the middle of a JSON object.
    pub fn bad_json(mut self) -> Self {
        self.damage = Some(Damage::Json);
        self
    }

    /// Counts a call, and returns whether the rule applies to it.
    pub(crate) fn applies(&mut self, on: Endpoint, job: Option<u64>) -> bool {
        if self.on != on || (self.job.is_some() && self.job != job) {
            return false;
        }
        self.seen += 1;
        self.nth.as_ref().is_none_or(|nth| nth.contains(&self.seen))
    }
}

fn times(value: &Value) -> Option<RangeInclusive<u64>> {
    if let Some(one) = value.as_u64() {
        return Some(one..=one);
    }
    let [first, last] = value.as_array()?.as_slice() else {
        panic!("invalid nth {value}: expected a number or [first, last]");
    };
    Some(first.as_u64()?..=last.as_u64()?)
}

/// Returns a string as it is, and any other value as JSON.
fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn rule_of_a_recording_is_read() {
        let mut rule = Rule::from_json(&json!({
            "on": "trace", "nth": [2, 3], "status": 416, "headers": {"Range": "0-10"}, "delay": 0.5, "drop": "after",
        }));
        let applies: Vec<bool> = (0..4)
            .map(|_| rule.applies(Endpoint::Trace, Some(1)))
            .collect();
        assert_eq!(applies, [false, true, true, false]);
        assert!(!rule.applies(Endpoint::Request, None));
        assert_eq!(rule.headers, [("range".to_owned(), "0-10".to_owned())]);
        assert_eq!(
            (rule.status, rule.drop),
            (Some(416), Some(DropMoment::After))
        );
        assert_eq!(rule.delay, Duration::from_millis(500));
    }

    #[test]
    #[should_panic(expected = "unknown field \"colour\"")]
    fn unknown_field_is_refused() {
        Rule::from_json(&json!({"on": "trace", "colour": 1}));
    }
}
