use crate::GitDir;
use std::fs;

/// The target of `HEAD`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeadRef {
    /// A ref, by its full name.
    Ref(String),
    /// A commit.
    Commit(String),
}

/// Reads `HEAD`; `None` when it is neither of the two known forms.
pub fn head(git_dir: &GitDir) -> Option<HeadRef> {
    let text = fs::read_to_string(git_dir.own.join("HEAD")).ok()?;
    let text = text.trim_end();
    match text.strip_prefix("ref: ") {
        Some(name) => Some(HeadRef::Ref(name.trim_start().to_owned())),
        None => is_object_name(text).then(|| HeadRef::Commit(text.to_owned())),
    }
}

/// Returns the commit or tag object a ref points at.
pub fn resolve(git_dir: &GitDir, name: &str) -> Option<String> {
    // Git itself follows no more than five symbolic refs.
    let mut name = name.to_owned();
    for _ in 0..5 {
        let Ok(text) = fs::read_to_string(git_dir.common.join(&name)) else {
            return packed(git_dir, &name);
        };
        let text = text.trim_end();
        match text.strip_prefix("ref: ") {
            Some(next) => next.clone_into(&mut name),
            None => return is_object_name(text).then(|| text.to_owned()),
        }
    }
    None
}

/// Returns the ref that a symbolic ref points at.
pub(crate) fn symbolic(git_dir: &GitDir, name: &str) -> Option<String> {
    let text = fs::read_to_string(git_dir.common.join(name)).ok()?;
    text.trim_end().strip_prefix("ref: ").map(str::to_owned)
}

fn packed(git_dir: &GitDir, name: &str) -> Option<String> {
    let text = fs::read_to_string(git_dir.common.join("packed-refs")).ok()?;
    let mut lines = text.lines().filter(|line| !line.starts_with(['#', '^']));
    let (object, _) = lines.find_map(|line| line.split_once(' ').filter(|(_, it)| *it == name))?;
    is_object_name(object).then(|| object.to_owned())
}

fn is_object_name(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
