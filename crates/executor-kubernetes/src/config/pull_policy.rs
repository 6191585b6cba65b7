use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use std::fmt;

/// When the image of a container is pulled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum PullPolicy {
    /// For each container.
    Always,
    /// When the node does not have it.
    IfNotPresent,
    /// Never: the node has it.
    Never,
}

impl PullPolicy {
    /// Returns the word of Kubernetes.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Always => "Always",
            Self::IfNotPresent => "IfNotPresent",
            Self::Never => "Never",
        }
    }
}

/// Formats it as GitLab does.
impl fmt::Display for PullPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Always => "always",
            Self::IfNotPresent => "if-not-present",
            Self::Never => "never",
        })
    }
}

impl TryFrom<String> for PullPolicy {
    type Error = String;

    fn try_from(word: String) -> Result<Self, String> {
        match &*word.to_ascii_lowercase().replace('-', "") {
            "always" => Ok(Self::Always),
            "ifnotpresent" => Ok(Self::IfNotPresent),
            "never" => Ok(Self::Never),
            _ => Err(format!(
                "invalid pull policy {word:?}: expected always, if-not-present or never"
            )),
        }
    }
}

/// Deserializes a list, or a single entry; an empty text is none.
pub(super) fn one_or_many<'de, D: Deserializer<'de>>(
    input: D,
) -> Result<Vec<PullPolicy>, D::Error> {
    let entries = match Value::deserialize(input)? {
        Value::Array(entries) => entries,
        entry => vec![entry],
    };
    let entries = entries.into_iter().filter(|entry| entry != "");
    serde_json::from_value(entries.collect()).map_err(D::Error::custom)
}
