use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// Beginnings and ends of names that editors give to files of their own.
const BEGINNINGS: [&str; 3] = [".#", ".goutputstream-", ".~lock."];
const ENDS: [&str; 9] = [
    "~",
    ".swp",
    ".swo",
    ".swn",
    ".swx",
    ".swpx",
    ".kate-swp",
    "___jb_tmp___",
    "___jb_old___",
];

/// Returns whether a file is one that editors keep beside what is edited, by its name.
pub(super) fn is_editors_own(path: &Path) -> bool {
    let name = path.file_name().map(OsStr::as_bytes).unwrap_or_default();
    let is_autosave = name.len() > 1 && name.starts_with(b"#") && name.ends_with(b"#");
    let begins = BEGINNINGS.iter().any(|it| name.starts_with(it.as_bytes()));
    let ends = ENDS.iter().any(|it| name.ends_with(it.as_bytes()));
    // What vim writes to see whether it can.
    name == b"4913" || is_autosave || begins || ends
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_editors_are_known_by_their_names() {
        for name in [
            "a/.b.c.swp",
            "b.c~",
            "a/#b.c#",
            ".#b.c",
            "4913",
            "b.c___jb_tmp___",
            ".~lock.x.odt#",
        ] {
            assert!(is_editors_own(Path::new(name)), "{name}");
        }
        for name in ["b.c", "swp", "#", "a~/b", "4913.c", "#b"] {
            assert!(!is_editors_own(Path::new(name)), "{name}");
        }
    }
}
