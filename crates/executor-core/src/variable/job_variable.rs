use crate::job::null_is_default;
use serde::{Deserialize, Serialize};
use std::fmt;

/// One variable of a job, with GitLab's attributes.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "GitLab's payload has one flag per attribute"
)]
pub struct JobVariable {
    /// The name.
    #[serde(deserialize_with = "null_is_default")]
    pub key: String,
    /// The value.
    #[serde(deserialize_with = "null_is_default")]
    pub value: String,
    /// Whether it is public; services receive public variables only.
    #[serde(deserialize_with = "null_is_default")]
    pub public: bool,
    /// Whether the value is written to a file and the variable holds the file's path.
    #[serde(deserialize_with = "null_is_default")]
    pub file: bool,
    /// Whether the value is masked in the log.
    #[serde(deserialize_with = "null_is_default")]
    pub masked: bool,
    /// Whether references in the value stay unexpanded.
    #[serde(deserialize_with = "null_is_default")]
    pub raw: bool,
}

impl JobVariable {
    /// Returns a public variable.
    pub fn public(key: impl Into<String>, value: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            value: value.into(),
            public: true,
            ..Self::default()
        }
    }

    /// Returns a variable whose value is masked in the log and not expanded.
    pub fn masked(key: impl Into<String>, value: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            value: value.into(),
            masked: true,
            raw: true,
            ..Self::default()
        }
    }

    /// Returns a variable whose value is written to a file.
    pub fn file(key: impl Into<String>, value: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            value: value.into(),
            file: true,
            raw: true,
            ..Self::default()
        }
    }
}

impl fmt::Debug for JobVariable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = if self.public && !self.masked {
            self.value.as_str()
        } else {
            "[MASKED]"
        };
        f.debug_struct("JobVariable")
            .field("key", &self.key)
            .field("value", &value)
            .field("public", &self.public)
            .field("file", &self.file)
            .field("masked", &self.masked)
            .field("raw", &self.raw)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_hides_values_that_are_not_public() {
        let shown = format!("{:?}", JobVariable::masked("TOKEN", "hunter2"));
        assert!(!shown.contains("hunter2"), "{shown}");
    }
}
