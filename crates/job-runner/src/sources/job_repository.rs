use git::{GitDir, HeadRef, head, origin, resolve, without_credentials};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The result of [`create`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repository {
    /// The repository was created.
    Created,
    /// The `HEAD` of the source cannot be read.
    WithoutHead,
    /// Only git itself can read the refs.
    UnknownRefs,
}

/// Creates a repository in the tree at `project` with the history of `source`.
///
/// Git finds the objects through `info/alternates` and only reads them there, so a job cannot change the
/// user's repository. Refs and the index are copied, and `HEAD` is detached at the commit, as in a job of
/// GitLab; without a commit it names the same branch. Hooks and settings are not copied, and no process is started.
pub(crate) fn create(source: &GitDir, project: &Path) -> io::Result<Repository> {
    let user_config = fs::read_to_string(source.common.join("config")).unwrap_or_default();
    if user_config.to_ascii_lowercase().contains("refstorage") {
        return Ok(Repository::UnknownRefs);
    }
    let head = match head(source) {
        Some(HeadRef::Commit(commit)) => commit,
        Some(HeadRef::Ref(name)) => resolve(source, &name).unwrap_or(format!("ref: {name}")),
        None => return Ok(Repository::WithoutHead),
    };
    let target = project.join(".git");
    fs::create_dir_all(target.join("objects/info"))?;
    fs::create_dir_all(target.join("objects/pack"))?;
    fs::create_dir_all(target.join("refs/heads"))?;
    let objects = fs::canonicalize(source.common.join("objects"))?;
    fs::write(target.join("objects/info/alternates"), alternate(&objects))?;
    fs::write(target.join("config"), config(&user_config))?;
    copy_refs(&source.common.join("refs"), &target.join("refs"))?;
    copy_if_exists(
        &source.common.join("packed-refs"),
        &target.join("packed-refs"),
    )?;
    copy_if_exists(&source.common.join("shallow"), &target.join("shallow"))?;
    fs::create_dir_all(target.join("info"))?;
    copy_if_exists(
        &source.common.join("info/exclude"),
        &target.join("info/exclude"),
    )?;
    copy_index(&source.own, &target)?;
    // Last: git ignores a directory without HEAD, so an incomplete repository is harmless.
    fs::write(target.join("HEAD"), format!("{head}\n"))?;
    Ok(Repository::Created)
}

/// Returns the line for an object directory, quoted if git requires it.
fn alternate(objects: &Path) -> Vec<u8> {
    let path = objects.as_os_str().as_bytes();
    let mut line = Vec::with_capacity(path.len() + 1);
    if path.contains(&b'\n') {
        line.push(b'"');
        for byte in path {
            match byte {
                b'\n' => line.extend_from_slice(b"\\n"),
                b'"' | b'\\' => line.extend_from_slice(&[b'\\', *byte]),
                byte => line.push(*byte),
            }
        }
        line.push(b'"');
    } else {
        line.extend_from_slice(path);
    }
    line.push(b'\n');
    line
}

fn config(user_config: &str) -> String {
    let is_sha256 = |line: &str| {
        let setting = line.split_once('=');
        setting.is_some_and(|(key, value)| {
            key.trim().eq_ignore_ascii_case("objectformat") && value.trim() == "sha256"
        })
    };
    let mut config = if user_config.lines().any(is_sha256) {
        "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectformat = sha256\n".to_owned()
    } else {
        "[core]\n\trepositoryformatversion = 0\n".to_owned()
    };
    config.push_str("[core]\n\tbare = false\n\tlogallrefupdates = true\n");
    if let Some(url) = origin(user_config) {
        // A URL has none of the characters that need quotes.
        let url: String = without_credentials(&url).replace(['"', '\\', '\n'], "");
        config.push_str("[remote \"origin\"]\n\turl = \"");
        config.push_str(&url);
        config.push_str("\"\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n");
    }
    config
}

fn copy_refs(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        let kind = entry.file_type()?;
        if kind.is_dir() {
            fs::create_dir_all(&target)?;
            copy_refs(&entry.path(), &target)?;
        } else if kind.is_file() && entry.path().extension().is_none_or(|it| it != "lock") {
            copy_if_exists(&entry.path(), &target)?;
        }
    }
    Ok(())
}

/// Copies the index and the shared part of a split index.
fn copy_index(from: &Path, to: &Path) -> io::Result<()> {
    copy_if_exists(&from.join("index"), &to.join("index"))?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        if entry
            .file_name()
            .as_encoded_bytes()
            .starts_with(b"sharedindex.")
        {
            copy_if_exists(&entry.path(), &to.join(entry.file_name()))?;
        }
    }
    Ok(())
}

fn copy_if_exists(from: &Path, to: &Path) -> io::Result<()> {
    match fs::copy(from, to) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other.map(drop),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alternates_are_quoted_as_git_expects() {
        let check = |path: &str, expect: &str| {
            assert_eq!(alternate(Path::new(path)), expect.as_bytes(), "{path:?}");
        };
        check("/a \"b\"\\c/objects", "/a \"b\"\\c/objects\n");
        check("/a\nb\"\\/objects", "\"/a\\nb\\\"\\\\/objects\"\n");
    }
}
