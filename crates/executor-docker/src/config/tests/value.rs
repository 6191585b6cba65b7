//! Checks how a value of a key is judged.

use crate::config::{DockerConfig, Severity};

/// How a value of a key is judged.
pub(super) enum Expect {
    /// The value is accepted without a problem.
    Good,
    /// The value cannot be read. The message contains this and the key.
    Unread(&'static str),
    /// The value is read and causes an error. The message contains this.
    Wrong(&'static str),
    /// The value is read and causes a warning. The message contains this.
    Warned(&'static str),
}
pub(super) use Expect::{Good, Unread, Warned, Wrong};

pub(super) fn check(key: &str, value: &str, expect: &Expect) {
    check_with("", key, value, expect);
}

/// Checks a value together with other lines.
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
            // In a nested table, the message shows the key of that table.
            let shows_key = key.starts_with('[') || error.contains(key);
            assert!(shows_key, "{text}: {error}");
            return;
        }
        (Ok(config), Good | Wrong(_) | Warned(_)) => config,
        (Ok(_), Unread(part)) => panic!("{text}: was read, and not refused with {part:?}"),
        (Err(error), _) => panic!("{text}: {error}"),
    };
    let problems = config.problems();
    let (severity, part) = match expect {
        Wrong(part) => (Severity::Error, part),
        Warned(part) => (Severity::Warning, part),
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
