//! The raw form of `git diff`.

/// The mode of a submodule.
pub(super) const SUBMODULE: &[u8] = b"160000";

/// Parses the paths in the output of `git diff --raw -z --no-renames`; those of submodules end with `/`.
/// `None` if it is not such output.
pub(super) fn paths(listing: &[u8]) -> Option<Vec<String>> {
    let mut parts = listing.split(|byte| *byte == 0);
    let mut paths = Vec::new();
    while let Some(entry) = parts.next().filter(|entry| !entry.is_empty()) {
        // `:MODE MODE OBJECT OBJECT STATUS`; entries of a merge have more of each.
        let modes = entry.strip_prefix(b":")?;
        let path = parts.next().filter(|path| !path.is_empty())?;
        let is_submodule = modes.split(|byte| *byte == b' ').any(|it| it == SUBMODULE);
        let end = if is_submodule { "/" } else { "" };
        paths.push(String::from_utf8_lossy(path).into_owned() + end);
    }
    Some(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(listing: &[u8], expect: Option<&[&str]>) {
        let found = paths(listing);
        let found: Option<Vec<&str>> = found
            .as_ref()
            .map(|paths| paths.iter().map(String::as_str).collect());
        assert_eq!(found.as_deref(), expect, "of {listing:?}");
    }

    #[test]
    fn parses_names_between_zeros() {
        check(b"", Some(&[]));
        check(
            b":100644 100644 a b M\0a b\0:000000 100644 0 b A\0\"x\"\ny\0",
            Some(&["a b", "\"x\"\ny"]),
        );
        check(b":160000 160000 a b M\0lib/sub\0", Some(&["lib/sub/"]));
        check(b":100644 000000 a 0 D\0\xff\0", Some(&["\u{fffd}"]));
        check(b"warning: x\0", None);
        check(b":100644 100644 a b M\0", None);
    }
}
