//! What becomes of values of keys.

use crate::config::{DockerConfig, Severity};

/// What becomes of a value of a key.
pub(super) enum Expect {
    /// Nobody has anything against it.
    Good,
    /// It cannot be read, and the message has this and shows the key.
    Unread(&'static str),
    /// It is read and is wrong, and the message has this.
    Wrong(&'static str),
    /// It is read, and somebody is told this.
    Told(&'static str),
}
pub(super) use Expect::{Good, Told, Unread, Wrong};

pub(super) fn check(key: &str, value: &str, expect: &Expect) {
    check_with("", key, value, expect);
}

/// Checks a value beside other lines.
pub(super) fn check_with(other: &str, key: &str, value: &str, expect: &Expect) {
    let text = if key.starts_with('[') {
        format!("{other}\n{key}\n{value}")
    } else {
        format!("{other}\n{key} = {value}")
    };
    let read = toml::from_str::<DockerConfig>(&text);
    let config = match (read, expect) {
        (Err(error), Unread(part)) => {
            let error = error.to_string();
            assert!(error.contains(part), "{text}: {error}");
            // In a table below, it is that table's own key.
            let shows_key = key.starts_with('[') || error.contains(key);
            assert!(shows_key, "{text}: {error}");
            return;
        }
        (Ok(config), Good | Wrong(_) | Told(_)) => config,
        (Ok(_), Unread(part)) => panic!("{text}: was read, and not refused with {part:?}"),
        (Err(error), _) => panic!("{text}: {error}"),
    };
    let problems = config.problems();
    let (severity, part) = match expect {
        Wrong(part) => (Severity::Error, part),
        Told(part) => (Severity::Warning, part),
        Good | Unread(_) => {
            assert!(problems.is_empty(), "{text}: {problems:?}");
            return;
        }
    };
    let top = key.trim_matches(['[', ']']);
    let found = problems
        .iter()
        .find(|it| it.key == top && it.severity == severity);
    let found = found
        .unwrap_or_else(|| panic!("{text}: {problems:?}"))
        .to_string();
    assert!(found.contains(part), "{text}: {found}");
    assert!(found.contains(top), "{text}: {found}");
}
