use crate::JobServer;
use serde_json::Value;
use std::collections::BTreeMap;

/// The real values of the placeholders in a recording, such as `{server}`.
#[derive(Debug, Clone, Default)]
pub struct Values {
    known: BTreeMap<String, String>,
}

impl Values {
    /// Returns the values that a job server determines: `server`, `host` and a `runner token`.
    pub fn of(server: &JobServer) -> Self {
        Self::default()
            .set("server", &server.url())
            .set("host", &server.address().to_string())
            .set("runner token", "glrt-recRunnerToken00001")
    }

    /// Sets the value of a placeholder, named without its braces: `builds`, `cache`, `runner token`.
    pub fn set(mut self, name: &str, value: &str) -> Self {
        self.known.insert(name.to_owned(), value.to_owned());
        self
    }

    /// Returns the value of a placeholder.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.known.get(name).map(String::as_str)
    }

    /// Replaces the known placeholders of a text.
    pub fn text(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (name, value) in &self.known {
            text = text.replace(&format!("{{{name}}}"), value);
        }
        text
    }

    /// Replaces the known placeholders in all strings of a JSON value.
    pub fn json(&self, json: &Value) -> Value {
        match json {
            Value::String(text) => Value::String(self.text(text)),
            Value::Array(all) => all.iter().map(|one| self.json(one)).collect(),
            Value::Object(all) => {
                let all = all.iter();
                all.map(|(key, one)| (key.clone(), self.json(one)))
                    .collect()
            }
            other => other.clone(),
        }
    }
}
