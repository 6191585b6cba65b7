//! The comparison of one call with its recorded counterpart.

use super::difference::Differences;
use super::info;
use super::recorded::RecordedCall;
use super::template::Bindings;
use crate::{Call, Endpoint};
use serde_json::{Map, Value};

/// The headers that belong to the protocol.
const HEADERS: [&str; 5] = [
    "job-token",
    "runner-token",
    "private-token",
    "content-type",
    "content-range",
];

/// The state of a comparison.
#[derive(Debug)]
pub(super) struct Comparison<'a> {
    pub(super) infos: &'a Value,
    pub(super) bindings: Bindings,
    pub(super) differences: Differences,
}

/// A value of which one side may be absent.
struct Field<'a> {
    kind: String,
    expected: Option<&'a str>,
    found: Option<&'a str>,
}

impl Comparison<'_> {
    /// Compares method, path, query, headers, body and the check of the final trace.
    pub(super) fn compare_call(&mut self, expected: RecordedCall<'_>, found: &Call) {
        let endpoint = found.endpoint;
        for (name, value) in [
            ("method", &found.request.method),
            ("path", &found.request.path),
        ] {
            self.compare_text(&Field {
                kind: format!("{endpoint}: {name}"),
                expected: Some(expected.text(name)),
                found: Some(value),
            });
        }
        self.compare_query(expected, found);
        for name in HEADERS {
            self.compare_text(&Field {
                kind: format!("{endpoint}: header {name}"),
                expected: expected.header(name),
                found: found.header(name),
            });
        }
        self.compare_body(expected, found);
        self.compare_parts(expected, found);
        if let Some(check) = found.trace_check {
            let pairs = [
                ("bytesize_equals_stored", check.bytesize_equals_stored),
                (
                    "checksum_equals_crc32_of_stored",
                    check.checksum_equals_crc32_of_stored,
                ),
            ];
            for (name, value) in pairs {
                self.compare_check("trace_check", name, expected, value);
            }
        }
    }

    /// Compares a check of a trace call or a final update.
    pub(super) fn compare_check(
        &mut self,
        group: &str,
        name: &str,
        expected: RecordedCall<'_>,
        found: bool,
    ) {
        let expected = expected.check(group, name);
        if expected.is_some_and(|expected| expected != found) {
            let text = format!("expected {}, found {found}", !found);
            self.differences.add(format!("{group}: {name}"), text);
        }
    }

    fn compare_text(&mut self, field: &Field<'_>) {
        let fits = match (field.expected, field.found) {
            (Some(expected), Some(found)) => self.bindings.matches(expected, found),
            (expected, found) => expected == found,
        };
        if !fits {
            let show =
                |value: Option<&str>| value.map_or("none".to_owned(), |it| format!("{it:?}"));
            let text = format!(
                "expected {}, found {}",
                show(field.expected),
                show(field.found)
            );
            self.differences.add(field.kind.clone(), text);
        }
    }

    fn compare_query(&mut self, expected: RecordedCall<'_>, found: &Call) {
        let query = expected.json["query"].as_object();
        let query = query.cloned().unwrap_or_default();
        let pairs = url::form_urlencoded::parse(found.request.query.as_bytes());
        let pairs: Vec<(String, String)> = pairs.into_owned().collect();
        let known = pairs.iter().map(|(name, _)| name);
        let new = known.filter(|name| !query.contains_key(*name));
        for name in query.keys().chain(new) {
            let pair = pairs.iter().find(|(known, _)| known == name);
            self.compare_text(&Field {
                kind: format!("{}: query {name}", found.endpoint),
                expected: query.get(name).and_then(Value::as_str),
                found: pair.map(|(_, value)| value.as_str()),
            });
        }
    }

    fn compare_body(&mut self, expected: RecordedCall<'_>, found: &Call) {
        let endpoint = found.endpoint;
        let Some(fields) = expected.json["body"].as_object() else {
            let length = expected.json["body_bytes"].as_u64();
            let depends_on_output = matches!(endpoint, Endpoint::Trace | Endpoint::ArtifactsUpload);
            let length = length.filter(|_| !depends_on_output);
            let own = found.request.body.len() as u64;
            if length.is_some_and(|length| length != own) {
                let text = format!("expected {length:?} bytes, found {own}");
                self.differences
                    .add(format!("{endpoint}: body length"), text);
            }
            return;
        };
        let none = Map::new();
        let own = found.json.as_ref().and_then(Value::as_object);
        let own = own.unwrap_or(&none);
        let new = own.keys().filter(|name| !fields.contains_key(*name));
        // Whether `last_update` is right depends on the answer before, see `compare_last_updates`.
        let names = fields
            .keys()
            .chain(new)
            .filter(|name| *name != "last_update");
        for name in names {
            let (Some(field), Some(value)) = (fields.get(name), own.get(name)) else {
                let show =
                    |value: Option<&Value>| value.map_or("none".to_owned(), Value::to_string);
                let text = format!(
                    "expected {}, found {}",
                    show(fields.get(name)),
                    show(own.get(name))
                );
                self.differences
                    .add(format!("{endpoint}: body {name}"), text);
                continue;
            };
            let infos = self.infos;
            if let Some(info) = field.as_str().and_then(|name| infos.get(name)) {
                info::compare(info, value, &mut self.differences);
            } else if !self.bindings.matches_json(field, value) {
                let text = format!("expected {field}, found {value}");
                self.differences
                    .add(format!("{endpoint}: body {name}"), text);
            }
        }
    }

    fn compare_parts(&mut self, expected: RecordedCall<'_>, found: &Call) {
        let Some(parts) = expected.json["parts"].as_array() else {
            return;
        };
        let own = found.parts().unwrap_or_default();
        if parts.len() != own.len() {
            let text = format!("expected {}, found {}", parts.len(), own.len());
            self.differences
                .add(format!("{}: number of parts", found.endpoint), text);
        }
        for (part, own) in parts.iter().zip(&own) {
            let header = |name: &str| {
                let mut all = own.headers.iter();
                all.find(|(known, _)| *known == name.to_lowercase())
                    .map(|(_, value)| value.as_str())
            };
            for (name, value) in part["headers"].as_object().into_iter().flatten() {
                self.compare_text(&Field {
                    kind: format!("{}: part header {}", found.endpoint, name.to_lowercase()),
                    expected: value.as_str(),
                    found: header(name),
                });
            }
        }
    }
}
