use crate::error::Error;
use serde::Deserialize;
use std::fmt;

/// For what an image is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct Platform {
    pub(super) os: String,
    pub(super) architecture: String,
    pub(super) variant: Option<String>,
}

impl Platform {
    /// Reads `linux/amd64` or `linux/arm/v7`.
    pub(super) fn parse(text: &str) -> Result<Self, Error> {
        let parts: Vec<&str> = text.split('/').collect();
        let plain = |part: &&str| {
            !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        let (os, architecture, variant) = match parts.as_slice() {
            parts if !parts.iter().all(plain) => ("", "", None),
            [os, architecture] => (*os, *architecture, None),
            [os, architecture, variant] => (*os, *architecture, Some((*variant).to_owned())),
            _ => ("", "", None),
        };
        if os.is_empty() {
            return Err(Error::Invalid {
                what: format!("`{}`", text.chars().take(60).collect::<String>()),
                why: "is no platform, as linux/amd64 is".to_owned(),
                help: None,
            });
        }
        Ok(Self {
            os: os.to_owned(),
            architecture: architecture.to_owned(),
            variant,
        })
    }

    /// Returns how well an image of another platform serves this one; nothing when it does not.
    pub(super) fn fit(&self, other: &Self) -> Option<u8> {
        if self.os != other.os || self.architecture != other.architecture {
            return None;
        }
        match (&self.variant, &other.variant) {
            (one, other) if one == other => Some(2),
            (None, Some(_)) | (Some(_), None) => Some(1),
            _ => None,
        }
    }

    /// Returns a name for a directory.
    pub(super) fn name(&self) -> String {
        self.to_string().replace('/', "-")
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.os, self.architecture)?;
        match &self.variant {
            Some(variant) => write!(f, "/{variant}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variant_that_fits_best_counts() {
        let check = |wanted: &str, there: &str, expect: Option<u8>| {
            let (wanted, there) = (Platform::parse(wanted), Platform::parse(there));
            assert_eq!(wanted.unwrap().fit(&there.unwrap()), expect);
        };
        check("linux/amd64", "linux/amd64", Some(2));
        check("linux/arm64", "linux/arm64/v8", Some(1));
        check("linux/arm/v7", "linux/arm/v7", Some(2));
        check("linux/arm/v7", "linux/arm/v6", None);
        check("linux/amd64", "linux/arm64", None);
        check("linux/amd64", "windows/amd64", None);
        for text in ["", "linux", "linux/", "a/b/c/d", "../x"] {
            assert!(Platform::parse(text).is_err(), "{text}");
        }
    }
}
