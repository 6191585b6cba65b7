use super::blob;
use super::links::Links;
use super::listing::{self, Tracked};
use super::state::{Kind, State};
use crate::artifacts::Pattern;
use executor_core::Cancellation;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// The tracked files of a job's directory before its scripts.
#[derive(Debug)]
pub(crate) struct Baseline {
    project: PathBuf,
    files: Vec<Tracked>,
    /// The state of each file.
    states: Vec<Option<State>>,
    /// The ids of the contents that differ from the index, by index in `files`.
    dirty: HashMap<usize, Option<String>>,
}

impl Baseline {
    /// Inspects the files of a listing of `git ls-files -v --stage -z`; `dirty` lists those that differ from the index.
    /// Blocks.
    pub(crate) fn read(project: &Path, listing: &[u8], dirty: &[u8]) -> Self {
        let files = listing::parse(listing);
        let mut links = Links::below(project);
        let states = files.iter().map(|file| links.state(&file.path));
        let states: Vec<Option<State>> = states.collect();
        let mut indexes = listing::indexes(&files, dirty);
        indexes.extend((0..files.len()).filter(|&at| files[at].id.is_none()));
        let content = |at: usize| {
            let state = states[at]?;
            id_of(project, &files[at], state.kind)
        };
        let dirty = indexes.into_iter().map(|at| (at, content(at))).collect();
        Self {
            project: project.to_owned(),
            files,
            states,
            dirty,
        }
    }

    /// Returns the undeclared files whose content, mode or existence changed. Files with unchanged metadata are not
    /// read. Blocks.
    pub(crate) fn changed(&self, declared: &Declared, cancellation: &Cancellation) -> Vec<&Path> {
        let mut links = Links::below(&self.project);
        let mut changed = Vec::new();
        for (at, file) in self.files.iter().enumerate() {
            if cancellation.is_aborted() {
                break;
            }
            let now = links.state(&file.path);
            if now != self.states[at] && self.is_changed(at, now) && !declared.covers(&file.path) {
                changed.push(&*file.path);
            }
        }
        changed
    }

    /// Returns whether a file with changed metadata has changed.
    fn is_changed(&self, at: usize, now: Option<State>) -> bool {
        let (Some(before), Some(now)) = (self.states[at], now) else {
            return true;
        };
        if before.kind != now.kind {
            return true;
        }
        match now.kind {
            Kind::Directory => false,
            Kind::Other => true,
            Kind::File { .. } | Kind::Link => {
                let file = &self.files[at];
                let was = match self.dirty.get(&at) {
                    Some(content) => content.as_ref(),
                    None => file.id.as_ref(),
                };
                before.size != now.size
                    || was.is_none()
                    || id_of(&self.project, file, now.kind).as_ref() != was
            }
        }
    }
}

/// Returns the id of a file's content; `None` when it cannot be read.
fn id_of(project: &Path, file: &Tracked, kind: Kind) -> Option<String> {
    if !matches!(kind, Kind::File { .. } | Kind::Link) {
        return None;
    }
    let like = file.id.as_ref().map_or(40, String::len);
    blob::id_of(&project.join(&file.path), kind, like).ok()
}

/// The files that a job declares to change.
#[derive(Debug, Default)]
pub(crate) struct Declared {
    patterns: Vec<Pattern>,
}

impl Declared {
    /// Reads the patterns of a job whose scripts call their directory `project`. Invalid patterns are ignored; their users
    /// report them.
    pub(crate) fn new(project: &Path, patterns: &[String]) -> Self {
        let patterns = patterns.iter();
        let patterns = patterns.filter_map(|text| Pattern::parse(project, text).ok());
        Self {
            patterns: patterns.collect(),
        }
    }

