//! The version of a component.
//!
//! The text after the `@` is one of these; the first match counts:
//!
//! | text | meaning |
//! |---|---|
//! | 40 or 64 hexadecimal digits | that commit |
//! | `~latest` | the highest version among the tags |
//! | `1`, `1.2` | the highest version that starts with it; without one, the tag or branch of that name |
//! | `~1`, `~1.2` | the highest version that starts with it |
//! | anything else | the tag of that name, else the branch, else the commit |
//!
//! GitLab does the same, with one difference: it searches the versions published in its catalogue, and
//! here the tags are searched. Pre-releases such as `2.0.0-rc.1` are selected only by their full name.

use super::reference::{is_commit, is_plain};
use std::cmp::Ordering;

/// A requested version.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum RequestedVersion {
    /// One commit.
    Commit(String),
    /// The highest version that starts with these numbers; without numbers, of all.
    Highest {
        /// The first number.
        major: Option<u64>,
        /// The second number.
        minor: Option<u64>,
        /// The tag or branch to use if there is no such version.
        otherwise: Option<String>,
    },
    /// A tag or branch.
    Named(String),
}

/// A version in the name of a tag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Version {
    number: semver::Version,
    /// Whether the name has a `v` before the number.
    prefixed: bool,
}

impl RequestedVersion {
    /// Parses the text after the `@`; `None` if it cannot be a version.
    pub(super) fn parse(text: &str) -> Option<Self> {
        if is_commit(text) {
            return Some(Self::Commit(text.to_ascii_lowercase()));
        }
        if let Some(range) = text.strip_prefix('~') {
            let (major, minor) = match range {
                "latest" => (None, None),
                range => numbers(range).map(|(major, minor)| (Some(major), minor))?,
            };
            return Some(Self::Highest {
                major,
                minor,
                otherwise: None,
            });
        }
        if let Some((major, minor)) = numbers(text) {
            return Some(Self::Highest {
                major: Some(major),
                minor,
                otherwise: Some(text.to_owned()),
            });
        }
        is_plain(text).then(|| Self::Named(text.to_owned()))
    }
}

impl Version {
    /// Parses the name of a tag, `1.2.3` or `v1.2.3`; `None` if it is not a version.
    pub(super) fn parse(tag: &str) -> Option<Self> {
        let number = tag.strip_prefix('v');
        Some(Self {
            prefixed: number.is_some(),
            number: semver::Version::parse(number.unwrap_or(tag)).ok()?,
        })
    }

    /// Returns whether it is a pre-release, such as `2.0.0-rc.1`.
    fn is_pre_release(&self) -> bool {
        !self.number.pre.is_empty()
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        // Of two tags for one version the shorter name wins, whatever their order is.
        let by_number = self.number.cmp(&other.number);
        by_number.then(other.prefixed.cmp(&self.prefixed))
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Returns the name of the tag with the highest version that starts with these numbers.
pub(super) fn highest<'t>(
    tags: impl IntoIterator<Item = &'t str>,
    major: Option<u64>,
    minor: Option<u64>,
) -> Option<&'t str> {
    let versions = tags
        .into_iter()
        .filter_map(|tag| Some((Version::parse(tag)?, tag)));
    let fitting = versions.filter(|(version, _)| {
        !version.is_pre_release()
            && major.is_none_or(|major| version.number.major == major)
            && minor.is_none_or(|minor| version.number.minor == minor)
    });
    let highest = fitting.max_by(|(one, _), (other, _)| one.cmp(other));
    highest.map(|(_, tag)| tag)
}

