//! The marks by which GitLab's log viewers fold a log.

/// How a mark ends: a terminal wipes the line.
const END: &str = "\r\x1b[0K";

/// A part of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part<'t> {
    /// Text outside of marks; not empty.
    Text(&'t str),
    /// A section begins.
    Start {
        name: &'t str,
        /// Seconds since 1970.
        at: u64,
        collapsed: bool,
    },
    /// A section ends.
    End { name: &'t str, at: u64 },
}

/// Returns whether a line may hold a mark; a quick look for the many lines that hold none.
pub(crate) fn may_have_marks(line: &str) -> bool {
    !crate::text::is_plain(line) && line.contains(END)
}

/// Splits a line at its marks.
///
/// ```text
/// section_start:1560896352:name[collapsed=true]\r\x1b[0KHeader
/// section_end:1560896353:name\r\x1b[0K
/// ```
pub(crate) fn parts(line: &str) -> impl Iterator<Item = Part<'_>> {
    let mut rest = line;
    std::iter::from_fn(move || {
        let marks = rest.match_indices("section_").map(|(at, _)| at);
        let found = marks
            .into_iter()
            .find_map(|at| Some((at, mark(&rest[at..])?)));
        let (at, (part, length)) = match found {
            Some(found) => found,
            None if is_invisible(rest) => return None,
            None => return Some(Part::Text(std::mem::take(&mut rest))),
        };
        let before = &rest[..at];
        if !is_invisible(before) {
            rest = &rest[at..];
            return Some(Part::Text(before));
        }
        rest = &rest[at + length..];
        Some(part)
    })
}

/// Returns whether a text shows nothing, such as the control sequence that some scripts write before a mark.
fn is_invisible(text: &str) -> bool {
    text.is_empty() || (text.starts_with('\x1b') && crate::text::strip_controls(text).is_empty())
}

/// Returns the mark at the beginning of `text` and its length.
fn mark(text: &str) -> Option<(Part<'_>, usize)> {
    let end = text.find(END)?;
    let (kind, body) = text[..end].split_once(':')?;
    let (at, name) = body.split_once(':')?;
    let at = at.parse().ok()?;
    let (name, options) = match name.split_once('[') {
        Some((name, options)) => (name, options.strip_suffix(']')?),
        None => (name, ""),
    };
    let allowed = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    if name.is_empty() || !name.chars().all(allowed) {
        return None;
    }
    let part = match kind {
        "section_start" => Part::Start {
            name,
            at,
            collapsed: options.split(',').any(|it| it == "collapsed=true"),
        },
        "section_end" => Part::End { name, at },
        _ => return None,
    };
    Some((part, end + END.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(line: &str) -> Vec<Part<'_>> {
        parts(line).collect()
    }

    #[test]
    fn splits_lines_at_marks() {
        let start = |name, collapsed| Part::Start {
            name,
            at: 15,
            collapsed,
        };
        let end = |name| Part::End { name, at: 16 };
        let check = |line: &str, expect: &[Part<'_>]| assert_eq!(all(line), expect, "{line:?}");
        check("plain", &[Part::Text("plain")]);
        check("", &[]);
        check(
            "section_start:15:a\r\x1b[0KHeader",
            &[start("a", false), Part::Text("Header")],
        );
        check(
            "\x1b[0Ksection_start:15:a-b.c[collapsed=true]\r\x1b[0KHeader",
            &[start("a-b.c", true), Part::Text("Header")],
        );
        check(
            "section_start:15:a[hide_duration=true,collapsed=true]\r\x1b[0K",
            &[start("a", true)],
        );
        check(
            "left\x1b[0Ksection_end:16:a\r\x1b[0K\x1b[0Ksection_start:15:b\r\x1b[0KNext",
            &[
                Part::Text("left\x1b[0K"),
                end("a"),
                start("b", false),
                Part::Text("Next"),
            ],
        );
    }

    #[test]
    fn malformed_marks_are_text() {
        for line in [
            "section_start:15:a",
            "section_start:x:a\r\x1b[0K",
            "section_start:15:a b\r\x1b[0K",
            "section_start:15:\r\x1b[0K",
            "section_start:15:a[collapsed\r\x1b[0K",
            "section_other:15:a\r\x1b[0K",
        ] {
            assert_eq!(all(line), [Part::Text(line)], "{line:?}");
        }
        assert!(!may_have_marks("section_start:15:a"));
        assert!(may_have_marks("section_start:15:a\r\x1b[0K"));
    }
}
