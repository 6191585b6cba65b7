//! The mark from which an agent's version is read, without starting the agent.

/// The text before the version in the file of every agent.
const BEFORE: &[u8] = b"\0runwright-agent of version ";

/// The longest version.
const LONGEST: usize = 64;

/// The mark of this build.
static MARK: &str = concat!(
    "\0runwright-agent of version ",
    env!("CARGO_PKG_VERSION"),
    "\0"
);

/// Returns the version of this build. It is read from the mark, which keeps the mark in the program.
pub(crate) fn version() -> &'static str {
    std::hint::black_box(MARK)
        .trim_matches('\0')
        .rsplit(' ')
        .next()
        .unwrap_or_default()
}

/// Returns the version of the agent with this content; `None` for another program.
pub(crate) fn find(file: &[u8]) -> Option<&str> {
    let mut rest = file;
    loop {
        let at = position(rest, BEFORE)?;
        rest = &rest[at + BEFORE.len()..];
        let end = rest.iter().take(LONGEST).position(|byte| *byte == 0);
        let version = end.and_then(|end| std::str::from_utf8(&rest[..end]).ok());
        // The search text itself may be in the file, in the code that searches for it.
        if let Some(version) = version.filter(|version| is_version(version)) {
            return Some(version);
        }
    }
}

fn is_version(text: &str) -> bool {
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || ".-+".contains(letter);
    text.starts_with(|letter: char| letter.is_ascii_digit()) && text.chars().all(allowed)
}

fn position(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    let mut from = 0;
    loop {
        // Only few bytes of a program are followed by the start of the mark.
        let at = from
            + haystack[from..]
                .windows(2)
                .position(|pair| pair == &needle[..2])?;
        if haystack[at..].starts_with(needle) {
            return Some(at);
        }
        from = at + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_mark_is_found_after_similar_bytes() {
        let mut file = b"\x7fELF\0r\0runwright-agent of version \0\0runwright-agent of ".to_vec();
        assert_eq!(find(&file), None);
        file.extend_from_slice(MARK.as_bytes());
        file.extend_from_slice(b"rest");
        assert_eq!(find(&file), Some(env!("CARGO_PKG_VERSION")));
        assert_eq!(find(b""), None);
    }

    #[test]
    fn version_is_that_of_the_package() {
        assert_eq!(version(), env!("CARGO_PKG_VERSION"));
    }
}