/// Parses `1` or `1.2`.
fn numbers(text: &str) -> Option<(u64, Option<u64>)> {
    let number = |text: &str| {
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| text.parse().ok()).flatten()
    };
    match text.split_once('.') {
        None => Some((number(text)?, None)),
        Some((major, minor)) => Some((number(major)?, Some(number(minor)?))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the tag that a version with numbers selects.
    fn find<'t>(version: &str, tags: &[&'t str]) -> Option<&'t str> {
        let Some(RequestedVersion::Highest { major, minor, .. }) = RequestedVersion::parse(version)
        else {
            panic!("{version} does not ask for the highest version");
        };
        highest(tags.iter().copied(), major, minor)
    }

    #[test]
    fn highest_version_in_range_is_found() {
        // R-GLCI-152
        let tags = [
            "1.0.0",
            "1.10.0",
            "1.2.0",
            "1.2.10",
            "1.2.9",
            "2.0.0-rc.1",
            "0.9.0",
            "3.0.0+b.1",
            "main",
            "1.2",
            "v1",
            "1.3.0-beta",
            "01.9.0",
            "1.11",
            "10.0.0-alpha",
        ];
        let check = |version: &str, expect: Option<&str>| {
            assert_eq!(find(version, &tags), expect, "{version}");
            let reversed: Vec<&str> = tags.iter().rev().copied().collect();
            assert_eq!(
                find(version, &reversed),
                expect,
                "{version} in another order"
            );
        };
        check("~latest", Some("3.0.0+b.1"));
        check("1", Some("1.10.0"));
        check("~1", Some("1.10.0"));
        check("1.2", Some("1.2.10"));
        check("~1.2", Some("1.2.10"));
        check("0", Some("0.9.0"));
        check("1.3", None);
        check("2", None);
        check("~10", None);
        check("18446744073709551615", None);
    }

    #[test]
    fn prefix_v_is_accepted() {
        let check = |version: &str, tags: &[&str], expect: Option<&str>| {
            assert_eq!(find(version, tags), expect, "{version} of {tags:?}");
        };
        check("1", &["v1.0.0", "v1.2.0", "1.1.0"], Some("v1.2.0"));
        check("1", &["v1.2.0", "1.2.0"], Some("1.2.0"));
        check("1", &["1.2.0", "v1.2.0"], Some("1.2.0"));
        check("1", &["vv1.0.0", "V1.0.0", "version-1.0.0"], None);
        check("~latest", &[], None);
        check("~latest", &["1.0.0-rc.1", "2.0.0-rc.1"], None);
    }

    #[test]
    fn text_decides_the_kind_of_version() {
        let check = |text: &str, expect: Option<RequestedVersion>| {
            assert_eq!(RequestedVersion::parse(text), expect, "{text:?}");
        };
        let highest = |major, minor, otherwise: Option<&str>| {
            let otherwise = otherwise.map(str::to_owned);
            Some(RequestedVersion::Highest {
                major,
                minor,
                otherwise,
            })
        };
        let named = |name: &str| Some(RequestedVersion::Named(name.to_owned()));
        check("~latest", highest(None, None, None));
        check("~1", highest(Some(1), None, None));
        check("~1.2", highest(Some(1), Some(2), None));
        check("1", highest(Some(1), None, Some("1")));
        check("0.0", highest(Some(0), Some(0), Some("0.0")));
        check("1.2.3", named("1.2.3"));
        check("v1", named("v1"));
        check("2.0.0-rc.1", named("2.0.0-rc.1"));
        check("feature/x", named("feature/x"));
        check("abc1234", named("abc1234"));
        let sha = "0123456789ABCDEF0123456789abcdef01234567";
        check(
            sha,
            Some(RequestedVersion::Commit(sha.to_ascii_lowercase())),
        );
        check(
            &"a".repeat(64),
            Some(RequestedVersion::Commit("a".repeat(64))),
        );
        // Forty digits are a commit, although they look like a number.
        check(
            &"1".repeat(40),
            Some(RequestedVersion::Commit("1".repeat(40))),
        );
        // The number is too large for a version, so this is a name.
        check(&"9".repeat(30), named(&"9".repeat(30)));
        for no_version in [
            "", "~", "~1.2.3", "~v1", "~Latest", "~1.", "a b", "-x", "a..b", "a:b", "a\n",
        ] {
            check(no_version, None);
        }
    }
}
