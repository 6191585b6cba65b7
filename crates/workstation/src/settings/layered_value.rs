use super::{SECTIONS, SettingKey, SettingOrigin, SettingSection, SettingValue};

/// A value of a setting, and where it is from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayeredValue {
    /// The section.
    pub section: &'static SettingSection,
    /// The key.
    pub key: &'static SettingKey,
    /// The name that the writer chose, or the number of the list's item from 1, if it is about one of
    /// several.
    pub of: Option<String>,
    /// The value.
    pub value: SettingValue,
    /// Where it is from.
    pub origin: SettingOrigin,
}

impl LayeredValue {
    /// Returns where it stands among others: by section, by name in it, by key.
    pub(super) fn position(&self) -> (usize, Option<String>, usize) {
        let section = SECTIONS.iter().position(|it| it.name == self.section.name);
        let key = self
            .section
            .keys
            .iter()
            .position(|it| it.name == self.key.name);
        (
            section.unwrap_or_default(),
            self.of.clone(),
            key.unwrap_or_default(),
        )
    }

    /// Returns a key of `[run]`, or another that is there once, as it is built in.
    pub(super) fn built_in(section: &'static SettingSection, key: &'static SettingKey) -> Self {
        Self {
            section,
            key,
            of: None,
            value: key.built_in(),
            origin: SettingOrigin::BuiltIn,
        }
    }

    /// Returns the name of the setting with that of its section: `jobs."test".inputs`.
    pub fn name(&self) -> String {
        let (section, key) = (self.section.name, self.key.name);
        match (&self.of, self.section.shape) {
            (None, _) => format!("{section}.{key}"),
            (Some(name), super::SectionShape::Names) => {
                format!("{section}.{}", toml::Value::from(name.as_str()))
            }
            (Some(number), super::SectionShape::List) => format!("{section}[{number}].{key}"),
            (Some(name), _) => format!("{section}.{}.{key}", toml::Value::from(name.as_str())),
        }
    }
}
