//! Mappings whose keys are all known, and words for what is wrong in them.

use super::expression::Template;
use super::function::Argument;
use super::value::Value;
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;

/// The longest name.
const LONGEST_NAME: usize = 255;

/// A mapping whose keys are taken one after the other; what nobody takes is unknown.
#[derive(Debug)]
pub(super) struct Fields {
    /// Where it is, for words: `inputs.name: `.
    place: String,
    map: Map<String, Json>,
}

impl Fields {
    pub(super) fn of(place: &str, value: Json) -> Result<Self, String> {
        let place = if place.is_empty() {
            String::new()
        } else {
            format!("{place}: ")
        };
        match value {
            Json::Object(map) => Ok(Self { place, map }),
            Json::Null => Ok(Self {
                place,
                map: Map::new(),
            }),
            _ => Err(format!("{place}it is no mapping of keys to values")),
        }
    }

    /// Returns words for what is wrong here.
    pub(super) fn wrong(&self, words: impl std::fmt::Display) -> String {
        format!("{}{words}", self.place)
    }

    pub(super) fn take(&mut self, key: &str) -> Option<Json> {
        self.map.remove(key).filter(|value| !value.is_null())
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.map.get(key).is_some_and(|value| !value.is_null())
    }

    pub(super) fn take_text(&mut self, key: &str) -> Result<Option<String>, String> {
        match self.take(key) {
            None => Ok(None),
            Some(Json::String(text)) if text.contains('\0') => {
                Err(self.wrong(format_args!("`{key}` holds a NUL byte")))
            }
            Some(Json::String(text)) => Ok(Some(text)),
            Some(_) => Err(self.wrong(format_args!("`{key}` is no text"))),
        }
    }

    pub(super) fn take_flag(&mut self, key: &str) -> Result<bool, String> {
        match self.take(key) {
            None => Ok(false),
            Some(Json::Bool(flag)) => Ok(flag),
            Some(_) => Err(self.wrong(format_args!("`{key}` is neither true nor false"))),
        }
    }

    pub(super) fn take_template(&mut self, key: &str) -> Result<Option<Template>, String> {
        let Some(text) = self.take_text(key)? else {
            return Ok(None);
        };
        let template = Template::parse(&text);
        template
            .map(Some)
            .map_err(|error| self.wrong(format_args!("`{key}`: {error}")))
    }

    /// Takes a list of texts.
    pub(super) fn take_templates(&mut self, key: &str) -> Result<Vec<Template>, String> {
        let values = match self.take(key) {
            None => return Ok(Vec::new()),
            Some(Json::Array(values)) => values,
            Some(_) => return Err(self.wrong(format_args!("`{key}` is no list"))),
        };
        let template = |value: Json| match value {
            Json::String(text) if !text.contains('\0') => {
                Template::parse(&text).map_err(|error| self.wrong(format_args!("`{key}`: {error}")))
            }
            _ => Err(self.wrong(format_args!("`{key}` has something in it that is no text"))),
        };
        values.into_iter().map(template).collect()
    }

    /// Takes variables for an environment.
    pub(super) fn take_env(&mut self) -> Result<BTreeMap<String, Template>, String> {
        let map = match self.take("env") {
            None => return Ok(BTreeMap::new()),
            Some(Json::Object(map)) => map,
            Some(_) => return Err(self.wrong("`env` is no mapping of names to texts")),
        };
        let variable = |(name, value): (String, Json)| {
            let text = match value {
                Json::String(text) if !text.contains('\0') => text,
                Json::Number(number) => number.to_string(),
                Json::Bool(flag) => flag.to_string(),
                _ => return Err(self.wrong(format_args!("variable `{}` is no text", shown(&name)))),
            };
            check_name(&name).map_err(|wrong| self.wrong(format_args!("variable {wrong}")))?;
            let template = Template::parse(&text);
            let template =
                template.map_err(|error| self.wrong(format_args!("variable `{name}`: {error}")))?;
            Ok((name, template))
        };
        map.into_iter().map(variable).collect()
    }

    /// Takes values with names.
    pub(super) fn take_arguments(
        &mut self,
        key: &str,
    ) -> Result<BTreeMap<String, Argument>, String> {
        let map = match self.take(key) {
            None => return Ok(BTreeMap::new()),
            Some(Json::Object(map)) => map,
            Some(_) => {
                return Err(self.wrong(format_args!("`{key}` is no mapping of names to values")));
            }
        };
        let argument = |(name, value): (String, Json)| {
            check_name(&name).map_err(|wrong| self.wrong(format_args!("`{key}`: {wrong}")))?;
            let read = argument(value);
            let read = read.map_err(|error| self.wrong(format_args!("`{key}.{name}`: {error}")))?;
            Ok((name, read))
        };
        map.into_iter().map(argument).collect()
    }

    /// Says so if there is a key that nobody took.
    pub(super) fn end(self) -> Result<(), String> {
        match self.map.iter().find(|(_, value)| !value.is_null()) {
            Some((key, _)) => Err(self.wrong(format_args!("`{}` is unknown", shown(key)))),
            None => Ok(()),
        }
    }
}

/// Reads a value with expressions in its texts.
pub(super) fn argument(value: Json) -> Result<Argument, String> {
    Ok(match value {
        Json::String(text) if text.contains("${{") => {
            Argument::Text(Template::parse(&text).map_err(|error| error.to_string())?)
        }
        Json::Array(values) => {
            let values = values.into_iter().map(argument).collect::<Result<_, _>>()?;
            Argument::Array(values)
        }
        Json::Object(values) => {
            let values = values
                .into_iter()
                .map(|(name, value)| Ok((name, argument(value)?)));
            Argument::Struct(values.collect::<Result<_, String>>()?)
        }
        plain => Argument::Plain(Value::from(&plain)),
    })
}

/// Says so if this names no step, input, output or variable.
pub(super) fn check_name(name: &str) -> Result<(), String> {
    let mut characters = name.chars();
    let begins = characters
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    if begins
        && characters.all(|c| c.is_ascii_alphanumeric() || c == '_')
        && name.len() <= LONGEST_NAME
    {
        return Ok(());
    }
    Err(format!(
        "`{}` is no name: letters, digits and underscores, and no digit first",
        shown(name)
    ))
}

/// Returns a name as it may stand in a message.
pub(super) fn shown(name: &str) -> String {
    let visible = name.chars().filter(|c| !c.is_control());
    visible.take(64).collect()
}
