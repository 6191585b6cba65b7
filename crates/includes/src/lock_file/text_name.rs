//! The names of the files with texts.

use crate::{Digest, Question};

/// How many digits of the digest start a name.
const DIGITS: usize = 16;

/// How many characters of the original name follow.
const READABLE: usize = 60;

/// Returns the file name of a text: the start of its digest, and a readable part.
pub(super) fn text_name(question: &Question, digest: Digest) -> String {
    let called = match question {
        Question::Commit { .. } => "commit",
        Question::Tags { .. } => "tags",
        Question::Tree { .. } => "files",
        Question::File { path, .. } => last(path),
        Question::Page { url, .. } => last(url.path()),
        Question::Template { name, .. } => last(name),
    };
    let readable: String = called
        .chars()
        .map(|it| if is_allowed(it) { it } else { '-' })
        .take(READABLE)
        .collect();
    let digits = &digest.to_string()[..DIGITS];
    if readable.is_empty() {
        digits.to_owned()
    } else {
        format!("{digits}-{readable}")
    }
}

fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

/// Returns whether a file of texts may have this name. No such name leads out of their directory.
pub(crate) fn is_text_name(name: &str) -> bool {
    let length = DIGITS..=DIGITS + 1 + READABLE;
    let digits = name.bytes().take(DIGITS);
    length.contains(&name.len())
        && digits.into_iter().all(|it| it.is_ascii_hexdigit())
        && name.chars().all(is_allowed)
}

fn is_allowed(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '.' | '-' | '_')
}

#[cfg(test)]
mod tests {
    use super::*;
    use web::Url;

    #[test]
    fn name_has_digest_and_readable_part() {
        let check = |url: &str, expect: &str| {
            let url = Url::parse(url).expect("an address");
            let name = text_name(&Question::Page { url, age: None }, Digest::of(b""));
            assert_eq!(name, expect);
            assert!(is_text_name(&name), "{name}");
        };
        check("https://h/a/lint.yml", "e3b0c44298fc1c14-lint.yml");
        check("https://h/a b.yml?secret", "e3b0c44298fc1c14-a-20b.yml");
        check("https://h/", "e3b0c44298fc1c14");
        let long = format!("https://h/{}", "x".repeat(200));
        check(&long, &format!("e3b0c44298fc1c14-{}", "x".repeat(60)));
    }

    #[test]
    fn unsafe_names_are_rejected() {
        for name in [
            "",
            ".",
            "..",
            "../../etc/passwd",
            "/etc/passwd",
            "e3b0c44298fc1c14/..",
            "e3b0c44298fc1c14-a\\b",
            "e3b0c44298fc1c14-\0",
            ".gitattributes",
            "e3b0c44298fc1c14-ä",
        ] {
            assert!(!is_text_name(name), "{name}");
        }
    }
}
