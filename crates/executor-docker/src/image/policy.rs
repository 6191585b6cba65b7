use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// When an image is pulled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PullPolicy {
    /// Always, for the newest one of the registry.
    #[default]
    Always,
    /// When the engine does not have it.
    IfNotPresent,
    /// Never: the engine must have it.
    Never,
}

impl PullPolicy {
    /// Returns the value in GitLab's settings.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Always => "always",
            Self::IfNotPresent => "if-not-present",
            Self::Never => "never",
        }
    }
}

impl fmt::Display for PullPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for PullPolicy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        [Self::Always, Self::IfNotPresent, Self::Never]
            .into_iter()
            .find(|policy| policy.as_str() == text)
            .ok_or_else(|| {
                format!("invalid pull policy {text:?}: expected always, if-not-present or never")
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_are_spelled_as_in_gitlab() {
        for policy in [
            PullPolicy::Always,
            PullPolicy::IfNotPresent,
            PullPolicy::Never,
        ] {
            assert_eq!(policy.as_str().parse(), Ok(policy));
            assert_eq!(serde_json::to_value(policy).unwrap(), policy.as_str());
        }
        assert!(
            "sometimes"
                .parse::<PullPolicy>()
                .unwrap_err()
                .contains("always")
        );
    }
}