    /// Returns whether a file or a directory above it is declared.
    pub(crate) fn covers(&self, path: &Path) -> bool {
        let means = |path: &Path| self.patterns.iter().any(|it| it.matches(path));
        !self.patterns.is_empty() && path.ancestors().any(means)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use tempfile::TempDir;

    const PLAIN: Kind = Kind::File {
        is_executable: false,
    };

    /// Returns a directory with these files, all of one content, and their listing.
    fn tree(names: &[&str]) -> (TempDir, Vec<u8>) {
        let project = tempfile::tempdir().expect("a directory");
        let mut listing = Vec::new();
        for name in names {
            let path = project.path().join(name);
            fs::create_dir_all(path.parent().expect("a parent")).expect("made");
            fs::write(&path, "content\n").expect("written");
            let id = blob::id_of(&path, PLAIN, 40).expect("read");
            listing.extend(format!("H 100644 {id} 0\t").into_bytes());
            listing.extend(
                path.strip_prefix(project.path())
                    .expect("below")
                    .as_os_str()
                    .as_bytes(),
            );
            listing.push(0);
        }
        (project, listing)
    }

    fn check(dirty: &str, change: impl Fn(&Path), expect: &[&str]) {
        let (project, listing) = tree(&["a", "b", "dir/c", "new\nline"]);
        let path = project.path();
        for name in dirty.split(' ').filter(|name| !name.is_empty()) {
            fs::write(path.join(name), "CONTENT\n").expect("written");
        }
        let before = Baseline::read(path, &listing, dirty.replace(' ', "\0").as_bytes());
        change(path);
        let changed = before.changed(&Declared::default(), &Cancellation::new());
        let expect: Vec<&Path> = expect.iter().map(Path::new).collect();
        assert_eq!(changed, expect);
    }

    #[test]
    fn only_content_mode_and_existence_count() {
        let write = |path: &Path, text: &str| fs::write(path, text).expect("written");
        check("", |_| (), &[]);
        check("", |path| write(&path.join("a"), "content\n"), &[]);
        check("", |path| write(&path.join("a"), "CONTENT\n"), &["a"]);
        check(
            "",
            |path| write(&path.join("a"), "longer content\n"),
            &["a"],
        );
        check(
            "",
            |path| write(&path.join("new\nline"), ""),
            &["new\nline"],
        );
        check("", |path| write(&path.join("untracked"), ""), &[]);
        let mode = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("set");
        };
        check("", |path| mode(&path.join("b"), 0o755), &["b"]);
        check("", |path| mode(&path.join("b"), 0o600), &[]);
        check(
            "",
            |path| fs::remove_dir_all(path.join("dir")).expect("gone"),
            &["dir/c"],
        );
        let replace = |path: &Path| {
            for name in ["a", "b", "dir/c"] {
                fs::remove_file(path.join(name)).expect("gone");
            }
            fs::create_dir(path.join("a")).expect("made");
            symlink("new\nline", path.join("b")).expect("linked");
            fs::remove_dir(path.join("dir")).expect("gone");
            write(&path.join("dir"), "");
        };
        check("", replace, &["a", "b", "dir/c"]);
        // The same file, by another way that Git does not go.
        let lead_away = |path: &Path| {
            fs::rename(path.join("dir"), path.join("moved")).expect("renamed");
            symlink("moved", path.join("dir")).expect("linked");
        };
        check("", lead_away, &["dir/c"]);
    }

    #[test]
    fn file_below_a_link_is_not_a_change() {
        let (project, listing) = tree(&["dir/c"]);
        let path = project.path();
        fs::rename(path.join("dir"), path.join("moved")).expect("renamed");
        symlink("moved", path.join("dir")).expect("linked");
        let before = Baseline::read(path, &listing, b"dir/c\0");
        fs::write(path.join("dir/c"), "CONTENT\n").expect("written");
        let changed = before.changed(&Declared::default(), &Cancellation::new());
        assert!(changed.is_empty(), "{changed:?}");
    }

    #[test]
    fn uncommitted_changes_are_the_baseline() {
        let write = |path: &Path, text: &str| fs::write(path, text).expect("written");
        check("a b", |path| write(&path.join("a"), "CONTENT\n"), &[]);
        check("a b", |path| write(&path.join("a"), "content\n"), &["a"]);
        check("a", |path| write(&path.join("b"), "CONTENT\n"), &["b"]);
        check(
            "a",
            |path| fs::remove_file(path.join("a")).expect("gone"),
            &["a"],
        );
    }

    #[test]
    fn directory_covers_all_files_below_it() {
        let check = |patterns: &[&str], path: &str, expect| {
            let patterns: Vec<String> = patterns.iter().map(ToString::to_string).collect();
            let declared = Declared::new(Path::new("/builds/p"), &patterns);
            assert_eq!(
                declared.covers(Path::new(path)),
                expect,
                "{patterns:?} {path}"
            );
        };
        check(&[], "a", false);
        check(&["docs"], "docs/a/b.md", true);
        check(&["docs/"], "docs/a/b.md", true);
        check(&["./docs/*.md"], "docs/a.md", true);
        check(&["docs/*.md"], "docs/a/b.md", false);
        check(&["docs/**/*.md"], "docs/a/b.md", true);
        check(&["/builds/p/a"], "a", true);
        check(&["../a", "", "/a"], "a", false);
        check(&["."], "any/thing", true);
    }
}
