//! Bare repositories that cache commits of a server: how they are called, what marks a commit, and what is cleaned up.

use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// Returns the reference that marks a commit as fetched.
pub fn fetched_ref(commit: &str) -> String {
    format!("refs/runwright/{commit}")
}

/// Returns whether a commit was fetched into the repository.
pub fn has_fetched(git_dir: &Path, commit: &str) -> bool {
    let mark = fs::read_to_string(git_dir.join(fetched_ref(commit)));
    mark.is_ok_and(|mark| mark.trim() == commit)
}

/// Returns a unique directory name for a repository that a person recognizes: the end of its address and a digest of
/// `key`.
pub fn directory_name(url: &str, key: &str) -> String {
    let project = url.rsplit('/').next().unwrap_or_default();
    let project = project.strip_suffix(".git").unwrap_or(project);
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let mut name: String = project.chars().map(plain).take(40).collect();
    name.push('-');
    for byte in Sha256::digest(key).iter().take(12) {
        let _ = write!(name, "{byte:02x}");
    }
    name
}

/// Removes temporary and lock files of a git that was killed. The caller must be the only user of the repository.
pub fn remove_leftovers(git_dir: &Path) {
    let packs = fs::read_dir(git_dir.join("objects/pack"));
    let top = fs::read_dir(git_dir);
    for file in packs.into_iter().chain(top).flatten().flatten() {
        let name = file.file_name();
        let name = name.as_encoded_bytes();
        if name.starts_with(b"tmp_") || name.ends_with(b".lock") {
            // One that cannot be removed now is reported by git, if it matters.
            let _ = fs::remove_file(file.path());
        }
    }
    let mut pending = vec![git_dir.join("refs")];
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                pending.push(entry.path());
            } else if entry.file_name().as_encoded_bytes().ends_with(b".lock") {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directory_names_are_readable_and_differ() {
        let name = |url| directory_name(url, url);
        assert!(name("ssh://git@h/g/my.app.git").starts_with("my-app-"));
        assert_ne!(name("ssh://git@h/g/p.git"), name("ssh://git@h/h/p.git"));
    }

    #[test]
    fn temporary_and_lock_files_are_removed() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = |name| directory.path().join(name);
        for folder in ["objects/pack", "refs/heads/a"] {
            fs::create_dir_all(path(folder)).expect("made");
        }
        let kept = ["HEAD", "objects/pack/p.pack", "refs/heads/a/b"];
        let removed = [
            "shallow.lock",
            "objects/pack/tmp_pack_x",
            "refs/heads/a/b.lock",
        ];
        for file in kept.iter().chain(&removed) {
            fs::write(path(file), "").expect("written");
        }
        remove_leftovers(directory.path());
        assert!(kept.iter().all(|file| path(file).exists()));
        assert!(!removed.iter().any(|file| path(file).exists()));
    }
}
