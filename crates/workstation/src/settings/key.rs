use super::{SettingKind, SettingValue};
use std::num::NonZeroU32;

/// An entry of the [table](super::SECTIONS): one setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SettingKey {
    /// What it is called in its section.
    pub name: &'static str,
    /// What it holds.
    pub kind: SettingKind,
    /// What it means, as the guide says it: a phrase in Markdown.
    pub about: &'static str,
    /// What holds where nobody says anything, as TOML has it.
    pub default: Option<&'static str>,
    /// What a file with all settings shows as an example, as TOML has it.
    pub example: Option<&'static str>,
    /// Why it is the user's alone, if it is: the end of "the project's file may not say it:".
    pub users_alone: Option<&'static str>,
    /// Options that say as much or the opposite: when one of them is given, this setting is not asked.
    pub yields_to: &'static [&'static str],
    /// Whether a run that is gone on with is shown as the new command has it, not as it began.
    pub is_about_screen: bool,
}

impl SettingKey {
    /// Returns a key with a name, a kind, and what it means.
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

    /// The same with a default.
    pub(super) const fn default(mut self, default: &'static str) -> Self {
        self.default = Some(default);
        self
    }

    /// The same with an example.
    pub(super) const fn example(mut self, example: &'static str) -> Self {
        self.example = Some(example);
        self
    }

    /// The same for the user's file alone, for this reason.
    pub(super) const fn users_alone(mut self, why: &'static str) -> Self {
        self.users_alone = Some(why);
        self
    }

    /// The same that counts only without these options.
    pub(super) const fn yields_to(mut self, options: &'static [&'static str]) -> Self {
        self.yields_to = options;
        self
    }

    /// The same, about what is shown.
    pub(super) const fn about_screen(mut self) -> Self {
        self.is_about_screen = true;
        self
    }

    /// Returns what holds where nobody says anything.
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

    /// Returns the variable of the environment that says the same as a key of `[run]`.
    pub fn variable(&self) -> String {
        let name = self.name.to_ascii_uppercase().replace('-', "_");
        format!("RUNWRIGHT_{name}")
    }
}
