use std::str::FromStr;

/// `KEY=VALUE` from the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeyValue {
    key: String,
    value: String,
}

impl KeyValue {
    /// Returns the part before the first equals sign; it is not empty.
    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    /// Returns the part after it.
    pub(crate) fn value(&self) -> &str {
        &self.value
    }
}

impl FromStr for KeyValue {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some(("", _)) => Err("the name before `=` is empty".to_owned()),
            Some((key, value)) => Ok(Self {
                key: key.to_owned(),
                value: value.to_owned(),
            }),
            None => Err("expected NAME=VALUE".to_owned()),
        }
    }
}
