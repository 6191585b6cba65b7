//! Fingerprints of files from their metadata, to detect changes.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Returns a digest of sorted paths.
pub(super) fn names_digest(paths: &[PathBuf]) -> String {
    let mut hasher = blake3::Hasher::new();
    for path in paths {
        hasher.update(path.as_os_str().as_bytes());
        hasher.update(b"\0");
    }
    hasher.finalize().to_hex().to_string()
}

/// Returns a digest of the metadata of files, which differs after a change of content, mode or time, and after a
/// replacement.
///
/// The files are not read: each write changes their times, which are finer than the start of a process.
pub(super) fn fingerprint(project: &Path, paths: &[PathBuf]) -> io::Result<String> {
    let mut hasher = blake3::Hasher::new();
    for path in paths {
        let metadata = fs::symlink_metadata(project.join(path))?;
        hasher.update(path.as_os_str().as_bytes());
        hasher.update(b"\0");
        let mode = u64::from(metadata.mode());
        // A directory changes when its entries do, which have fingerprints of their own.
        let size = if metadata.is_dir() {
            0
        } else {
            metadata.size()
        };
        let numbers = [metadata.dev(), metadata.ino(), mode, size];
        for number in numbers {
            hasher.update(&number.to_le_bytes());
        }
        if metadata.is_dir() {
            continue;
        }
        let (changed, modified) = (metadata.ctime_nsec(), metadata.mtime_nsec());
        for number in [metadata.ctime(), changed, metadata.mtime(), modified] {
            hasher.update(&number.to_le_bytes());
        }
    }
    Ok(hasher.finalize().to_hex().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::unix::fs::PermissionsExt;
    use std::time::{Duration, SystemTime};

    fn check(what: &str, change: impl FnOnce(&Path), is_change: bool) {
        let project = tempfile::tempdir().expect("a directory");
        let file = project.path().join("a");
        fs::write(&file, "one").expect("written");
        let old = SystemTime::now() - Duration::from_mins(1);
        let opened = File::options().write(true).open(&file).expect("opened");
        opened.set_modified(old).expect("set");
        let paths = [PathBuf::from("a")];
        let before = fingerprint(project.path(), &paths).expect("seen");
        change(&file);
        let after = fingerprint(project.path(), &paths).expect("seen");
        assert_eq!(before != after, is_change, "{what}");
    }

    #[test]
    fn each_change_of_a_file_is_detected() {
        check("nothing", |_| {}, false);
        check("read", |file| drop(fs::read(file).expect("read")), false);
        check(
            "same size",
            |file| fs::write(file, "two").expect("written"),
            true,
        );
        let mode = fs::Permissions::from_mode(0o700);
        check(
            "mode",
            |file| fs::set_permissions(file, mode).expect("set"),
            true,
        );
        let replace = |file: &Path| {
            let other = file.with_file_name("b");
            fs::copy(file, &other).expect("copied");
            fs::rename(other, file).expect("moved");
        };
        check("another file", replace, true);
    }

    #[test]
    fn names_digest_depends_on_names_alone() {
        let of =
            |texts: &[&str]| names_digest(&texts.iter().map(PathBuf::from).collect::<Vec<_>>());
        assert_eq!(of(&["a", "b"]), of(&["a", "b"]));
        assert_ne!(of(&["a", "b"]), of(&["ab"]));
        assert_ne!(of(&["a"]), of(&[]));
    }
}
