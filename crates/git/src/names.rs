//! Names of commits, references and files, and addresses of repositories.

/// The fewest digits of an abbreviated commit.
const SHORTEST_ABBREVIATION: usize = 7;

/// Returns whether a text is the full name of a commit.
pub fn is_commit(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && is_hex(text)
}

/// Returns whether a text may be the first digits of a commit.
pub fn is_abbreviated_commit(text: &str) -> bool {
    (SHORTEST_ABBREVIATION..64).contains(&text.len()) && is_hex(text)
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns whether a text can be the name of a branch or tag, by git's rules.
pub fn is_reference_name(text: &str) -> bool {
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
pub fn is_file_path(text: &str) -> bool {
    let is_part = |part: &str| !matches!(part, "" | "." | "..");
    text.len() <= 4096 && !text.contains('\0') && text.split('/').all(is_part)
}

/// Returns an address without what grants access: name and password, or for ssh the password alone.
pub fn without_credentials(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let scheme = scheme.to_ascii_lowercase();
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let Some((user_info, host)) = authority.rsplit_once('@') else {
        return format!("{scheme}://{authority}{path}");
    };
    let user = user_info.split(':').next().unwrap_or_default();
    if scheme == "ssh" && !user.is_empty() {
        return format!("{scheme}://{user}@{host}{path}");
    }
    format!("{scheme}://{host}{path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reference_names_follow_gits_rules() {
        let check =
            |text: &str, expect: bool| assert_eq!(is_reference_name(text), expect, "{text:?}");
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
        let check = |text: &str, expect: bool| assert_eq!(is_file_path(text), expect, "{text:?}");
        check("a/b.yml", true);
        check("-x", true);
        check("a/*.yml", true);
        check("../a", false);
        check("/a", false);
        check("a//b", false);
        check("a\0", false);
        check("", false);
    }

    #[test]
    fn abbreviated_commits_have_seven_digits_or_more() {
        assert!(is_abbreviated_commit("0123abc"));
        assert!(!is_abbreviated_commit("012abc"));
        assert!(!is_abbreviated_commit("012345g"));
        assert!(is_commit(&"a".repeat(40)) && !is_commit(&"a".repeat(41)));
    }

    #[test]
    fn credentials_do_not_stay_in_the_address() {
        let check = |url, expect| assert_eq!(without_credentials(url), expect);
        check(
            "https://me:t0ken@host:8443/a/b.git",
            "https://host:8443/a/b.git",
        );
        check("https://t0ken@host", "https://host");
        check("https://host/a@b", "https://host/a@b");
        check("HTTPS://me:t0ken@host/a", "https://host/a");
        check("ssh://git:pw@host/a", "ssh://git@host/a");
        check("ssh://:pw@host/a", "ssh://host/a");
        check("git@host:a/b.git", "git@host:a/b.git");
        check("ftp://me:pw@host/a", "ftp://host/a");
        check("git://me:pw@host/a", "git://host/a");
        check("file:///srv/repo", "file:///srv/repo");
        check("/srv/repo", "/srv/repo");
    }
}
