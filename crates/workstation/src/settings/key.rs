use super::{SettingKind, SettingValue};
use std::num::NonZeroU32;

/// An entry of the [table](super::SECTIONS): one setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SettingKey {
    /// Its name within the section.
    pub name: &'static str,
    /// The kind of its value.
    pub kind: SettingKind,
    /// Its meaning for the guide: a phrase in Markdown.
    pub about: &'static str,
    /// The default value, in TOML.
    pub default: Option<&'static str>,
    /// An example for the file with all settings, in TOML.
    pub example: Option<&'static str>,
    /// Why only the user's file may set it, if so: the end of "the project's file may not say it:".
    pub users_alone: Option<&'static str>,
    /// Options with the same or the opposite effect: when one of them is given, this setting is ignored.
    pub yields_to: &'static [&'static str],
    /// Whether a resumed run takes this setting from the new command rather than from its start.
    pub is_about_screen: bool,
}

impl SettingKey {
    /// Creates a key.
    pub(super) const fn new(name: &'static str, kind: SettingKind, about: &'static str) -> Self {
        Self {
            name,
            kind,
            about,
            default: None,
            example: None,
            users_alone: None,
            yields_to: &[],
            is_about_screen: false,
        }
    }

    /// Sets the default.
    pub(super) const fn default(mut self, default: &'static str) -> Self {
        self.default = Some(default);
        self
    }

    /// Sets the example.
    pub(super) const fn example(mut self, example: &'static str) -> Self {
        self.example = Some(example);
        self
    }

    /// Restricts it to the user's file, for this reason.
    pub(super) const fn users_alone(mut self, why: &'static str) -> Self {
        self.users_alone = Some(why);
        self
    }

    /// Sets the options that override it.
    pub(super) const fn yields_to(mut self, options: &'static [&'static str]) -> Self {
        self.yields_to = options;
        self
    }

    /// Marks it as a setting of the display.
    pub(super) const fn about_screen(mut self) -> Self {
        self.is_about_screen = true;
        self
    }

    /// Returns the built-in value.
    pub(super) fn built_in(&self) -> SettingValue {
        let default = self.default.and_then(|text| text.parse().ok());
        match default {
            Some(toml::Value::String(text)) => SettingValue::Text(text),
            Some(toml::Value::Boolean(flag)) => SettingValue::Flag(flag),
            Some(toml::Value::Integer(number)) => u32::try_from(number)
                .ok()
                .and_then(NonZeroU32::new)
                .map_or(SettingValue::Unset, SettingValue::Count),
            Some(toml::Value::Array(_)) => SettingValue::Texts(Vec::new()),
            _ => SettingValue::Unset,
        }
    }

    /// Returns the environment variable that corresponds to a key of `[run]`.
    pub fn variable(&self) -> String {
        let name = self.name.to_ascii_uppercase().replace('-', "_");
        format!("RUNWRIGHT_{name}")
    }
}
