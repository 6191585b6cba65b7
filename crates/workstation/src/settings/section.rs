use super::SettingKey;

/// A table of the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SettingSection {
    /// Its name, with that of the section it is in: `gitlab.instance`.
    pub name: &'static str,
    /// How often it may be there, and who chooses its keys.
    pub shape: SectionShape,
    /// What it is for, as the guide says it: sentences in Markdown.
    pub about: &'static str,
    /// Why it is the user's alone, if it is.
    pub users_alone: Option<&'static str>,
    /// Its keys.
    pub keys: &'static [SettingKey],
}

/// How often a section may be there, and who chooses its keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SectionShape {
    /// Once, with the keys of the table.
    Once,
    /// Any number of times: `[[gitlab.instance]]`.
    List,
    /// Once, with keys that the writer chooses, all of one kind: that of the only key. Its name says
    /// what they are.
    Names,
    /// Once for each name that the writer chooses: `[jobs."test"]`. The word says what names are.
    Tables(&'static str),
}

impl SettingSection {
    /// Returns what messages call it.
    pub fn title(&self) -> String {
        let name = self.name;
        match self.shape {
            SectionShape::Once | SectionShape::Names => format!("[{name}]"),
            SectionShape::List => format!("[[{name}]]"),
            SectionShape::Tables(what) => format!("[{name}.\"{what}\"]"),
        }
    }

    /// Returns its key of this name.
    pub fn key(&self, name: &str) -> Option<&'static SettingKey> {
        self.keys.iter().find(|key| key.name == name)
    }
}
