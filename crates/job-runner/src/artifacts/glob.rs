//! Patterns of file names with the rules of Go's package doublestar, as in GitLab Runner.

use regex::{Regex, RegexBuilder};
use std::fmt::Write;
use std::path::Path;

/// The largest size of a compiled pattern.
const LARGEST: usize = 10 << 20;
/// The longest pattern in bytes.
const LONGEST: usize = 16 << 10;

/// A pattern for paths.
///
/// Names are compared by characters; each invalid byte sequence in a name counts as one character.
#[derive(Debug)]
pub(super) struct Glob {
    regex: Regex,
}

impl Glob {
    /// Reads a pattern.
    ///
    /// # Errors
    ///
    /// The problem, to be appended to the pattern.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let too_large = || "is too large".to_owned();
        if text.len() > LONGEST {
            return Err(too_large());
        }
        let mut reader = Reader {
            rest: text.chars().collect(),
            at: 0,
            regex: String::from("^(?:"),
            depth: 0,
        };
        reader
            .all()
            .map_err(|reason| format!("is not a valid pattern: {reason}"))?;
        reader.regex.push_str(")$");
        let mut builder = RegexBuilder::new(&reader.regex);
        let built = builder
            .dot_matches_new_line(true)
            .size_limit(LARGEST)
            .build();
        let regex = built.map_err(|_| too_large())?;
        Ok(Self { regex })
    }

    pub(super) fn is_match(&self, path: &Path) -> bool {
        self.regex.is_match(&path.to_string_lossy())
    }
}

/// Turns a pattern into a regular expression.
#[derive(Debug)]
struct Reader {
    rest: Vec<char>,
    at: usize,
    regex: String,
    /// The number of open braces.
    depth: usize,
}

