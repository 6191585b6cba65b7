use serde::{Serialize, Serializer};
use std::fmt;
use std::num::NonZeroU32;

/// The value of a setting. It displays as TOML.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum SettingValue {
    /// A string.
    Text(String),
    /// A boolean.
    Flag(bool),
    /// A number.
    Count(NonZeroU32),
    /// Several strings.
    Texts(Vec<String>),
    /// A value that is never displayed.
    #[serde(serialize_with = "hidden")]
    Hidden,
    /// No value; the documentation of the key defines its meaning. In JSON it is `null`.
    Unset,
}

const HIDDEN: &str = "(hidden)";

fn hidden<S: Serializer>(serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(HIDDEN)
}

impl fmt::Display for SettingValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted = |text: &str| toml::Value::from(text).to_string();
        match self {
            Self::Text(text) => f.write_str(&quoted(text)),
            Self::Flag(flag) => flag.fmt(f),
            Self::Count(count) => count.fmt(f),
            Self::Texts(texts) => {
                let texts: Vec<_> = texts.iter().map(|text| quoted(text)).collect();
                write!(f, "[{}]", texts.join(", "))
            }
            Self::Hidden => f.write_str(HIDDEN),
            Self::Unset => f.write_str("(not set)"),
        }
    }
}
