use std::borrow::Cow;
use std::fmt;

/// The key of a cache, ready for a store: cleaned, and with a form that may be shown.
#[derive(Clone, PartialEq, Eq)]
pub struct CacheKey {
    text: String,
    shown: String,
}

/// The end of the keys that jobs of protected refs have.
const PROTECTED: &str = "-protected";

impl CacheKey {
    /// Cleans a key as the runner does, so that it could be a path and lead nowhere: `%2e`, `%2f` and
    /// backslashes are what they stand for, `.` and `..` go, and so do spaces at the end.
    ///
    /// `None` when nothing is left of it.
    pub fn new(text: &str) -> Option<Self> {
        let text = clean(text)?;
        let shown = short(&text).into_owned();
        Some(Self { text, shown })
    }

    /// Shows these words in the place of the key, where it holds what nobody may read.
    pub fn shown_as(mut self, shown: &str) -> Self {
        self.shown = short(shown).into_owned();
        self
    }

    /// Returns the key itself. It may hold the values of variables; nothing but its digest leaves the
    /// process.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the words for it in logs and lists; of a long one its beginning.
    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// Returns whether it is one that a server gives to jobs of protected refs alone.
    pub fn is_reserved(&self) -> bool {
        self.text.to_ascii_lowercase().ends_with(PROTECTED)
    }
}

impl fmt::Debug for CacheKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CacheKey").field(&self.shown).finish()
    }
}

/// How many characters of a key are shown.
const MOST_SHOWN: usize = 200;

/// Returns a key as it is shown, cut if it is long.
pub(super) fn short(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(MOST_SHOWN) {
        Some((end, _)) => Cow::Owned(format!("{}...", &text[..end])),
        None => Cow::Borrowed(text),
    }
}

fn clean(text: &str) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    let decoded = decode(text);
    for part in decoded.split('/') {
        match part.trim_end() {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    let cleaned = parts.join("/");
    (!cleaned.is_empty()).then_some(cleaned)
}

/// Replaces what stands for a dot or a slash. Nothing that comes of it stands for another one.
fn decode(text: &str) -> String {
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['%', '\\']) {
        let (before, escape) = rest.split_at(at);
        decoded.push_str(before);
        let word = escape.get(..3).unwrap_or_default().to_ascii_lowercase();
        let (meant, length) = match word.as_str() {
            "%2e" => ('.', 3),
            "%2f" | "%5c" => ('/', 3),
            _ if escape.starts_with('\\') => ('/', 1),
            _ => ('%', 1),
        };
        decoded.push(meant);
        rest = &escape[length..];
    }
    decoded.push_str(rest);
    decoded
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: Option<&str>) {
        let key = CacheKey::new(text);
        assert_eq!(key.as_ref().map(CacheKey::text), expect, "of {text:?}");
    }

    #[test]
    fn keys_are_cleaned_or_refused() {
        check("default", Some("default"));
        check("a/b", Some("a/b"));
        check("job name/feature", Some("job name/feature"));
        check("../x", Some("x"));
        check("../../etc/passwd", Some("etc/passwd"));
        check("/abs//key/", Some("abs/key"));
        check("a\\..\\b", Some("b"));
        check("a%2F..%5Cb", Some("b"));
        check("%2e%2e%2fx", Some("x"));
        check("%252e%252e%252Fx", Some("%252e%252e%252Fx"));
        check("%2%65", Some("%2%65"));
        check("%%2e2e/x", Some("%.2e/x"));
        check("x ", Some("x"));
        check("x-protected \t", Some("x-protected"));
        check("a..b", Some("a..b"));
        check("...", Some("..."));
        check("50%", Some("50%"));
        check("ключ-é", Some("ключ-é"));
        for nothing in [
            "",
            " ",
            ".",
            "..",
            "%2e%2E",
            "%2e%2e%2f",
            "../..",
            "a/../..",
            "/",
            "\\",
            ". /",
        ] {
            check(nothing, None);
        }
        let long = "k".repeat(4096);
        check(&long, Some(&long));
    }

    #[test]
    fn protected_keys_are_known_however_they_are_written() {
        for (text, expect) in [
            ("x-protected", true),
            ("x-protected ", true),
            ("x-Protected", true),
            ("x%2f-protected", true),
            ("x-protected/.", true),
            ("x-protected%2f", true),
            ("a/protected", false),
            ("x-non_protected", false),
            ("x-protected-2", false),
        ] {
            let key = CacheKey::new(text).expect("a key");
            assert_eq!(key.is_reserved(), expect, "of {text:?}");
        }
    }

    #[test]
    fn of_a_long_key_its_beginning_is_shown() {
        let long = "\u{fc}".repeat(300);
        let key = CacheKey::new(&long).expect("a key");
        let expect = format!("{}...", "\u{fc}".repeat(200));
        assert_eq!((key.text(), key.shown()), (&*long, &*expect));
        assert_eq!(key.shown_as(&long).shown(), expect);
        let key = CacheKey::new("k").expect("a key");
        assert_eq!(key.shown(), "k");
    }

    #[test]
    fn a_secret_in_a_key_is_not_shown() {
        let key = CacheKey::new("a-hunter2").expect("a key");
        let key = key.shown_as("a-[MASKED]");
        assert!(!format!("{key:?}").contains("hunter2"));
    }
}
