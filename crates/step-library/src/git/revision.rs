use crate::error::Error;
use ::git::{is_commit, is_reference_name};

/// A revision of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Revision {
    /// The full name of a commit.
    Commit(String),
    /// A tag, a branch, or an abbreviated commit.
    Name(String),
}

impl Revision {
    pub(super) fn parse(text: &str) -> Result<Self, Error> {
        if is_commit(text) {
            return Ok(Self::Commit(text.to_ascii_lowercase()));
        }
        if !is_reference_name(text) {
            let shown: String = text.chars().filter(|c| !c.is_control()).take(100).collect();
            return Err(Error::Invalid {
                what: format!("`{shown}`"),
                why: "cannot be a tag, branch or commit".to_owned(),
                help: None,
            });
        }
        Ok(Self::Name(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_and_names_are_distinguished() {
        let sha = "0123456789ABCDEF0123456789abcdef01234567";
        assert_eq!(
            Revision::parse(sha).unwrap(),
            Revision::Commit(sha.to_lowercase())
        );
        for name in ["main", "v1.0", "feature/ä@1", "0123456"] {
            let parsed = Revision::parse(name).unwrap();
            assert_eq!(parsed, Revision::Name(name.to_owned()));
        }
        for text in [
            "",
            "--upload-pack=x",
            "-x",
            "a b",
            "a..b",
            "a^{}",
            "a:b",
            "a\n",
            "a.lock",
        ] {
            assert!(Revision::parse(text).is_err(), "{text:?}");
        }
    }
}
