//! Settings that Kubernetes would refuse with each pod.

use super::container::Role;
use super::label::check_label;
use super::resources::{Scope, billionths, settings};
use crate::config::KubernetesConfig;
use std::fmt;

/// A setting that cannot be right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidSetting {
    /// The key, as in `[runners.kubernetes]`.
    pub key: &'static str,
    /// The value.
    pub value: String,
    /// What was expected.
    pub expected: &'static str,
}

impl fmt::Display for InvalidSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            key,
            value,
            expected,
        } = self;
        write!(f, "`{key}` is {value:?}: expected {expected}")
    }
}

impl std::error::Error for InvalidSetting {}

impl KubernetesConfig {
    /// Checks the quantities and the labels of nodes, which Kubernetes would refuse with each pod.
    ///
    /// # Errors
    ///
    /// The first that is invalid.
    pub fn check(&self) -> Result<(), InvalidSetting> {
        let scopes = [Scope::One(Role::Job), Scope::One(Role::Service), Scope::Pod];
        for setting in scopes.into_iter().flat_map(|it| settings(self, it)) {
            for (key, value) in [(setting.key, setting.value), (setting.max_key, setting.max)] {
                if let Some(value) = value
                    && billionths(value).is_none()
                {
                    return Err(InvalidSetting {
                        key,
                        value: value.to_owned(),
                        expected: "a quantity such as 500m, 2 or 1Gi",
                    });
                }
            }
        }
        let mut selectors = self.node_selector.iter();
        match selectors.find(|(name, value)| check_label(name, value).is_err()) {
            None => Ok(()),
            Some((name, value)) => Err(InvalidSetting {
                key: "node_selector",
                value: format!("{name}={value}"),
                expected: "a label such as disk=fast or example.com/disk=fast",
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_invalid_setting_is_named() {
        let mut config = KubernetesConfig {
            cpu_request: Some("500m".to_owned()),
            memory_limit: Some(String::new()),
            node_selector: [("example.com/disk".to_owned(), String::new())].into(),
            ..KubernetesConfig::default()
        };
        assert_eq!(config.check(), Ok(()));
        config
            .node_selector
            .insert("disk".to_owned(), "very fast".to_owned());
        let invalid = config.check().unwrap_err();
        assert_eq!(
            (invalid.key, &*invalid.value),
            ("node_selector", "disk=very fast")
        );
        config.pod_cpu_limit_overwrite_max_allowed = Some("many".to_owned());
        let invalid = config.check().unwrap_err().to_string();
        assert_eq!(
            invalid,
            "`pod_cpu_limit_overwrite_max_allowed` is \"many\": expected a quantity such as 500m, 2 or 1Gi"
        );
    }
}
