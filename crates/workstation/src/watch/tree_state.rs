use super::stamp::{Stamp, content};
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// How much is read beforehand, so that a file that was only touched is known to be the same.
const MOST_READ: u64 = 256 << 20;

/// What is known of the files of a tree, to tell later which have changed.
#[derive(Debug)]
pub(super) struct TreeState {
    root: PathBuf,
    files: HashMap<PathBuf, Known>,
}

#[derive(Debug, Clone, Copy)]
struct Known {
    /// What was seen of it; `None` when it was not there.
    stamp: Option<Stamp>,
    /// What its contents were, if they were read.
    content: Option<u64>,
    /// Whether it may have changed since without its stamp changing.
    is_fresh: bool,
}

impl TreeState {
    /// Looks at these files, whose paths are relative to `root`.
    pub(super) fn new(root: &Path, files: impl IntoIterator<Item = PathBuf>) -> Self {
        let now = SystemTime::now();
        let look = |path: PathBuf| {
            let stamp = Stamp::of(&root.join(&path));
            let known = Known {
                stamp,
                content: None,
                is_fresh: stamp.is_some_and(|stamp| stamp.is_fresh(now)),
            };
            (path, known)
        };
        Self {
            root: root.to_owned(),
            files: files.into_iter().map(look).collect(),
        }
    }

    /// Reads what is not large, as long as that is not too much. What changed meanwhile stays unread.
    pub(super) fn read(&mut self, mut goes_on: impl FnMut() -> bool) {
        let mut left = MOST_READ;
        for (path, known) in &mut self.files {
            let Some(stamp) = known.stamp.filter(|_| known.content.is_none()) else {
                continue;
            };
            if stamp.is_directory() || stamp.len() > left {
                continue;
            }
            if !goes_on() {
                return;
            }
            left -= stamp.len();
            let full = self.root.join(path);
            let found = content(&full, stamp).ok();
            if Stamp::of(&full) == Some(stamp) {
                known.content = found;
            }
        }
    }

    /// Knows these files from now on, as they are, unless they are known already.
    pub(super) fn adopt<'p>(&mut self, files: impl IntoIterator<Item = &'p PathBuf>) {
        let now = SystemTime::now();
        for path in files {
            if !self.files.contains_key(path) {
                let (known, _) = look(&self.root.join(path), None, now);
                self.files.insert(path.clone(), known);
            }
        }
    }

    /// Returns how many files there are.
    pub(super) fn len(&self) -> usize {
        let there = self.files.values().filter(|known| known.stamp.is_some());
        there.count()
    }

    /// Returns whether a file is among those that are known.
    pub(super) fn knows(&self, path: &Path) -> bool {
        self.files.contains_key(path)
    }

    /// Returns the files that are not as they were known, by the list of those that count now, and knows
    /// them from now on.
    pub(super) fn compare(
        &mut self,
        files: impl IntoIterator<Item = PathBuf>,
    ) -> BTreeSet<PathBuf> {
        let now = SystemTime::now();
        let mut changed = BTreeSet::new();
        let mut seen = HashMap::with_capacity(self.files.len());
        for path in files {
            let earlier = self.files.remove(&path);
            let (known, is_other) = look(&self.root.join(&path), earlier, now);
            if is_other {
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

/// Looks at a file again; returns what is known now, and whether it is another one.
fn look(path: &Path, earlier: Option<Known>, now: SystemTime) -> (Known, bool) {
    let stamp = Stamp::of(path);
    let is_fresh = stamp.is_some_and(|stamp| stamp.is_fresh(now));
    let mut known = Known {
        stamp,
        content: None,
        is_fresh,
    };
    let Some(earlier) = earlier else {
        known.content = stamp.and_then(|stamp| content(path, stamp).ok());
        return (known, stamp.is_some());
    };
    let (Some(before), Some(stamp)) = (earlier.stamp, stamp) else {
        return (known, earlier.stamp.is_some() != stamp.is_some());
    };
    // What is in a directory has paths of its own.
    if stamp.is_directory() && before.is_directory() {
        return (known, false);
    }
    if stamp == before && !earlier.is_fresh {
        known.content = earlier.content;
        return (known, false);
    }
    known.content = content(path, stamp).ok();
    let is_same = stamp.is_like(&before)
        && known.content.is_some()
        && (known.content == earlier.content
            // Nobody read it before, and nothing says that it changed.
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
    fn what_changed_is_told_by_content_once() {
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
    fn a_change_within_one_tick_of_the_clock_is_seen() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("a");
        fs::write(&path, "x").expect("written");
        // However long this test takes, that is just now.
        let time = SystemTime::now() + Duration::from_hours(1);
        let changed_then = || {
            let file = fs::File::options().write(true).open(&path).expect("opened");
            file.set_modified(time).expect("set");
        };
        changed_then();
        let mut state = TreeState::new(directory.path(), [PathBuf::from("a")]);
        state.read(|| true);
        fs::write(&path, "y").expect("written");
        changed_then();
        assert_eq!(state.compare([PathBuf::from("a")]).len(), 1);
    }
}
