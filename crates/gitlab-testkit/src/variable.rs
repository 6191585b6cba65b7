use serde_json::{Value, json};
use std::collections::BTreeSet;

/// A variable of a project, a group or the whole GitLab.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    key: String,
    value: String,
    kind: &'static str,
    traits: BTreeSet<Trait>,
    scope: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Trait {
    Protected,
    Masked,
    Hidden,
    Raw,
}

impl Variable {
    /// Returns a variable for all environments, which is neither protected nor masked.
    pub fn new(key: &str, value: &str) -> Self {
        Self {
            key: key.to_owned(),
            value: value.to_owned(),
            kind: "env_var",
            traits: BTreeSet::new(),
            scope: "*".to_owned(),
        }
    }

    /// Makes it one whose value is put into a file.
    pub fn file(mut self) -> Self {
        self.kind = "file";
        self
    }

    /// Keeps it from branches that are not protected.
    pub fn protected(self) -> Self {
        self.with(Trait::Protected)
    }

    /// Keeps it out of logs.
    pub fn masked(self) -> Self {
        self.with(Trait::Masked)
    }

    /// Keeps it out of logs, and its value from everybody who asks.
    pub fn hidden(self) -> Self {
        self.with(Trait::Hidden).masked()
    }

    /// Keeps `$` in it from being expanded.
    pub fn raw(self) -> Self {
        self.with(Trait::Raw)
    }

    /// Gives it to the jobs of some environments only.
    pub fn scope(mut self, scope: &str) -> Self {
        scope.clone_into(&mut self.scope);
        self
    }

    fn with(mut self, one: Trait) -> Self {
        self.traits.insert(one);
        self
    }

    /// Returns it as GitLab shows that of a project or group.
    pub(crate) fn json(&self) -> Value {
        let is = |one| self.traits.contains(&one);
        let value = if is(Trait::Hidden) {
            Value::Null
        } else {
            json!(self.value)
        };
        json!({
            "variable_type": self.kind, "key": self.key, "value": value, "hidden": is(Trait::Hidden),
            "protected": is(Trait::Protected), "masked": is(Trait::Masked), "raw": is(Trait::Raw),
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
