use super::stamp::{Stamp, content_hash};
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// How many bytes are read in advance, so that a file that is only touched counts as the same.
const MAX_READ: u64 = 256 << 20;

/// The known state of a tree's files, to find later which have changed.
#[derive(Debug)]
pub(super) struct TreeState {
    root: PathBuf,
    files: HashMap<PathBuf, FileState>,
}

#[derive(Debug, Clone, Copy)]
struct FileState {
    /// `None` if it does not exist.
    stamp: Option<Stamp>,
    /// The hash of its contents, if they were read.
    content: Option<u64>,
    /// Whether it may have changed since without a change of its stamp.
    is_fresh: bool,
}

impl TreeState {
    /// Returns the state of these files, with paths relative to `root`.
    pub(super) fn new(root: &Path, files: impl IntoIterator<Item = PathBuf>) -> Self {
        let now = SystemTime::now();
        let state = |path: PathBuf| {
            let stamp = Stamp::of(&root.join(&path));
            let known = FileState {
                stamp,
                content: None,
                is_fresh: stamp.is_some_and(|stamp| stamp.is_fresh(now)),
            };
            (path, known)
        };
        Self {
            root: root.to_owned(),
            files: files.into_iter().map(state).collect(),
        }
    }

    /// Reads files up to a total size while `should_continue`. Files that change meanwhile count as unread.
    pub(super) fn read(&mut self, mut should_continue: impl FnMut() -> bool) {
        let mut left = MAX_READ;
        for (path, known) in &mut self.files {
            let Some(stamp) = known.stamp.filter(|_| known.content.is_none()) else {
                continue;
            };
            if stamp.is_directory() || stamp.len() > left {
                continue;
            }
            if !should_continue() {
                return;
            }
            left -= stamp.len();
            let full = self.root.join(path);
            let found = content_hash(&full, stamp).ok();
            if Stamp::of(&full) == Some(stamp) {
                known.content = found;
            }
        }
    }

    /// Adds files in their current state, unless they are known already.
    pub(super) fn add<'p>(&mut self, files: impl IntoIterator<Item = &'p PathBuf>) {
        let now = SystemTime::now();
        for path in files {
            if !self.files.contains_key(path) {
                let (known, _) = compare_file(&self.root.join(path), None, now);
                self.files.insert(path.clone(), known);
            }
        }
    }

    /// Returns how many files exist.
    pub(super) fn len(&self) -> usize {
        let existing = self.files.values().filter(|known| known.stamp.is_some());
        existing.count()
    }

    /// Returns whether a file is known.
    pub(super) fn contains(&self, path: &Path) -> bool {
        self.files.contains_key(path)
    }

    /// Updates the state to the current files, and returns those that changed.
    pub(super) fn compare(
        &mut self,
        files: impl IntoIterator<Item = PathBuf>,
    ) -> BTreeSet<PathBuf> {
        let now = SystemTime::now();
        let mut changed = BTreeSet::new();
        let mut seen = HashMap::with_capacity(self.files.len());
        for path in files {
            let earlier = self.files.remove(&path);
            let (known, has_changed) = compare_file(&self.root.join(&path), earlier, now);
            if has_changed {
                changed.insert(path.clone());
            }
            seen.insert(path, known);
        }
        let gone = self.files.drain();
        let gone = gone.filter(|(_, known)| known.stamp.is_some());
        changed.extend(gone.map(|(path, _)| path));
        self.files = seen;
        changed
    }
}

/// Returns the current state of a file, and whether it changed.
fn compare_file(path: &Path, earlier: Option<FileState>, now: SystemTime) -> (FileState, bool) {
    let stamp = Stamp::of(path);
    let is_fresh = stamp.is_some_and(|stamp| stamp.is_fresh(now));
    let mut known = FileState {
        stamp,
        content: None,
        is_fresh,
    };
    let Some(earlier) = earlier else {
        known.content = stamp.and_then(|stamp| content_hash(path, stamp).ok());
        return (known, stamp.is_some());
    };
    let (Some(before), Some(stamp)) = (earlier.stamp, stamp) else {
        return (known, earlier.stamp.is_some() != stamp.is_some());
    };
    // The files in a directory have their own paths.
    if stamp.is_directory() && before.is_directory() {
        return (known, false);
    }
    if stamp == before && !earlier.is_fresh {
        known.content = earlier.content;
        return (known, false);
    }
    known.content = content_hash(path, stamp).ok();
    let is_same = stamp.has_same_shape(&before)
        && known.content.is_some()
        && (known.content == earlier.content
            // It was not read before, and its stamp is the same.
            || (earlier.content.is_none() && stamp == before));
    (known, !is_same)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::time::Duration;

    fn names(changed: &BTreeSet<PathBuf>) -> Vec<&str> {
        changed.iter().filter_map(|path| path.to_str()).collect()
    }

    #[test]
    fn content_changes_are_found_once() {
        let directory = tempfile::tempdir().expect("a directory");
        let root = directory.path();
        let write = |name: &str, text: &str| fs::write(root.join(name), text).expect("written");
        let all = |names: &[&str]| -> Vec<PathBuf> { names.iter().map(PathBuf::from).collect() };
        for name in ["a", "b", "c", "d"] {
            write(name, "x");
        }
        let list = ["a", "b", "c", "d", "none"];
        let mut state = TreeState::new(root, all(&list));
        state.read(|| true);
        assert_eq!(state.len(), 4);
        assert!(state.compare(all(&list)).is_empty());

        // Touched, and written with the same contents.
        let later = SystemTime::now() + Duration::from_secs(5);
        let touched = fs::File::options()
            .write(true)
            .open(root.join("a"))
            .expect("opened");
        touched.set_modified(later).expect("touched");
        write("new", "x");
        fs::rename(root.join("new"), root.join("b")).expect("renamed");
        assert!(state.compare(all(&list)).is_empty());

        write("a", "y");
        fs::remove_file(root.join("b")).expect("removed");
        fs::set_permissions(root.join("c"), fs::Permissions::from_mode(0o755)).expect("changed");
        write("none", "");
        write("e", "new");
        let list = ["a", "b", "c", "none", "e"];
        let changed = state.compare(all(&list));
        assert_eq!(names(&changed), ["a", "b", "c", "d", "e", "none"]);
        assert!(state.compare(all(&list)).is_empty());
    }

    #[test]
    fn change_within_one_clock_tick_is_found() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("a");
        fs::write(&path, "x").expect("written");
        // In the future, so that the file counts as fresh however long this test takes.
        let time = SystemTime::now() + Duration::from_hours(1);
        let set_time = || {
            let file = fs::File::options().write(true).open(&path).expect("opened");
            file.set_modified(time).expect("set");
        };
        set_time();
        let mut state = TreeState::new(directory.path(), [PathBuf::from("a")]);
        state.read(|| true);
        fs::write(&path, "y").expect("written");
        set_time();
        assert_eq!(state.compare([PathBuf::from("a")]).len(), 1);
    }
}
