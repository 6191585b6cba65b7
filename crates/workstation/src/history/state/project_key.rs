//! The name of a project's state.

use crate::reuse::fingerprint::Fnv;
use std::hash::Hasher as _;
use std::path::Path;

/// Returns a name for the project that a person recognises and no other project has.
pub(super) fn project_key(directory: &Path) -> String {
    let name = directory
        .file_name()
        .map(|name| name.to_string_lossy())
        .unwrap_or_default();
    let readable: String = name
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '-' || c == '_' {
                c
            } else {
                '-'
            }
        })
        .take(40)
        .collect();
    let mut hash = Fnv::default();
    hash.write(directory.as_os_str().as_encoded_bytes());
    format!("{readable}-{:016x}", hash.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn projects_of_the_same_name_have_different_keys() {
        assert_ne!(
            project_key(Path::new("/a/app")),
            project_key(Path::new("/b/app"))
        );
        assert!(project_key(Path::new("/a/my app")).starts_with("my-app-"));
    }
}
