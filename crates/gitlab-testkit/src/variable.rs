use serde_json::{Value, json};
use std::collections::BTreeSet;

/// A variable of a project, a group or the instance.
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
    /// Returns an unprotected, unmasked variable for all environments.
    pub fn new(key: &str, value: &str) -> Self {
        Self {
            key: key.to_owned(),
            value: value.to_owned(),
            kind: "env_var",
            traits: BTreeSet::new(),
            scope: "*".to_owned(),
        }
    }

    /// Makes it a file variable.
    pub fn file(mut self) -> Self {
        self.kind = "file";
        self
    }

    /// Withholds it from unprotected branches.
    pub fn protected(self) -> Self {
        self.with(Trait::Protected)
    }

    /// Masks it in logs.
    pub fn masked(self) -> Self {
        self.with(Trait::Masked)
    }

    /// Masks it in logs, and omits its value from API responses.
    pub fn hidden(self) -> Self {
        self.with(Trait::Hidden).masked()
    }

    /// Disables the expansion of `$` in its value.
    pub fn raw(self) -> Self {
        self.with(Trait::Raw)
    }

    /// Limits it to matching environments.
    pub fn scope(mut self, scope: &str) -> Self {
        scope.clone_into(&mut self.scope);
        self
    }

    fn with(mut self, one: Trait) -> Self {
        self.traits.insert(one);
        self
    }

    /// Returns the JSON of a project or group variable.
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

    /// Returns the JSON of an instance variable, which has no environment scope.
    pub(crate) fn instance_json(&self) -> Value {
        let mut value = self.json();
        if let Some(map) = value.as_object_mut() {
            map.remove("environment_scope");
            map.remove("hidden");
        }
        value
    }
}
