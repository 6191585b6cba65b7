//! Reads mappings with known keys, and reports errors in them.

use super::error::LanguageError;
use super::expression::Template;
use super::function::Argument;
use super::value::Kind;
use super::yaml::Node;
use std::collections::BTreeMap;

/// The longest name.
const LONGEST_NAME: usize = 255;

/// A mapping whose keys are taken one by one; the rest are unknown keys.
pub(super) struct Fields {
    /// The prefix of messages, such as `inputs.name: `.
    location: String,
    map: BTreeMap<String, Node>,
}

impl Fields {
    pub(super) fn of(location: &str, node: Node) -> Result<Self, LanguageError> {
        let location = if location.is_empty() {
            String::new()
        } else {
            format!("{location}: ")
        };
        match node {
            Node::Map(map) => Ok(Self { location, map }),
            Node::Null => Ok(Self {
                location,
                map: BTreeMap::new(),
            }),
            _ => Err(LanguageError::new(format!(
                "{location}expected a mapping of keys to values"
            ))),
        }
    }

    /// Returns an error in this mapping.
    pub(super) fn error(&self, message: impl std::fmt::Display) -> LanguageError {
        LanguageError::new(format_args!("{}{message}", self.location))
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
        let text = text.ok_or_else(|| self.error(format_args!("`{key}` is not a string")))?;
        if text.contains('\0') {
            return Err(self.error(format_args!("`{key}` contains a NUL byte")));
        }
        Ok(Some(text))
    }

    pub(super) fn take_flag(&mut self, key: &str) -> Result<bool, LanguageError> {
        let Some(node) = self.take(key) else {
            return Ok(false);
        };
        match node.to_value().kind {
            Kind::Boolean(flag) => Ok(flag),
            _ => Err(self.error(format_args!("`{key}` is neither true nor false"))),
        }
    }

    pub(super) fn take_template(&mut self, key: &str) -> Result<Option<Template>, LanguageError> {
        let Some(text) = self.take_text(key)? else {
            return Ok(None);
        };
        let template = Template::parse(&text);
        template
            .map(Some)
            .map_err(|error| self.error(format_args!("`{key}`: {error}")))
    }

    /// Takes a list of strings.
    pub(super) fn take_templates(&mut self, key: &str) -> Result<Vec<Template>, LanguageError> {
        let values = match self.take(key) {
            None => return Ok(Vec::new()),
            Some(Node::List(nodes)) => nodes,
            Some(_) => return Err(self.error(format_args!("`{key}` is not a list"))),
        };
        let template = |node: Node| {
            let text = node.into_text().filter(|text| !text.contains('\0'));
            let text = text.ok_or_else(|| {
                self.error(format_args!("`{key}` has an element that is not a string"))
            })?;
            Template::parse(&text).map_err(|error| self.error(format_args!("`{key}`: {error}")))
        };
        values.into_iter().map(template).collect()
    }

    /// Takes environment variables.
    pub(super) fn take_env(&mut self) -> Result<BTreeMap<String, Template>, LanguageError> {
        let map = match self.take("env") {
            None => return Ok(BTreeMap::new()),
            Some(Node::Map(map)) => map,
            Some(_) => return Err(self.error("`env` is not a mapping of names to strings")),
        };
        let variable = |(name, node): (String, Node)| {
            let text = match node {
                Node::Null => Some(String::new()),
                node => node.into_text().filter(|text| !text.contains('\0')),
            };
            let text = text.ok_or_else(|| {
                self.error(format_args!("variable `{}` is not a string", shown(&name)))
            })?;
            check_name(&name).map_err(|error| self.error(format_args!("variable {error}")))?;
            let template = Template::parse(&text);
            let template =
                template.map_err(|error| self.error(format_args!("variable `{name}`: {error}")))?;
            Ok((name, template))
        };
        map.into_iter().map(variable).collect()
    }

    /// Takes named values.
    pub(super) fn take_arguments(
        &mut self,
        key: &str,
    ) -> Result<BTreeMap<String, Argument>, LanguageError> {
        let map = match self.take(key) {
            None => return Ok(BTreeMap::new()),
            Some(Node::Map(map)) => map,
            Some(_) => {
                return Err(self.error(format_args!("`{key}` is not a mapping of names to values")));
            }
        };
        let argument = |(name, node): (String, Node)| {
            check_name(&name).map_err(|error| self.error(format_args!("`{key}`: {error}")))?;
            let read = argument(node);
            let read = read.map_err(|error| self.error(format_args!("`{key}.{name}`: {error}")))?;
            Ok((name, read))
        };
        map.into_iter().map(argument).collect()
    }

    /// Checks that no unknown key remains.
    pub(super) fn end(self) -> Result<(), LanguageError> {
        match self.map.iter().find(|(_, node)| **node != Node::Null) {
            Some((key, _)) => Err(self.error(format_args!("`{}` is unknown", shown(key)))),
            None => Ok(()),
        }
    }
}

/// Reads a value that may contain expressions.
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

/// Checks the name of a step, input, output or variable.
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
        "`{}` is not a name: expected letters, digits and underscores, without a digit first",
        shown(name)
    )))
}

/// Returns a name that is safe to show.
pub(super) fn shown(name: &str) -> String {
    let visible = name.chars().filter(|c| !c.is_control());
    visible.take(64).collect()
}
