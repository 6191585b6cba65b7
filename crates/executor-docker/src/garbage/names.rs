//! The full names of an image in an engine.

use crate::image::ImageReference;

/// Returns the full name, so that equal names compare equal; `None` when the text is not a name.
pub(super) fn in_full(name: &str) -> Option<String> {
    // The engine writes this for a missing name.
    if name.contains("<none>") {
        return None;
    }
    let parsed = ImageReference::parse(name).ok();
    Some(parsed.map_or_else(|| name.to_owned(), |it| it.exact()))
}

/// Returns the repository of a full name.
pub(super) fn repository(full: &str) -> &str {
    let name = full.split('@').next().unwrap_or(full);
    match name.rsplit_once(':') {
        // A port of the registry stands before a slash.
        Some((repository, tag)) if !tag.contains('/') => repository,
        _ => name,
    }
}

/// Returns the names of an image that are not `ours`. A digest of the repository of one of our tags belongs to that
/// tag.
pub(super) fn others<'n>(names: &'n [String], ours: &[&str]) -> Vec<&'n str> {
    let is_ours = |name: &str| {
        ours.iter()
            .any(|own| *own == name || (name.contains('@') && repository(own) == repository(name)))
    };
    let names = names.iter().map(String::as_str);
    names.filter(|name| !is_ours(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_names_are_found() {
        let check = |names: &[&str], ours: &[&str], expect: &[&str]| {
            let full: Vec<String> = names.iter().filter_map(|name| in_full(name)).collect();
            let ours: Vec<String> = ours.iter().filter_map(|name| in_full(name)).collect();
            let ours: Vec<&str> = ours.iter().map(String::as_str).collect();
            let expect: Vec<String> = expect.iter().filter_map(|name| in_full(name)).collect();
            assert_eq!(others(&full, &ours), expect, "{names:?}");
        };
        let digest = format!("debian@sha256:{}", "a".repeat(64));
        let mirror = format!("mirror:5000/debian@sha256:{}", "a".repeat(64));
        check(
            &["debian:12", &digest],
            &["docker.io/library/debian:12"],
            &[],
        );
        check(&["debian:12", "mine:1"], &["debian:12"], &["mine:1"]);
        check(&["debian:12", "debian:latest"], &["debian:12"], &["debian"]);
        check(&["debian:12", &digest, &mirror], &["debian:12"], &[&mirror]);
        check(&["<none>:<none>", "<none>@<none>"], &[], &[]);
        check(&[&digest], &[&digest], &[]);
        check(&["r:5000/a:1"], &["r:5000/b:1"], &["r:5000/a:1"]);
    }

    #[test]
    fn a_port_is_not_a_tag() {
        assert_eq!(repository("r:5000/a"), "r:5000/a");
        assert_eq!(repository("r:5000/a:1"), "r:5000/a");
        assert_eq!(repository("r/a@sha256:0"), "r/a");
    }
}
