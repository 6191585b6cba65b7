//! Names that are safe in URLs and paths.

/// The maximum length of a slug.
const LONGEST: usize = 63;

/// Returns GitLab's slug of `text`: lower case, everything but letters and digits as `-`, at most
/// 63 characters, no `-` at the ends.
///
/// # Examples
///
/// ```
/// assert_eq!(pipeline::slug("Feature/Größe_2"), "feature-gr--e-2");
/// assert_eq!(pipeline::slug("../../x"), "x");
/// ```
pub fn slug(text: &str) -> String {
    let plain = |c: char| match c.to_ascii_lowercase() {
        c @ ('a'..='z' | '0'..='9') => c,
        _ => '-',
    };
    let cut: String = text.chars().take(LONGEST).map(plain).collect();
    cut.trim_matches('-').to_owned()
}

/// Returns a safe file name that is unique to `text`: the slug, with a checksum if the slug differs
/// from the text.
pub(crate) fn path_slug(text: &str) -> String {
    let slug = slug(text);
    if slug == text {
        return slug;
    }
    let name = if slug.is_empty() { "job" } else { &slug };
    format!("{name}-{:08x}", checksum(text))
}

/// FNV-1a: stable across runs, unlike the standard library's hashes.
fn checksum(text: &str) -> u32 {
    let step = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    text.bytes().fold(0x811c_9dc5, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs_follow_gitlab() {
        let check = |text: &str, expect: &str| assert_eq!(slug(text), expect, "of {text:?}");
        check("main", "main");
        check("Feature/X", "feature-x");
        check("--a..b--", "a--b");
        check("äöü", "");
        check(&"x".repeat(100), &"x".repeat(63));
        check(&format!("{}/rest", "x".repeat(62)), &"x".repeat(62));
    }

    #[test]
    fn path_slugs_are_safe_and_unique() {
        assert_eq!(path_slug("build"), "build");
        let names = [
            "../../x", "x", "X", "..", "/", "a b", "a-b", "é", "🦀", ".hidden",
        ];
        let slugs: std::collections::HashSet<String> = names.iter().map(|n| path_slug(n)).collect();
        assert_eq!(slugs.len(), names.len());
        let is_safe = |c: char| c.is_ascii_alphanumeric() || c == '-';
        assert!(
            slugs
                .iter()
                .all(|slug| !slug.is_empty() && slug.chars().all(is_safe))
        );
    }
}
