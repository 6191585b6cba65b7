use std::borrow::Cow;
use std::fmt;

/// The key of a cache, cleaned for a store, with a text that may be shown.
#[derive(Clone, PartialEq, Eq)]
pub struct CacheKey {
    text: String,
    shown: String,
}

/// The suffix of the keys for jobs of protected refs.
const PROTECTED: &str = "-protected";

impl CacheKey {
    /// Cleans a key as GitLab Runner does, so that it is safe as a path: it decodes `%2e` and `%2f`, turns
    /// backslashes into slashes, and removes `.`, `..` and trailing spaces.
    ///
    /// Returns `None` when the key is then empty.
    pub fn new(text: &str) -> Option<Self> {
        let text = clean(text)?;
        let shown = short(&text).into_owned();
        Some(Self { text, shown })
    }

    /// Sets the text to show when the key has masked values.
    pub fn shown_as(mut self, shown: &str) -> Self {
        self.shown = short(shown).into_owned();
        self
    }

    /// Returns the key. It may have secret values of variables: only its digest may leave the process, and the name of
    /// an object in the operator's own bucket.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the text for logs and lists, shortened if it is long.
    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// Returns whether a GitLab server reserves such keys for jobs of protected refs.
    pub fn is_reserved(&self) -> bool {
        self.text.to_ascii_lowercase().ends_with(PROTECTED)
    }
}

impl fmt::Debug for CacheKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CacheKey").field(&self.shown).finish()
    }
}

/// The number of characters of a key that are shown.
const MOST_SHOWN: usize = 200;

/// Returns a key as it is shown, shortened if it is long.
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

/// Decodes dots and slashes. The result has no encoded dots or slashes.
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
    fn protected_keys_are_detected_in_all_spellings() {
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
    fn long_keys_are_shortened() {
        let long = "\u{fc}".repeat(300);
        let key = CacheKey::new(&long).expect("a key");
        let expect = format!("{}...", "\u{fc}".repeat(200));
        assert_eq!((key.text(), key.shown()), (&*long, &*expect));
        assert_eq!(key.shown_as(&long).shown(), expect);
        let key = CacheKey::new("k").expect("a key");
        assert_eq!(key.shown(), "k");
    }

    #[test]
    fn secrets_in_a_key_are_not_shown() {
        let key = CacheKey::new("a-hunter2").expect("a key");
        let key = key.shown_as("a-[MASKED]");
        assert!(!format!("{key:?}").contains("hunter2"));
    }
}
