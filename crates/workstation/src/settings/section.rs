use super::SettingKey;

/// A table of a settings file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SettingSection {
    /// Its full name, such as `gitlab.instance`.
    pub name: &'static str,
    /// How often it can occur, and whether the user chooses its keys.
    pub shape: SectionShape,
    /// Its purpose for the guide: sentences in Markdown.
    pub about: &'static str,
    /// Why only the user's file may contain it, if so.
    pub users_alone: Option<&'static str>,
    /// Its keys.
    pub keys: &'static [SettingKey],
}

/// How often a section can occur, and whether the user chooses its keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SectionShape {
    /// Once, with the keys listed in the table.
    Once,
    /// Any number of times: `[[gitlab.instance]]`.
    List,
    /// Once, with keys that the user chooses. They all have the kind of the only [`SettingKey`], whose name describes
    /// them.
    Names,
    /// Once for each name that the user chooses: `[jobs."test"]`. The string describes the names.
    Tables(&'static str),
}

impl SettingSection {
    /// Returns its name in messages.
    pub fn title(&self) -> String {
        let name = self.name;
        match self.shape {
            SectionShape::Once | SectionShape::Names => format!("[{name}]"),
            SectionShape::List => format!("[[{name}]]"),
            SectionShape::Tables(what) => format!("[{name}.\"{what}\"]"),
        }
    }

    /// Returns the key with this name.
    pub fn key(&self, name: &str) -> Option<&'static SettingKey> {
        self.keys.iter().find(|key| key.name == name)
    }
}
