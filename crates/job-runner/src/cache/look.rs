//! What files look like from outside, in short: enough to know whether somebody changed them.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Returns the same text for the same paths. They are sorted.
pub(super) fn names(paths: &[PathBuf]) -> String {
    let mut hasher = blake3::Hasher::new();
    for path in paths {
        hasher.update(path.as_os_str().as_bytes());
        hasher.update(b"\0");
    }
    hasher.finalize().to_hex().to_string()
}

/// Returns another text after any of the files was changed, replaced, or had its mode or time set.
///
/// The files themselves are not read. Whoever writes to one changes its times, in units far below
/// what a process needs to begin; and it is the same file only if it is the same inode.
pub(super) fn look(project: &Path, paths: &[PathBuf]) -> io::Result<String> {
    let mut hasher = blake3::Hasher::new();
    for path in paths {
        let metadata = fs::symlink_metadata(project.join(path))?;
        hasher.update(path.as_os_str().as_bytes());
        hasher.update(b"\0");
        let mode = u64::from(metadata.mode());
        // What changes in a directory are names, and they are looked at for themselves.
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

    fn check(what: &str, change: impl FnOnce(&Path), is_seen: bool) {
        let project = tempfile::tempdir().expect("a directory");
        let file = project.path().join("a");
        fs::write(&file, "one").expect("written");
        let old = SystemTime::now() - Duration::from_mins(1);
        let opened = File::options().write(true).open(&file).expect("opened");
        opened.set_modified(old).expect("set");
        let paths = [PathBuf::from("a")];
        let before = look(project.path(), &paths).expect("seen");
        change(&file);
        let after = look(project.path(), &paths).expect("seen");
        assert_eq!(before != after, is_seen, "{what}");
    }

    #[test]
    fn whatever_is_done_to_a_file_is_seen() {
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
    fn names_depend_on_names_alone() {
        let of = |texts: &[&str]| names(&texts.iter().map(PathBuf::from).collect::<Vec<_>>());
        assert_eq!(of(&["a", "b"]), of(&["a", "b"]));
        assert_ne!(of(&["a", "b"]), of(&["ab"]));
        assert_ne!(of(&["a"]), of(&[]));
    }
}
