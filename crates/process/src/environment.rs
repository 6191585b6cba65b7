//! The process environment of the runner.

use std::ffi::{OsStr, OsString};
use std::fmt;

/// The runner's process environment at the start of the run.
///
/// Children do not inherit it; see [`Command`](crate::Command). `Debug` shows only names.
#[derive(Clone)]
pub struct Environment {
    variables: Vec<(OsString, OsString)>,
}

impl Environment {
    /// Reads the environment of this process.
    pub(crate) fn read() -> Self {
        Self {
            variables: std::env::vars_os().collect(),
        }
    }

    /// Returns the variables with their values.
    pub fn iter(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.variables
            .iter()
            .map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }

    /// Returns the value of a variable.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.iter()
            .find(|(key, _)| *key == name)
            .map(|(_, value)| value)
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_list()
            .entries(self.iter().map(|(name, _)| name))
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_no_value() {
        let variables = vec![("TOKEN".into(), "hunter2".into())];
        let environment = Environment { variables };
        assert_eq!(format!("{environment:?}"), r#"["TOKEN"]"#);
        assert_eq!(environment.get("TOKEN"), Some(OsStr::new("hunter2")));
        assert_eq!(environment.get("TOK"), None);
    }
}
