//! Checks names of commits, branches, tags and projects, without asking a server.

/// Returns whether a text is a full commit id, in lower or upper case.
pub(super) fn is_commit(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns whether a branch or tag can have this name.
pub(super) fn is_plain(name: &str) -> bool {
    let is_bad = |character: char| {
        character.is_control() || character.is_whitespace() || "~^:?*[\\".contains(character)
    };
    !name.is_empty() && !name.starts_with('-') && !name.contains("..") && !name.contains(is_bad)
}

/// Returns the path of a project without slashes around it; `None` if it is not valid.
pub(super) fn project_path(text: &str) -> Option<&str> {
    let path = text.trim_matches('/');
    let is_bad = |character: char| {
        character.is_control() || character.is_whitespace() || "?#%\\:@".contains(character)
    };
    let mut parts = path.split('/');
    let is_part =
        |part: &str| !part.is_empty() && !part.starts_with('-') && part != "." && part != "..";
    let is_path = path.contains('/') && parts.all(is_part) && !path.contains(is_bad);
    is_path.then_some(path)
}

/// Returns the normalized path of a file in its project; `None` if it leads out of it.
pub(super) fn file_path(text: &str) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for part in text.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    let path = parts.join("/");
    (!path.is_empty() && !path.contains(char::is_control)).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn project_paths_have_a_group() {
        let check = |text: &str, expect: Option<&str>| {
            assert_eq!(project_path(text), expect, "{text:?}");
        };
        check("group/project", Some("group/project"));
        check("/Group/sub/project/", Some("Group/sub/project"));
        for bad in [
            "",
            "project",
            "a//b",
            "a/../b",
            "a/./b",
            "a b/c",
            "a/b?c",
            "a/b#c",
            "a/%2e",
            "-a/b",
            "https://h/a/b",
            "a/b\n",
            "a\\b/c",
            "u@h/a",
        ] {
            check(bad, None);
        }
    }

    #[test]
    fn file_paths_stay_in_the_project() {
        let check = |text: &str, expect: Option<&str>| {
            assert_eq!(file_path(text).as_deref(), expect, "{text:?}");
        };
        check("a.yml", Some("a.yml"));
        check("/ci//./a.yml", Some("ci/a.yml"));
        check("ci/../a.yml", Some("a.yml"));
        check("ci/ä b.yml", Some("ci/ä b.yml"));
        check("../a.yml", None);
        check("ci/../../a.yml", None);
        check("a\0.yml", None);
        check("", None);
    }
}
