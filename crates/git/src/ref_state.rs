use crate::{GitDir, refs};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

/// Returns all refs below a name such as `refs/tags` in the repository around `directory`, each with its target, and
/// `HEAD`; read from the files, without git.
///
/// `None` where there is no repository, its refs are kept in another format, or they cannot be read.
pub fn ref_state(directory: &Path, below: &str) -> Option<BTreeMap<String, String>> {
    let git_dir = GitDir::containing(directory)?;
    if git_dir.common.join("reftable").exists() {
        return None;
    }
    let mut found = BTreeMap::new();
    let head = fs::read_to_string(git_dir.own.join("HEAD")).ok()?;
    found.insert("HEAD".to_owned(), head.trim_end().to_owned());
    let packed = match fs::read_to_string(git_dir.common.join("packed-refs")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        packed => packed.ok()?,
    };
    let lines = packed.lines().filter(|line| !line.starts_with(['#', '^']));
    for (object, name) in lines.filter_map(|line| line.split_once(' ')) {
        let rest = name.strip_prefix(below);
        if rest.is_some_and(|rest| rest.starts_with('/')) {
            found.insert(name.to_owned(), object.to_owned());
        }
    }
    add_loose(&git_dir, below, &mut found)?;
    Some(found)
}

fn add_loose(git_dir: &GitDir, below: &str, found: &mut BTreeMap<String, String>) -> Option<()> {
    let entries = match fs::read_dir(git_dir.common.join(below)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Some(()),
        entries => entries.ok()?,
    };
    for entry in entries {
        let entry = entry.ok()?;
        let name = format!("{below}/{}", entry.file_name().to_str()?);
        if entry.file_type().ok()?.is_dir() {
            add_loose(git_dir, &name, found)?;
        } else if let Some(object) = refs::resolve(git_dir, &name) {
            found.insert(name, object);
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loose_refs_hide_packed_ones_and_others_are_left_out() {
        let top = tempfile::tempdir().expect("a directory");
        let git = top.path().join(".git");
        let [one, two] = ["1", "2"].map(|digit| digit.repeat(40));
        fs::create_dir_all(git.join("refs/tags/v")).expect("made");
        fs::write(git.join("HEAD"), "ref: refs/heads/main\n").expect("written");
        let packed = format!("# pack-refs\n{one} refs/tags/a\n^{two}\n{one} refs/tagsb\n");
        fs::write(git.join("packed-refs"), packed).expect("written");
        fs::write(git.join("refs/tags/v/1"), format!("{two}\n")).expect("written");
        let check = |below: &str, expect: &[(&str, &str)]| {
            let found = ref_state(top.path(), below).expect("read");
            let found: Vec<(&str, &str)> = found.iter().map(|(a, b)| (&**a, &**b)).collect();
            assert_eq!(found, expect, "{below}");
        };
        let head = ("HEAD", "ref: refs/heads/main");
        check(
            "refs/tags",
            &[head, ("refs/tags/a", &one), ("refs/tags/v/1", &two)],
        );
        fs::write(git.join("refs/tags/a"), format!("{two}\n")).expect("written");
        check(
            "refs/tags",
            &[head, ("refs/tags/a", &two), ("refs/tags/v/1", &two)],
        );
        check("refs/heads", &[head]);
        fs::create_dir(git.join("reftable")).expect("made");
        assert_eq!(ref_state(top.path(), "refs"), None);
    }
}
