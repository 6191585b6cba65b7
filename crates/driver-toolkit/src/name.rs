//! Names of resources that can be found again without stored state.

use sha2::{Digest, Sha256};

/// The longest name: that of a label in DNS.
pub const LONGEST_NAME: usize = 63;

/// Returns the name of a resource: the parts with `-` between them, as a label of DNS.
///
/// The same parts give the same name in every process. Names of different parts differ: what a label cannot hold is
/// replaced, what is too long is cut, and the name then ends with eight digits of a hash of the parts.
///
/// ```
/// use driver_toolkit::resource_name;
///
/// assert_eq!(resource_name(&["ci", "7", "42"]), "ci-7-42");
/// assert_eq!(resource_name(&["ci", "Group/App"]), "ci-group-app-1ac5c01f");
/// ```
pub fn resource_name(parts: &[&str]) -> String {
    let joined = parts.join("-");
    let mut name = String::with_capacity(joined.len());
    for character in joined.chars().map(|it| it.to_ascii_lowercase()) {
        let kept = character.is_ascii_lowercase() || character.is_ascii_digit();
        if kept {
            name.push(character);
        } else if !name.ends_with('-') {
            name.push('-');
        }
    }
    let name = name.trim_matches('-');
    let starts_well = name.starts_with(|it: char| it.is_ascii_lowercase());
    // A part with a dash could be two parts.
    let is_exact = name == joined && parts.iter().all(|part| !part.contains('-'));
    if is_exact && starts_well && name.len() <= LONGEST_NAME {
        return name.to_owned();
    }
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    let [first, second, third, fourth, ..] = <[u8; 32]>::from(hash.finalize());
    let digits = format!("{:08x}", u32::from_be_bytes([first, second, third, fourth]));
    let start = if starts_well { "" } else { "r" };
    let mut name = format!("{start}{name}");
    name.truncate(LONGEST_NAME - digits.len() - 1);
    format!("{}-{digits}", name.trim_end_matches('-'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_are_labels_and_differ() {
        let long = "x".repeat(200);
        let longer = "x".repeat(201);
        let parts: [&[&str]; 12] = [
            &["ci", "1", "2"],
            &["ci", "12", ""],
            &["ci", "1-2"],
            &["CI", "1", "2"],
            &["ci", "1", "/2"],
            &["ci", "é"],
            &["ci", "è"],
            &["9", "1"],
            &["", ""],
            &["ci", &long],
            &["ci", &longer],
            &["-"],
        ];
        let names: HashSet<_> = parts.iter().map(|parts| resource_name(parts)).collect();
        assert_eq!(names.len(), parts.len(), "{names:?}");
        for name in names {
            assert!(name.len() <= LONGEST_NAME, "{name}");
            assert!(
                name.starts_with(|it: char| it.is_ascii_lowercase()),
                "{name}"
            );
            assert!(!name.ends_with('-') && !name.contains("--"), "{name}");
            let is_label = |it: char| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '-';
            assert!(name.chars().all(is_label), "{name}");
        }
    }
}
