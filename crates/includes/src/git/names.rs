/// Returns whether a text names a commit whole.
pub(super) fn is_commit(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns whether a text can be a branch or a tag, as Git says what can.
pub(super) fn is_reference(text: &str) -> bool {
    let fits = |c: char| !c.is_control() && !" ~^:?*[\\".contains(c);
    let is_part = |part: &str| {
        !part.is_empty() && !part.starts_with('.') && part.strip_suffix(".lock").is_none()
    };
    text.len() <= 1024
        && !text.starts_with('-')
        && !text.ends_with('.')
        && !text.contains("..")
        && !text.contains("@{")
        && text.chars().all(fits)
        && text.split('/').all(is_part)
}

/// Returns whether a text can be the path of a file in a repository.
pub(super) fn is_path(text: &str) -> bool {
    let is_part = |part: &str| !matches!(part, "" | "." | "..");
    text.len() <= 4096 && !text.contains('\0') && text.split('/').all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_what_git_allows() {
        let check = |text: &str, expect: bool| assert_eq!(is_reference(text), expect, "{text:?}");
        check("main", true);
        check("feature/ä@1", true);
        check("refs/heads/main", true);
        check("v1.0", true);
        check("--upload-pack=x", false);
        check("a b", false);
        check("a*", false);
        check("a..b", false);
        check("a^{tree}", false);
        check("a:b", false);
        check("a\n", false);
        check("a//b", false);
        check("a/", false);
        check(".a", false);
        check("a.lock", false);
        check("", false);
        check("@{u}", false);
    }

    #[test]
    fn paths_stay_in_the_repository() {
        let check = |text: &str, expect: bool| assert_eq!(is_path(text), expect, "{text:?}");
        check("a/b.yml", true);
        check("-x", true);
        check("a/*.yml", true);
        check("../a", false);
        check("/a", false);
        check("a//b", false);
        check("a\0", false);
        check("", false);
    }
}
