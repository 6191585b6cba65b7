//! Settings from environment variables.

use super::table::RUN;
use super::{LayeredValue, SettingKey, SettingOrigin, Settings, SettingsError};
use std::ffi::{OsStr, OsString};
use yaml::suggest::did_you_mean;

/// The prefix of all our variables.
const PREFIX: &str = "RUNWRIGHT_";

/// Variables that are not settings; other code reads them.
const OTHERS: [&str; 12] = [
    "RUNWRIGHT_AGENT",
    "RUNWRIGHT_CORPUS",
    "RUNWRIGHT_EMBEDDED_AGENT",
    "RUNWRIGHT_GITLAB",
    "RUNWRIGHT_GITLAB_TOKEN",
    "RUNWRIGHT_GIT_PASSWORD",
    "RUNWRIGHT_GIT_USERNAME",
    "RUNWRIGHT_HOME",
    "RUNWRIGHT_LOG",
    "RUNWRIGHT_PROCESS_MARKER",
    "RUNWRIGHT_SKIP_HOOK",
    "RUNWRIGHT_WRITE_PAGES",
];

/// Prefixes of further variables that are not settings.
const FAMILIES: [&str; 2] = ["RUNWRIGHT_TEST_", "RUNWRIGHT_FAIL"];

impl Settings {
    /// Adds the values of variables, which take precedence over files. An empty variable is ignored.
    ///
    /// # Errors
    ///
    /// If a variable has an invalid value. The error does not contain the value.
    pub fn with_variables(
        mut self,
        variables: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<Self, SettingsError> {
        let given = variables.into_iter().filter(|(_, value)| !value.is_empty());
        let mut found = Vec::new();
        for (name, value) in given {
            if let Some(key) = key_of(&name) {
                found.push(said(key, &value)?);
            }
        }
        found.sort_by(|one: &LayeredValue, other| one.key.name.cmp(other.key.name));
        self.said.extend(found);
        Ok(self)
    }

    /// Adds the value of an option of `run`, which takes precedence over all layers. An option that is not a setting
    /// is ignored.
    ///
    /// # Errors
    ///
    /// If the value is invalid.
    pub fn with_option(mut self, name: &str, values: &[String]) -> Result<Self, SettingsError> {
        let Some(key) = RUN.key(name) else {
            return Ok(self);
        };
        let value = match values {
            [] => "true".to_owned(),
            values => values.join(","),
        };
        let value = key
            .kind
            .parse(name, &value)
            .map_err(|wrong| SettingsError {
                file: format!("--{name}").into(),
                place: None,
                message: wrong.message,
                help: wrong.help,
            })?;
        self.said.push(LayeredValue {
            section: RUN,
            key,
            of: None,
            value,
            origin: SettingOrigin::Option(name.to_owned()),
        });
        Ok(self)
    }

    /// Returns a warning for each unknown variable with our prefix.
    pub fn unknown_variables<'v>(names: impl IntoIterator<Item = &'v OsStr>) -> Vec<String> {
        let mut unknown: Vec<&str> = names
            .into_iter()
            .filter_map(OsStr::to_str)
            .filter(|name| name.starts_with(PREFIX) && !is_known(name))
            .collect();
        unknown.sort_unstable();
        unknown.into_iter().map(tell_unknown).collect()
    }
}

fn said(key: &'static SettingKey, value: &OsStr) -> Result<LayeredValue, SettingsError> {
    let name = key.variable();
    let refuse = |message: String, help: Option<String>| SettingsError {
        file: name.clone().into(),
        place: None,
        message,
        help,
    };
    let text = value.to_str();
    let text = text.ok_or_else(|| refuse("it is no text".to_owned(), None))?;
    let read = key.kind.parse(key.name, text);
    Ok(LayeredValue {
        section: RUN,
        key,
        of: None,
        value: read.map_err(|wrong| refuse(wrong.message, wrong.help))?,
        origin: SettingOrigin::Variable(name.clone()),
    })
}

fn key_of(name: &OsStr) -> Option<&'static SettingKey> {
    let name = name.to_str()?;
    if !name.starts_with(PREFIX) {
        return None;
    }
    RUN.keys.iter().find(|key| key.variable() == name)
}

fn is_known(name: &str) -> bool {
    OTHERS.contains(&name)
        || FAMILIES.iter().any(|family| name.starts_with(family))
        || key_of(OsStr::new(name)).is_some()
}

fn tell_unknown(name: &str) -> String {
    let shown: String = name.chars().take(60).collect();
    let settings: Vec<String> = RUN.keys.iter().map(SettingKey::variable).collect();
    let known = settings.iter().map(String::as_str).chain(OTHERS);
    let help = did_you_mean(name, known);
    let help = help.map_or_else(String::new, |help| format!(": {help}"));
    format!(
        "the variable {} has no effect{help}",
        shown.escape_default()
    )
}
