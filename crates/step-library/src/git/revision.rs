use crate::error::Error;

/// How short a commit may be written.
const SHORTEST: usize = 7;

/// What somebody wants of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Revision {
    /// A commit, whole.
    Commit(String),
    /// A tag or a branch, or a commit that is abbreviated.
    Name(String),
}

impl Revision {
    pub(super) fn parse(text: &str) -> Result<Self, Error> {
        if matches!(text.len(), 40 | 64) && is_hex(text) {
            return Ok(Self::Commit(text.to_ascii_lowercase()));
        }
        if !is_name(text) {
            let shown: String = text.chars().filter(|c| !c.is_control()).take(100).collect();
            return Err(Error::Asked {
                what: format!("`{shown}`"),
                why: "can be no tag, branch or commit".to_owned(),
                help: None,
            });
        }
        Ok(Self::Name(text.to_owned()))
    }
}

/// Returns whether a text may be the first digits of a commit.
pub(super) fn is_abbreviation(text: &str) -> bool {
    (SHORTEST..64).contains(&text.len()) && is_hex(text)
}

/// Returns whether a text names a commit whole.
pub(super) fn is_commit(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && is_hex(text)
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns whether a text can be a branch or a tag, as git says what can.
fn is_name(text: &str) -> bool {
    let fits = |c: char| !c.is_control() && !" ~^:?*[\\".contains(c);
    let is_part = |part: &str| {
        !part.is_empty() && !part.starts_with('.') && part.strip_suffix(".lock").is_none()
    };
    text.len() <= 1024
        && !text.starts_with('-')
        && !text.ends_with('.')
        && !text.contains("..")
        && !text.contains("@{")
        && text.chars().all(fits)
        && text.split('/').all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn revisions_are_told_apart() {
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
        assert!(
            is_abbreviation("0123abc") && !is_abbreviation("012abc") && !is_abbreviation("012345g")
        );
    }
}
