use serde::{Serialize, Serializer};
use std::fmt;
use std::num::NonZeroU32;

/// The value of a setting. It is shown as TOML has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum SettingValue {
    /// A text.
    Text(String),
    /// Yes or no.
    Flag(bool),
    /// A number.
    Count(NonZeroU32),
    /// Several texts.
    Texts(Vec<String>),
    /// What nobody is shown.
    #[serde(serialize_with = "hidden")]
    Hidden,
    /// Nothing; what that means stands with the key. In JSON it is `null`.
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
