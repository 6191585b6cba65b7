use serde_json::{Value, json};

/// A variable of a project, a group or the whole GitLab.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    key: String,
    value: String,
    kind: &'static str,
    protected: bool,
    masked: bool,
    hidden: bool,
    raw: bool,
    scope: String,
}

impl Variable {
    /// Returns a variable for all environments, which is neither protected nor masked.
    pub fn new(key: &str, value: &str) -> Self {
        Self {
            key: key.to_owned(),
            value: value.to_owned(),
            kind: "env_var",
            protected: false,
            masked: false,
            hidden: false,
            raw: false,
            scope: "*".to_owned(),
        }
    }

    /// Makes it one whose value is put into a file.
    pub fn file(mut self) -> Self {
        self.kind = "file";
        self
    }

    /// Keeps it from branches that are not protected.
    pub fn protected(mut self) -> Self {
        self.protected = true;
        self
    }

    /// Keeps it out of logs.
    pub fn masked(mut self) -> Self {
        self.masked = true;
        self
    }

    /// Keeps it out of logs, and its value from everybody who asks.
    pub fn hidden(mut self) -> Self {
        self.hidden = true;
        self.masked()
    }

    /// Keeps `$` in it from being expanded.
    pub fn raw(mut self) -> Self {
        self.raw = true;
        self
    }

    /// Gives it to the jobs of some environments only.
    pub fn scope(mut self, scope: &str) -> Self {
        scope.clone_into(&mut self.scope);
        self
    }

    /// Returns it as GitLab shows that of a project or group.
    pub(crate) fn json(&self) -> Value {
        let value = if self.hidden {
            Value::Null
        } else {
            json!(self.value)
        };
        json!({
            "variable_type": self.kind, "key": self.key, "value": value, "hidden": self.hidden,
            "protected": self.protected, "masked": self.masked, "raw": self.raw,
            "environment_scope": self.scope, "description": null,
        })
    }

    /// Returns it as GitLab shows that of all projects, which has no environments.
    pub(crate) fn instance_json(&self) -> Value {
        let mut value = self.json();
        if let Some(map) = value.as_object_mut() {
            map.remove("environment_scope");
            map.remove("hidden");
        }
        value
    }
}