impl Reader {
    fn all(&mut self) -> Result<(), &'static str> {
        while let Some(next) = self.next() {
            match next {
                '*' => self.stars(),
                // A pattern for all entries of a directory matches the directory too.
                '/' => match self.end_of_any_below(self.at) {
                    Some(end) => {
                        self.at = end;
                        self.regex.push_str("(?:/.+)?");
                    }
                    None => self.regex.push('/'),
                },
                '?' => self.regex.push_str("[^/]"),
                '[' => self.class()?,
                '{' => {
                    self.depth += 1;
                    self.regex.push_str("(?:");
                }
                ',' if self.depth > 0 => self.regex.push('|'),
                '}' if self.depth > 0 => {
                    self.depth -= 1;
                    self.regex.push(')');
                }
                '}' => return Err("a closing brace has no opening one"),
                '\\' => {
                    let plain = self.next().ok_or("nothing follows the last backslash")?;
                    self.literal(plain);
                }
                plain => self.literal(plain),
            }
        }
        match self.depth {
            0 => Ok(()),
            _ => Err("a brace is not closed"),
        }
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek(0)?;
        self.at += 1;
        Some(next)
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.rest.get(self.at + ahead).copied()
    }

    fn literal(&mut self, plain: char) {
        let mut bytes = [0; 4];
        self.regex
            .push_str(&regex::escape(plain.encode_utf8(&mut bytes)));
    }

    /// Returns whether `**` at `at` is a whole path component.
    fn is_any(&self, at: usize) -> bool {
        let before = at.checked_sub(1).map(|before| self.rest[before]);
        let begins = match before {
            None | Some('/') => true,
            Some('{' | ',') => self.depth > 0,
            _ => false,
        };
        let stars = self.rest.get(at..at + 2) == Some(&['*', '*']);
        begins && stars && (self.rest.get(at + 2) == Some(&'/') || self.ends(at + 2))
    }

    /// Returns the end of a final `**` at `at`, if nothing else follows it.
    fn end_of_any_below(&self, mut at: usize) -> Option<usize> {
        while self.is_any(at) {
            if self.ends(at + 2) {
                return Some(at + 2);
            }
            at += 3;
        }
        None
    }

    /// Returns whether the pattern, or an alternative of it, ends at `at`.
    fn ends(&self, at: usize) -> bool {
        match self.rest.get(at) {
            None => true,
            Some(',' | '}') => self.depth > 0,
            _ => false,
        }
    }

    /// Continues after a star.
    fn stars(&mut self) {
        if self.is_any(self.at - 1) {
            self.at += 1;
            if self.peek(0) == Some('/') && self.end_of_any_below(self.at + 1).is_none() {
                self.at += 1;
                self.regex.push_str("(?:[^/]+/)*");
            } else {
                self.regex.push_str(".*");
            }
            return;
        }
        while self.peek(0) == Some('*') {
            self.at += 1;
        }
        self.regex.push_str("[^/]*");
    }

    /// Reads a class after its opening bracket. It never matches the slash.
    fn class(&mut self) -> Result<(), &'static str> {
        const OPEN: &str = "a bracket is not closed";
        let is_other = matches!(self.peek(0), Some('^' | '!'));
        self.at += usize::from(is_other);
        if self.peek(0) == Some(']') {
            return Err("the brackets are empty");
        }
        let mut ranges = String::new();
        loop {
            let from = match self.next().ok_or(OPEN)? {
                ']' => break,
                '\\' => self.next().ok_or(OPEN)?,
                plain => plain,
            };
            let is_range = self.peek(0) == Some('-') && !matches!(self.peek(1), None | Some(']'));
            let to = if is_range {
                self.at += 1;
                match self.next().ok_or(OPEN)? {
                    '\\' => self.next().ok_or(OPEN)?,
                    plain => plain,
                }
            } else {
                from
            };
            // A reversed range is empty.
            if from <= to {
                let (from, to) = (u32::from(from), u32::from(to));
                // Writing to a string does not fail.
                let _ = write!(ranges, "\\u{{{from:x}}}-\\u{{{to:x}}}");
            }
        }
        self.regex.push_str(match (ranges.is_empty(), is_other) {
            (true, true) => "[^/]",
            // The complement of an empty class is every character.
            (true, false) => "[^\\u{0}-\\u{10FFFF}]",
            (false, true) => "[^/",
            (false, false) => "[[",
        });
        if !ranges.is_empty() {
            self.regex.push_str(&ranges);
            self.regex.push_str(if is_other { "]" } else { "]&&[^/]]" });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    fn check(pattern: &str, names: &[&str], others: &[&str]) {
        let glob = Glob::parse(pattern).expect(pattern);
        for name in names {
            assert!(glob.is_match(Path::new(name)), "{pattern} {name}");
        }
        for name in others {
            assert!(!glob.is_match(Path::new(name)), "{pattern} not {name}");
        }
    }

    #[test]
    fn characters_are_not_bytes() {
        check("?.txt", &["a.txt", "ä.txt", "✓.txt"], &["ab.txt", "/.txt"]);
        check("[ä].txt", &["ä.txt"], &["a.txt"]);
        check("[а-я]*", &["да", "я"], &["z"]);
        check("[^ä]", &["a", "ö"], &["ä", "/", "ab"]);
        let odd = Path::new(OsStr::from_bytes(b"a\xff.txt"));
        assert!(Glob::parse("a?.*").expect("a pattern").is_match(odd));
        check("*.txt", &["new\nline.txt", ".txt"], &["a/.txt"]);
    }

    #[test]
    fn double_stars_match_any_directories() {
        check("**", &["a", "a/b"], &[]);
        check("**/a", &["a", "b/a", "b/c/a"], &["ba", "a/b"]);
        check("a/**", &["a", "a/b", "a/b/c"], &["ab", "b/a"]);
        check("a/**/**", &["a", "a/b"], &["b"]);
        check("**/**/a", &["a", "b/a", "b/c/a"], &["b"]);
        check("**/**", &["a", "a/b/c"], &[]);
        check("a/**/b", &["a/b", "a/c/b", "a/c/d/b"], &["a/cb", "ab"]);
        check("{a/**,b}", &["a", "a/c", "b"], &["b/c"]);
        check("{**/a,b}/c", &["a/c", "x/a/c", "b/c"], &["x/b/c"]);
        check("{a,b/c}/**/*.o", &["a/x.o", "b/c/d/x.o"], &["b/x.o"]);
        check("a**", &["a", "abc"], &["a/b"]);
        check("**a/b", &["xa/b"], &["x/a/b"]);
        check("a,**", &["a,b"], &["a,b/c"]);
    }

    #[test]
    fn backslashes_and_classes_take_characters_as_they_are() {
        check(r"st\*r", &["st*r"], &["star"]);
        check(r"\{a,b\}", &["{a,b}"], &["a"]);
        check(r"[\]x]", &["]", "x"], &["\\"]);
        check("[a-]", &["a", "-"], &["b"]);
        check("[.-z]", &["a", "0"], &["/"]);
        check("[z-a]", &[], &["a", "m", "z"]);
        check("[^z-a]", &["m"], &["/"]);
        check("[[:a]", &["[", ":"], &["b"]);
        check("[a&&b~~]", &["&", "b", "~"], &["c"]);
        check("a.(b)+", &["a.(b)+"], &["axb"]);
        check("a,b", &["a,b"], &["a"]);
        check("a{,.gz}", &["a", "a.gz"], &["a."]);
        check("{a,{b,c}d}", &["a", "bd", "cd"], &["d"]);
    }

    #[test]
    fn invalid_patterns_are_named() {
        for (pattern, reason) in [
            ("[a", "a bracket is not closed"),
            ("[]", "the brackets are empty"),
            ("[^]a]", "the brackets are empty"),
            ("[a-", "a bracket is not closed"),
            ("{a", "a brace is not closed"),
            ("a}", "a closing brace has no opening one"),
            ("a\\", "nothing follows the last backslash"),
        ] {
            let error = Glob::parse(pattern).expect_err(pattern);
            assert_eq!(
                error,
                format!("is not a valid pattern: {reason}"),
                "{pattern}"
            );
        }
        let deep = [&*"{".repeat(1_000), &*"}".repeat(1_000)].concat();
        for large in ["a".repeat(LONGEST + 1), deep] {
            let error = Glob::parse(&large).expect_err("refused");
            assert_eq!(error, "is too large");
        }
    }
}
