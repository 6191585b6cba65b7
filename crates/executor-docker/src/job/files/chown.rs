//! Changes the owner of a tree of this host, or of files in a container.

use crate::error::DockerError;
use crate::job::files::tree::Owner;
use fail_point::fail_point;
use rustix::fs::{AtFlags, CWD, Dir, FileType, Gid, Mode, OFlags, Uid, chownat, openat, statat};
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

/// Returns whether this process may change the owner of files.
pub(crate) fn is_permitted() -> bool {
    rustix::process::geteuid().is_root()
}

/// Returns the user of this process.
pub(crate) fn own_user() -> Owner {
    Owner {
        uid: rustix::process::geteuid().as_raw(),
        gid: rustix::process::getegid().as_raw(),
    }
}

/// Returns whether the user of a container, as images and settings write it, is root or `owner`.
pub(crate) fn is_root_or(user: &str, owner: Owner) -> bool {
    let name = user.split(':').next().unwrap_or_default();
    matches!(name, "" | "root")
        || matches!(name.parse::<u32>(), Ok(uid) if uid == 0 || uid == owner.uid)
}

/// Returns the variables that let git work in a tree with another owner; none when the image sets variables of git.
pub(crate) fn git_environment(of_image: &[String]) -> Vec<String> {
    let is_set = |variable: &String| variable.starts_with("GIT_CONFIG_COUNT=");
    if of_image.iter().any(is_set) {
        return Vec::new();
    }
    let variables = [
        "GIT_CONFIG_COUNT=1",
        "GIT_CONFIG_KEY_0=safe.directory",
        "GIT_CONFIG_VALUE_0=*",
    ];
    variables.map(str::to_owned).to_vec()
}

/// Returns the script with which root in a container changes the owner of `paths` to that of `like`. It does not follow
/// links.
///
/// The script finds the owner inside the container, because a rootless engine maps the numbers.
pub(crate) fn script(like: &str, paths: &[&str]) -> String {
    let quoted = |path: &&str| format!(" '{}'", path.replace('\'', r"'\''"));
    let words: String = [like].iter().chain(paths).map(quoted).collect();
    let script = r#"
owner=$(ls -nd "$1" | while read -r mode links user group rest; do echo "$user:$group"; done)
shift
[ "$owner" = 0:0 ] || exec chown -R -h "$owner" "$@"
"#;
    format!("set --{words}{script}")
}

/// Changes the owner of `root` and everything below it; follows no links.
///
/// Blocks.
pub(crate) fn change_owner(root: &Path, owner: Owner) -> Result<(), DockerError> {
    let given = fail_point!("executor_docker::chown::change", change_tree(root, owner));
    given.map_err(|source| DockerError::Broken {
        doing: format!(
            "change the owner of {} to user {}",
            root.display(),
            owner.uid
        ),
        source: source.into(),
    })
}

fn change_tree(root: &Path, owner: Owner) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let directory = match openat(CWD, root, flags, Mode::empty()) {
        // The project's directory does not exist yet.
        Err(rustix::io::Errno::NOENT) => return Ok(()),
        opened => opened?,
    };
    set(&directory, c".", owner)?;
    let mut open = vec![directory];
    // One descriptor for each open directory; the kernel's limit of paths bounds the depth.
    while let Some(directory) = open.pop() {
        for name in names(&directory)? {
            let kind = match statat(&directory, &name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(found) => FileType::from_raw_mode(found.st_mode),
                Err(rustix::io::Errno::NOENT) => continue,
                Err(error) => return Err(error.into()),
            };
            set(&directory, &name, owner)?;
            if kind == FileType::Directory {
                match openat(&directory, &name, flags, Mode::empty()) {
                    Ok(below) => open.push(below),
                    // It was replaced meanwhile.
                    Err(
                        rustix::io::Errno::NOENT
                        | rustix::io::Errno::LOOP
                        | rustix::io::Errno::NOTDIR,
                    ) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
    }
    Ok(())
}

fn names(directory: &OwnedFd) -> io::Result<Vec<CString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        let name = entry?.file_name().to_owned();
        if !matches!(name.to_bytes(), b"." | b"..") {
            names.push(name);
        }
    }
    Ok(names)
}

fn set(directory: impl AsFd, name: &std::ffi::CStr, owner: Owner) -> io::Result<()> {
    let (uid, gid) = (Uid::from_raw(owner.uid), Gid::from_raw(owner.gid));
    let flags = AtFlags::SYMLINK_NOFOLLOW;
    match chownat(directory, name, Some(uid), Some(gid), flags) {
        Ok(()) | Err(rustix::io::Errno::NOENT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{MetadataExt, symlink};

    #[test]
    fn root_and_the_same_user_can_use_files_of_this_host() {
        let ours = Owner {
            uid: 1000,
            gid: 100,
        };
        let check = |user, expect| assert_eq!(is_root_or(user, ours), expect, "{user}");
        for user in ["", "root", "0", "0:5", "root:root", "1000", "1000:7", ":"] {
            check(user, true);
        }
        for user in ["node", "1001", "1001:100", "-1", "root2"] {
            check(user, false);
        }
    }

    #[test]
    fn paths_are_quoted_in_the_script() {
        let script = script("/b", &["/b/it's", "/c d"]);
        let first = script.lines().next().unwrap();
        assert_eq!(first, r"set -- '/b' '/b/it'\''s' '/c d'");
    }

    #[test]
    fn settings_of_git_in_an_image_are_kept() {
        assert_eq!(git_environment(&["PATH=/bin".to_owned()]).len(), 3);
        assert!(git_environment(&["GIT_CONFIG_COUNT=2".to_owned()]).is_empty());
    }

    #[test]
    fn the_whole_tree_changes_its_owner_and_links_are_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        let (root, outside) = (
            directory.path().join("root"),
            directory.path().join("outside"),
        );
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(root.join("a/b/file"), "").unwrap();
        symlink(&outside, root.join("link")).unwrap();
        let before = fs::metadata(&outside).unwrap().uid();
        // Without the right to change owners, only the same owner works.
        let uid = if is_permitted() { 12345 } else { before };
        let gid = fs::metadata(&outside).unwrap().gid();
        change_owner(&root, Owner { uid, gid }).unwrap();
        for path in ["", "a", "a/b", "a/b/file", "link"] {
            let found = fs::symlink_metadata(root.join(path)).unwrap().uid();
            assert_eq!(found, uid, "{path}");
        }
        assert_eq!(fs::metadata(&outside).unwrap().uid(), before);
    }
}
