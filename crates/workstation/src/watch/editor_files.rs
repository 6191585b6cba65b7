use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// Prefixes and suffixes of editors' temporary files.
const PREFIXES: [&str; 3] = [".#", ".goutputstream-", ".~lock."];
const SUFFIXES: [&str; 9] = [
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

/// Returns whether a file is a temporary file of an editor, by its name.
pub(super) fn is_editor_file(path: &Path) -> bool {
    let name = path.file_name().map(OsStr::as_bytes).unwrap_or_default();
    let is_autosave = name.len() > 1 && name.starts_with(b"#") && name.ends_with(b"#");
    let has_prefix = PREFIXES.iter().any(|it| name.starts_with(it.as_bytes()));
    let has_suffix = SUFFIXES.iter().any(|it| name.ends_with(it.as_bytes()));
    // Vim creates 4913 to test whether it can write.
    name == b"4913" || is_autosave || has_prefix || has_suffix
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recognizes_editor_files() {
        for name in [
            "a/.b.c.swp",
            "b.c~",
            "a/#b.c#",
            ".#b.c",
            "4913",
            "b.c___jb_tmp___",
            ".~lock.x.odt#",
        ] {
            assert!(is_editor_file(Path::new(name)), "{name}");
        }
        for name in ["b.c", "swp", "#", "a~/b", "4913.c", "#b"] {
            assert!(!is_editor_file(Path::new(name)), "{name}");
        }
    }
}
