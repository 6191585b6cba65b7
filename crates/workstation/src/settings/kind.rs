use super::value::SettingValue;
use super::{SettingsError, Value, parse_size};
use pipeline::config::parse_duration;
use pipeline::glob::Glob;
use pipeline::selector::split_list;
use std::num::NonZeroU32;
use yaml::suggest::did_you_mean;

/// The kind of a setting's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingKind {
    /// Any text.
    Text,
    /// Text that is never displayed.
    Secret,
    /// One of these words.
    Word(&'static [&'static str]),
    /// `true` or `false`.
    Flag,
    /// A number from 1.
    Count,
    /// A duration, such as `90 minutes`.
    Duration,
    /// A number of bytes, such as `10 GB`.
    Size,
    /// A path; in a project's file it must be inside the project.
    Path,
    /// A list of strings.
    Texts,
    /// A list of some of these words.
    Words(&'static [&'static str]),
    /// A list of patterns, as in `rules:changes`.
    Globs,
}

/// Why a value is refused.
pub(super) struct Wrong {
    pub(super) message: String,
    pub(super) help: Option<String>,
}

impl SettingKind {
    /// Returns a description of the kind for users.
    pub fn words(self) -> String {
        match self {
            Self::Text | Self::Secret => "text".to_owned(),
            Self::Word(words) => words.join(", "),
            Self::Flag => "true or false".to_owned(),
            Self::Count => "a whole number of at least 1".to_owned(),
            Self::Duration => "a duration, as \"90 minutes\"".to_owned(),
            Self::Size => "a size, as \"10 GB\"".to_owned(),
            Self::Path => "a path".to_owned(),
            Self::Texts => "a list of texts".to_owned(),
            Self::Words(words) => format!("a list of {}", words.join(", ")),
            Self::Globs => "a list of patterns".to_owned(),
        }
    }

    /// Reads a value from a file; `name` is its name in messages.
    pub(super) fn read(self, value: &Value<'_>) -> Result<SettingValue, SettingsError> {
        let refuse = |wrong: Wrong| value.refuse(wrong.message, wrong.help);
        match self {
            Self::Flag => value.flag().map(SettingValue::Flag),
            Self::Count => {
                let count = value.count()?.get();
                let count = u32::try_from(count).ok().and_then(NonZeroU32::new);
                let too_large = || value.refuse(format!("`{}` is too large", value.key), None);
                count.map(SettingValue::Count).ok_or_else(too_large)
            }
            Self::Texts | Self::Words(_) | Self::Globs => {
                let items = value.items()?;
                let text = |item: &Value<'_>| {
                    let text = item.text()?;
                    self.check_item(value.key, text)
                        .map_err(|wrong| item.refuse(wrong.message, wrong.help))?;
                    Ok(text.to_owned())
                };
                let texts: Result<_, _> = items.iter().map(text).collect();
                texts.map(SettingValue::Texts)
            }
            _ => self.text(value.key, value.text()?).map_err(refuse),
        }
    }

    /// Parses the value of a variable. Commas separate the items of a list, except inside brackets and braces.
    pub(super) fn parse(self, name: &str, text: &str) -> Result<SettingValue, Wrong> {
        match self {
            Self::Flag => match text {
                "true" | "yes" | "1" => Ok(SettingValue::Flag(true)),
                "false" | "no" | "0" => Ok(SettingValue::Flag(false)),
                _ => Err(wrong(format!("`{name}` is true or false"), None)),
            },
            Self::Count => {
                let count = text.parse().map(SettingValue::Count);
                count.map_err(|_| wrong(format!("`{name}` is a whole number of at least 1"), None))
            }
            Self::Texts | Self::Words(_) | Self::Globs => {
                let texts = split_list(text).into_iter();
                let texts: Vec<String> = texts.map(ToOwned::to_owned).collect();
                for text in &texts {
                    self.check_item(name, text)?;
                }
                Ok(SettingValue::Texts(texts))
            }
            _ => self.text(name, text),
        }
    }

    fn text(self, name: &str, text: &str) -> Result<SettingValue, Wrong> {
        let said = SettingValue::Text(text.to_owned());
        let example = |what: &str, text: &str| {
            let help = Some(format!("for example \"{text}\""));
            Err(wrong(format!("`{name}` is {what}"), help))
        };
        match self {
            Self::Secret => Ok(SettingValue::Hidden),
            Self::Word(words) if !words.contains(&text) => Err(no_word(name, words, text)),
            Self::Duration if parse_duration(text).is_none() => example("a duration", "90 minutes"),
            Self::Size if parse_size(text).is_none() => example("a size", "10 GB"),
            _ if text.is_empty() => Err(wrong(format!("`{name}` is empty"), None)),
            _ if text.contains('\0') => Err(wrong(format!("`{name}` has a zero byte"), None)),
            _ => Ok(said),
        }
    }

    fn check_item(self, name: &str, text: &str) -> Result<(), Wrong> {
        if text.is_empty() || text.contains('\0') {
            return Err(wrong(format!("`{name}` lists no empty text"), None));
        }
        match self {
            Self::Words(words) if !words.contains(&text) => Err(no_word(name, words, text)),
            Self::Globs => {
                let glob = Glob::new(text).map_err(|error| wrong(error.to_string(), None))?;
                if glob.matches_nothing() {
                    let message = format!("the pattern `{text}` matches no path");
                    let help = "close its bracket or brace, or write a backslash before it";
                    return Err(wrong(message, Some(help.to_owned())));
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

fn no_word(name: &str, words: &[&str], text: &str) -> Wrong {
    wrong(
        format!("`{name}` is one of {}", words.join(", ")),
        did_you_mean(text, words.iter().copied()),
    )
}

fn wrong(message: String, help: Option<String>) -> Wrong {
    Wrong { message, help }
}
