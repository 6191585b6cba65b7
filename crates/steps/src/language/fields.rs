//! Mappings whose keys are all known, and words for what is wrong in them.

use super::error::LanguageError;
use super::expression::Template;
use super::function::Argument;
use super::value::Kind;
use super::yaml::Node;
use std::collections::BTreeMap;

/// The longest name.
const LONGEST_NAME: usize = 255;

/// A mapping whose keys are taken one after the other; what nobody takes is unknown.
pub(super) struct Fields {
    /// Where it is, for words: `inputs.name: `.
    place: String,
    map: BTreeMap<String, Node>,
}

impl Fields {
    pub(super) fn of(place: &str, node: Node) -> Result<Self, LanguageError> {
        let place = if place.is_empty() {
            String::new()
        } else {
            format!("{place}: ")
        };
        match node {
            Node::Map(map) => Ok(Self { place, map }),
            Node::Null => Ok(Self {
                place,
                map: BTreeMap::new(),
            }),
            _ => Err(LanguageError::new(format!(
                "{place}it is no mapping of keys to values"
            ))),
        }
    }

    /// Returns words for what is wrong here.
    pub(super) fn wrong(&self, words: impl std::fmt::Display) -> LanguageError {
        LanguageError::new(format_args!("{}{words}", self.place))
    }

    pub(super) fn take(&mut self, key: &str) -> Option<Node> {
        self.map.remove(key).filter(|node| *node != Node::Null)
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.map.get(key).is_some_and(|node| *node != Node::Null)
    }

    pub(super) fn take_text(&mut self, key: &str) -> Result<Option<String>, LanguageError> {
        let Some(node) = self.take(key) else {
            return Ok(None);
        };
        let text = node.into_text();
        let text = text.ok_or_else(|| self.wrong(format_args!("`{key}` is no text")))?;
        if text.contains('\0') {
            return Err(self.wrong(format_args!("`{key}` holds a NUL byte")));
        }
        Ok(Some(text))
    }

    pub(super) fn take_flag(&mut self, key: &str) -> Result<bool, LanguageError> {
        let Some(node) = self.take(key) else {
            return Ok(false);
        };
        match node.to_value().kind {
            Kind::Boolean(flag) => Ok(flag),
            _ => Err(self.wrong(format_args!("`{key}` is neither true nor false"))),
        }
    }

    pub(super) fn take_template(&mut self, key: &str) -> Result<Option<Template>, LanguageError> {
        let Some(text) = self.take_text(key)? else {
            return Ok(None);
        };
        let template = Template::parse(&text);
        template
            .map(Some)
            .map_err(|error| self.wrong(format_args!("`{key}`: {error}")))
    }

    /// Takes a list of texts.
    pub(super) fn take_templates(&mut self, key: &str) -> Result<Vec<Template>, LanguageError> {
        let values = match self.take(key) {
            None => return Ok(Vec::new()),
            Some(Node::List(nodes)) => nodes,
            Some(_) => return Err(self.wrong(format_args!("`{key}` is no list"))),
        };
        let template = |node: Node| {
            let text = node.into_text().filter(|text| !text.contains('\0'));
            let text = text.ok_or_else(|| {
                self.wrong(format_args!("`{key}` has something in it that is no text"))
            })?;
            Template::parse(&text).map_err(|error| self.wrong(format_args!("`{key}`: {error}")))
        };
        values.into_iter().map(template).collect()
    }

    /// Takes variables for an environment.
    pub(super) fn take_env(&mut self) -> Result<BTreeMap<String, Template>, LanguageError> {
        let map = match self.take("env") {
            None => return Ok(BTreeMap::new()),
            Some(Node::Map(map)) => map,
            Some(_) => return Err(self.wrong("`env` is no mapping of names to texts")),
        };
        let variable = |(name, node): (String, Node)| {
            let text = match node {
                Node::Null => Some(String::new()),
                node => node.into_text().filter(|text| !text.contains('\0')),
            };
            let text = text.ok_or_else(|| {
                self.wrong(format_args!("variable `{}` is no text", shown(&name)))
            })?;
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
    ) -> Result<BTreeMap<String, Argument>, LanguageError> {
        let map = match self.take(key) {
            None => return Ok(BTreeMap::new()),
            Some(Node::Map(map)) => map,
            Some(_) => {
                return Err(self.wrong(format_args!("`{key}` is no mapping of names to values")));
            }
        };
        let argument = |(name, node): (String, Node)| {
            check_name(&name).map_err(|wrong| self.wrong(format_args!("`{key}`: {wrong}")))?;
            let read = argument(node);
            let read = read.map_err(|error| self.wrong(format_args!("`{key}.{name}`: {error}")))?;
            Ok((name, read))
        };
        map.into_iter().map(argument).collect()
    }

    /// Says so if there is a key that nobody took.
    pub(super) fn end(self) -> Result<(), LanguageError> {
        match self.map.iter().find(|(_, node)| **node != Node::Null) {
            Some((key, _)) => Err(self.wrong(format_args!("`{}` is unknown", shown(key)))),
            None => Ok(()),
        }
    }
}

/// Reads a value with expressions in its texts.
pub(super) fn argument(node: Node) -> Result<Argument, LanguageError> {
    Ok(match node {
        Node::Plain(text) | Node::Text(text) if text.contains("${{") => {
            Argument::Text(Template::parse(&text).map_err(|error| error.to_string())?)
        }
        Node::List(nodes) => {
            let values = nodes.into_iter().map(argument).collect::<Result<_, _>>()?;
            Argument::Array(values)
        }
        Node::Map(nodes) => {
            let values = nodes.into_iter();
            let values = values.map(|(name, node)| Ok((name, argument(node)?)));
            Argument::Struct(values.collect::<Result<_, LanguageError>>()?)
        }
        plain => Argument::Plain(plain.to_value()),
    })
}

/// Says so if this names no step, input, output or variable.
pub(super) fn check_name(name: &str) -> Result<(), LanguageError> {
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
    Err(LanguageError::new(format!(
        "`{}` is no name: letters, digits and underscores, and no digit first",
        shown(name)
    )))
}

/// Returns a name as it may stand in a message.
pub(super) fn shown(name: &str) -> String {
    let visible = name.chars().filter(|c| !c.is_control());
    visible.take(64).collect()
}
