//! The JSON schema of the settings files, for editors.

use super::{SECTIONS, SectionShape, SettingKey, SettingKind, SettingSection, SettingsFile};
use serde_json::{Map, Value, json};

impl SettingsFile {
    /// Returns the JSON schema of the file.
    pub fn schema(self) -> Value {
        let tops = SECTIONS.iter().filter(|it| !it.name.contains('.'));
        let tops = tops.filter(|it| self.may_say(it.users_alone));
        let properties = tops.map(|it| (it.name.to_owned(), self.section(it)));
        let properties: Map<String, Value> = properties.collect();
        json!({
            "$schema": "http://json-schema.org/draft-07/schema#",
            "title": match self {
                Self::User => "Settings of Runwright's user, `config.toml`",
                Self::Project => "Settings of a project, `.runwright.toml`",
            },
            "type": "object",
            "properties": properties,
            "additionalProperties": false,
        })
    }

    /// Returns whether this file may set a key or section with this `users_alone` restriction.
    pub(super) fn may_say(self, users_alone: Option<&str>) -> bool {
        self == Self::User || users_alone.is_none()
    }

    fn section(self, section: &SettingSection) -> Value {
        let keys = section
            .keys
            .iter()
            .filter(|key| self.may_say(key.users_alone));
        let table = || {
            let below = SECTIONS.iter().filter_map(|it| {
                let name = it.name.strip_prefix(section.name)?.strip_prefix('.')?;
                Some((name.to_owned(), self.section(it)))
            });
            let own = keys.clone().map(|key| (key.name.to_owned(), key.schema()));
            let properties: Map<String, Value> = own.chain(below).collect();
            json!({
                "type": "object",
                "properties": properties,
                "additionalProperties": false,
            })
        };
        let mut schema = match section.shape {
            SectionShape::Once => table(),
            SectionShape::List => json!({"type": "array", "items": table()}),
            SectionShape::Tables(_) => json!({"type": "object", "additionalProperties": table()}),
            SectionShape::Names => {
                let value = section.keys.first().map(SettingKey::schema);
                json!({"type": "object", "additionalProperties": value})
            }
        };
        if let (Some(schema), false) = (schema.as_object_mut(), section.about.is_empty()) {
            schema.insert("description".to_owned(), section.about.into());
        }
        schema
    }
}

impl SettingKey {
    fn schema(&self) -> Value {
        let mut schema = self.kind.schema();
        if let Some(schema) = schema.as_object_mut() {
            schema.insert("description".to_owned(), self.about.into());
            if let Some(default) = self
                .default
                .and_then(|text| text.parse::<toml::Value>().ok())
            {
                schema.insert("default".to_owned(), json!(default));
            }
        }
        schema
    }
}

impl SettingKind {
    fn schema(self) -> Value {
        match self {
            Self::Flag => json!({"type": "boolean"}),
            Self::Count => json!({"type": "integer", "minimum": 1, "maximum": u32::MAX}),
            Self::Word(words) => json!({"type": "string", "enum": words}),
            Self::Words(words) => json!({"type": "array", "items": {"enum": words}}),
            Self::Texts | Self::Globs => {
                json!({"type": "array", "items": {"type": "string", "minLength": 1}})
            }
            Self::Text | Self::Secret | Self::Duration | Self::Size | Self::Path => {
                json!({"type": "string", "minLength": 1})
            }
        }
    }
}
