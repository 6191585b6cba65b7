//! The mark by which an agent's version is read from its file, without starting it.

/// What comes before the version in the file of every agent.
const BEFORE: &[u8] = b"\0runwright-agent of version ";

/// How long a version may be.
const LONGEST: usize = 64;

/// The mark of this build.
static MARK: &str = concat!(
    "\0runwright-agent of version ",
    env!("CARGO_PKG_VERSION"),
    "\0"
);

/// The version of this build, read from its mark, which is so kept in the program.
pub(crate) fn version() -> &'static str {
    std::hint::black_box(MARK)
        .trim_matches('\0')
        .rsplit(' ')
        .next()
        .unwrap_or_default()
}

/// Returns the version of the agent whose file this is; `None` for another program.
pub(crate) fn find(file: &[u8]) -> Option<&str> {
    let mut rest = file;
    loop {
        let at = position(rest, BEFORE)?;
        rest = &rest[at + BEFORE.len()..];
        let end = rest.iter().take(LONGEST).position(|byte| *byte == 0);
        let version = end.and_then(|end| std::str::from_utf8(&rest[..end]).ok());
        // The searched text itself may be in the file, in the code that looks for it.
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
        // Few bytes of a program are followed by what begins the mark.
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
    fn the_version_is_found_behind_things_that_look_like_it() {
        let mut file = b"\x7fELF\0r\0runwright-agent of version \0\0runwright-agent of ".to_vec();
        assert_eq!(find(&file), None);
        file.extend_from_slice(MARK.as_bytes());
        file.extend_from_slice(b"rest");
        assert_eq!(find(&file), Some(env!("CARGO_PKG_VERSION")));
        assert_eq!(find(b""), None);
    }

    #[test]
    fn the_own_version_is_that_of_the_package() {
        assert_eq!(version(), env!("CARGO_PKG_VERSION"));
    }
}
