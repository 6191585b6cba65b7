//! The contents of a tree's files, to detect changes.

use super::known_contents::{KnownContents, Stat};
use content_store::Digest;
use std::fs::{self, File};
use std::io;
use std::num::NonZeroUsize;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::SystemTime;

/// The contents of the files of a tree that jobs get.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TreeContents {
    /// Sorted by path. A file that does not exist or cannot be copied has no content.
    pub files: Vec<FileContent>,
    /// Directories inside the tree that are repositories of their own.
    pub repositories: Vec<PathBuf>,
}

/// The content of one file of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileContent {
    /// The path relative to the tree.
    pub path: PathBuf,
    /// The digest of the content; `None` when the file does not exist.
    pub content: Option<Digest>,
    /// The file's type and permissions.
    pub mode: u32,
    /// The metadata, unless the file changed so recently that a later change might not show in it.
    pub(super) stat: Option<Stat>,
}

/// The smallest number of files for which another thread helps.
const FILES_PER_THREAD: usize = 512;

impl TreeContents {
    /// Reads the contents of these files, but not of those with unchanged metadata.
    pub(super) fn read(
        root: &Path,
        files: &[PathBuf],
        repositories: &[PathBuf],
        known: &KnownContents,
    ) -> io::Result<Self> {
        let read = |path: &PathBuf| FileContent::read(root, path, known);
        let workers = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let portion = files.len().div_ceil(workers).max(FILES_PER_THREAD);
        let read: io::Result<Vec<Vec<FileContent>>> = thread::scope(|scope| {
            let portions = files.chunks(portion).map(|files| {
                let read = || files.iter().map(read).collect();
                // Without a thread of its own, a portion is read here.
                let thread = thread::Builder::new().spawn_scoped(scope, read);
                thread.map_err(|_| read())
            });
            let portions: Vec<_> = portions.collect();
            let joined = portions.into_iter().map(|portion| match portion {
                Ok(thread) => {
                    let panicked = |_| Err(io::Error::other("reading files panicked"));
                    thread.join().unwrap_or_else(panicked)
                }
                Err(read) => read,
            });
            joined.collect()
        });
        Ok(Self {
            files: read?.into_iter().flatten().collect(),
            repositories: repositories.to_vec(),
        })
    }

    /// Returns the files whose metadata will show any later change, with their digests.
    pub(super) fn settled(&self) -> impl Iterator<Item = (&Path, Stat, Digest)> + Clone {
        let files = self.files.iter();
        files.filter_map(|file| Some((&*file.path, file.stat?, file.content?)))
    }

    /// Returns whether the files of the tree are unchanged.
    pub(super) fn still_match(&self, root: &Path) -> bool {
        let nothing = KnownContents::default();
        self.files.iter().all(|file| {
            let stat = fs::symlink_metadata(root.join(&file.path)).map(|it| Stat::of(&it));
            match (&file.stat, stat) {
                (Some(then), Ok(now)) if *then == now => true,
                _ => FileContent::read(root, &file.path, &nothing)
                    .is_ok_and(|now| now.content == file.content && now.mode == file.mode),
            }
        })
    }
}

impl FileContent {
    fn read(root: &Path, path: &Path, known: &KnownContents) -> io::Result<Self> {
        let found = root.join(path);
        let absent = || Self {
            path: path.to_owned(),
            content: None,
            mode: 0,
            stat: None,
        };
        let is_gone = |error: &io::Error| {
            matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            )
        };
        let before = SystemTime::now();
        let metadata = match fs::symlink_metadata(&found) {
            Err(error) if is_gone(&error) => return Ok(absent()),
            metadata => metadata?,
        };
        let stat = Stat::of(&metadata);
        let content = if let Some(content) = known.content(path, &stat) {
            Some(content)
        } else if metadata.is_symlink() {
            Some(Digest::of(fs::read_link(&found)?.as_os_str().as_bytes()))
        } else if metadata.is_file() {
            Some(Digest::of_reader(File::open(&found)?)?)
        } else {
            None
        };
        Ok(Self {
            path: path.to_owned(),
            content,
            mode: stat.mode,
            stat: stat.is_settled(before).then_some(stat),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::time::Duration;

    fn age(path: &Path) {
        // A file written just now could change again without a change of its metadata.
        let file = File::options().append(true).open(path).expect("opened");
        let past = SystemTime::now() - Duration::from_hours(1);
        file.set_modified(past).expect("aged");
    }

    #[test]
    fn each_kind_of_change_is_detected() {
        let check = |change: &dyn Fn(&Path), is_change: bool| {
            let root = tempfile::tempdir().expect("a directory");
            let root = root.path();
            fs::write(root.join("a"), "one").expect("written");
            fs::write(root.join("b"), "two").expect("written");
            symlink("a", root.join("link")).expect("linked");
            let files = ["a", "b", "gone", "link"].map(PathBuf::from);
            let nothing = KnownContents::default();
            let read = || TreeContents::read(root, &files, &[], &nothing).expect("read");
            let summary = |contents: &TreeContents| -> Vec<_> {
                let files = contents.files.iter();
                files.map(|it| (it.content, it.mode)).collect()
            };
            let before = read();
            change(root);
            assert_eq!(summary(&before) != summary(&read()), is_change);
            assert_eq!(before.still_match(root), !is_change);
        };
        check(&|_| {}, false);
        check(&|root| age(&root.join("a")), false);
        check(&|root| fs::write(root.join("a"), "One").unwrap(), true);
        check(&|root| fs::write(root.join("gone"), "").unwrap(), true);
        check(&|root| fs::remove_file(root.join("b")).unwrap(), true);
        check(
            &|root| {
                fs::remove_file(root.join("link")).unwrap();
                symlink("b", root.join("link")).unwrap();
            },
            true,
        );
        check(
            &|root| {
                let executable = fs::Permissions::from_mode(0o755);
                fs::set_permissions(root.join("a"), executable).unwrap();
            },
            true,
        );
        // Removed and created again with the same content.
        check(
            &|root| {
                fs::remove_file(root.join("a")).unwrap();
                fs::write(root.join("a"), "one").unwrap();
            },
            false,
        );
    }
}
