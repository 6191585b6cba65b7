//! Reads a settings file by the table alone: its values, and which of them the file may set.

use super::reader::parse;
use super::table::SECTIONS;
use super::{
    FilePlace, LayeredValue, SectionShape, SettingKey, SettingOrigin, SettingSection,
    SettingsError, SettingsFile, Table, Value,
};
use crate::project::read_file::stays_below;
use std::path::Path;

/// The values of one file.
#[derive(Debug)]
pub(super) struct Layer {
    whose: SettingsFile,
    /// All values, in the order of the file.
    pub(super) said: Vec<LayeredValue>,
    /// The first value of the wrong kind. The reader of its section may report a better error.
    pub(super) wrong: Option<SettingsError>,
}

/// Returns the values of a file.
///
/// # Errors
///
/// If it is not valid TOML, or has keys that are unknown or not allowed in this file.
pub(super) fn read_layer(
    whose: SettingsFile,
    file: &Path,
    text: &str,
) -> Result<Layer, SettingsError> {
    let parsed = parse(file, text)?;
    let all = Table::whole(file, text, &parsed);
    let tops: Vec<&str> = SECTIONS.iter().map(|section| section.name).collect();
    let tops: Vec<&str> = tops
        .into_iter()
        .filter(|name| !name.contains('.'))
        .collect();
    all.only(&tops)?;
    let mut layer = Layer {
        whose,
        said: Vec::new(),
        wrong: None,
    };
    for value in all.values() {
        let section = SECTIONS.iter().find(|section| section.name == value.key);
        if let Some(section) = section {
            layer.section(section, &value)?;
        }
    }
    layer
        .said
        .sort_by_key(|said| said.origin.place().map(|it| (it.line, it.column)));
    Ok(layer)
}

impl Layer {
    fn section(
        &mut self,
        section: &'static SettingSection,
        value: &Value<'_>,
    ) -> Result<(), SettingsError> {
        let title = section.title();
        if self.whose == SettingsFile::Project
            && let Some(why) = section.users_alone
        {
            return Err(not_here(value, &title, why));
        }
        match section.shape {
            SectionShape::Once => self.keys(section, None, &value.table(&title)?)?,
            SectionShape::List => {
                for (at, table) in value.tables(&title)?.iter().enumerate() {
                    self.keys(section, Some(&(at + 1).to_string()), table)?;
                }
            }
            SectionShape::Tables(_) => {
                for named in value.table(&title)?.values() {
                    let title = format!("[{}.\"{}\"]", section.name, named.shown_key());
                    self.keys(section, Some(named.key), &named.table(&title)?)?;
                }
            }
            SectionShape::Names => {
                for named in value.table(&title)?.values() {
                    if let [key] = section.keys {
                        self.value(section, key, Some(named.key), &named)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn keys(
        &mut self,
        section: &'static SettingSection,
        of: Option<&str>,
        table: &Table<'_>,
    ) -> Result<(), SettingsError> {
        let below = |it: &&SettingSection| {
            let name = it.name.strip_prefix(section.name);
            name.is_some_and(|name| name.starts_with('.'))
        };
        let below: Vec<_> = SECTIONS.iter().filter(below).collect();
        table.only(&known_in(section))?;
        for value in table.values() {
            if let Some(key) = section.key(value.key) {
                self.value(section, key, of, &value)?;
            } else if let Some(section) = below.iter().find(|it| it.name.ends_with(value.key)) {
                self.section(section, &value)?;
            }
        }
        Ok(())
    }

    fn value(
        &mut self,
        section: &'static SettingSection,
        key: &'static SettingKey,
        of: Option<&str>,
        value: &Value<'_>,
    ) -> Result<(), SettingsError> {
        if self.whose == SettingsFile::Project
            && let Some(why) = key.users_alone
        {
            return Err(not_here(value, &format!("`{}`", key.name), why));
        }
        let read = match key.kind.read(value) {
            Ok(read) => read,
            Err(wrong) => {
                self.wrong.get_or_insert(wrong);
                return Ok(());
            }
        };
        if self.whose == SettingsFile::Project {
            read.refuse_outside(value, key.kind)?;
        }
        let place = value.file_place();
        self.said.push(LayeredValue {
            section,
            key,
            of: of.map(ToOwned::to_owned),
            value: read,
            origin: match self.whose {
                SettingsFile::User => SettingOrigin::User(place),
                SettingsFile::Project => SettingOrigin::Project(place),
            },
        });
        Ok(())
    }
}

/// Returns the names allowed in a section: its keys and its subsections.
pub(super) fn known_in(section: &SettingSection) -> Vec<&'static str> {
    let below = SECTIONS
        .iter()
        .filter_map(|it| it.name.strip_prefix(section.name)?.strip_prefix('.'));
    section
        .keys
        .iter()
        .map(|key| key.name)
        .chain(below)
        .collect()
}

fn not_here(value: &Value<'_>, what: &str, why: &str) -> SettingsError {
    let message = format!("{what} is not allowed in a project's settings: {why}");
    let help = "it belongs in your own `config.toml`; `runwright config show --origin` tells where that is";
    value.refuse_key(message, help.to_owned())
}

impl super::SettingValue {
    /// Refuses a path in a project's file that points outside of the project.
    fn refuse_outside(
        &self,
        value: &Value<'_>,
        kind: super::SettingKind,
    ) -> Result<(), SettingsError> {
        let Self::Text(text) = self else {
            return Ok(());
        };
        if kind != super::SettingKind::Path || stays_below(Path::new(text)) {
            return Ok(());
        }
        let message = format!("`{}` leads out of the project", value.key);
        Err(value.refuse(message, "a project names a file of its own".to_owned()))
    }
}

impl Value<'_> {
    fn file_place(&self) -> FilePlace {
        let (line, column) = self.place();
        FilePlace {
            file: self.file().to_owned(),
            line,
            column,
        }
    }
}
