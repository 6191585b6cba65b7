use super::{SECTIONS, SettingKey, SettingOrigin, SettingSection, SettingValue};

/// The value of a setting, and its origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayeredValue {
    /// The section.
    pub section: &'static SettingSection,
    /// The key.
    pub key: &'static SettingKey,
    /// For a setting that can occur several times: the name the user chose, or the item's number in the list, from 1.
    pub of: Option<String>,
    /// The value.
    pub value: SettingValue,
    /// The origin of the value.
    pub origin: SettingOrigin,
}

impl LayeredValue {
    /// Returns its sort key: section, name within the section, key.
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

    /// Returns the built-in value of a key in a section that occurs once, such as `[run]`.
    pub(super) fn built_in(section: &'static SettingSection, key: &'static SettingKey) -> Self {
        Self {
            section,
            key,
            of: None,
            value: key.built_in(),
            origin: SettingOrigin::BuiltIn,
        }
    }

    /// Returns the full name of the setting, including its section: `jobs."test".inputs`.
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
