use pipeline::Diagnostic;
use std::ops::Range;
use yaml::source::{FileId, Span};

/// One `NAME=value` of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Assignment {
    pub(crate) name: String,
    pub(crate) value: String,
    /// The location of the name.
    pub(crate) span: Span,
}

/// Parses lines of `NAME=value`. Returns the valid ones and errors for the others.
///
/// Comments start with `#`; `export` before a name is ignored. A value in single, double or back quotes may span
/// lines. In double quotes, `\n`, `\r` and `\t` are a line break, a carriage return and a tab. Variables are not
/// expanded.
pub(crate) fn parse(file: FileId, text: &str) -> (Vec<Assignment>, Vec<Diagnostic>) {
    let mut assignments = Vec::new();
    let mut errors = Vec::new();
    let mut offset = 0;
    let mut spans = Spans {
        file,
        text,
        counted: 0,
        line: 1,
    };
    while offset < text.len() {
        let line_end = end_of_line(text, offset);
        let line = &text[offset..line_end];
        let begin = offset + line.len() - line.trim_start().len();
        offset = line_end + 1;
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let exported = line.strip_prefix("export ").map(str::trim_start);
        let rest = exported.unwrap_or(line);
        let begin = begin + line.len() - rest.len();
        let Some((name, _)) = rest.split_once('=') else {
            let message = "expected `NAME=value`";
            errors.push(
                Diagnostic::error("invalid-dotenv", message)
                    .at(spans.span(begin..line_end))
                    .with_help("write `NAME=value`, or `#` before a comment".to_owned()),
            );
            continue;
        };
        let value_at = begin + name.len() + 1;
        let name = name.trim_end();
        let span = spans.span(begin..begin + name.len());
        match value(text, value_at, line_end) {
            Ok((value, end)) => {
                offset = offset.max(end);
                let name = name.to_owned();
                assignments.push(Assignment { name, value, span });
            }
            Err(quote) => {
                let message = format!("the value of {name:?} has no closing quote");
                let error = Diagnostic::error("invalid-dotenv", message);
                errors.push(error.at(spans.span(quote..quote + 1)));
            }
        }
    }
    (assignments, errors)
}

/// Finds the locations in a text, from start to end, so that each line is counted once.
struct Spans<'t> {
    file: FileId,
    text: &'t str,
    /// Up to where lines are counted.
    counted: usize,
    line: usize,
}

impl Spans<'_> {
    fn span(&mut self, range: Range<usize>) -> Span {
        let passed = self.text[self.counted..range.start].bytes();
        self.line += passed.filter(|&byte| byte == b'\n').count();
        self.counted = range.start;
        let before = &self.text[..range.start];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        // Files are far shorter than the range of the fields.
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        Span {
            file: self.file,
            line: number(self.line),
            column: number(before[line_start..].chars().count() + 1),
            start: number(range.start),
            end: number(range.end),
        }
    }
}

/// Parses the value at `start` of a line that ends at `line_end`. Returns it with the start of the next line, or
/// the position of an unclosed quote.
fn value(text: &str, start: usize, line_end: usize) -> Result<(String, usize), usize> {
    let line = &text[start..line_end];
    let plain = line.trim_start();
    let start = start + line.len() - plain.len();
    let Some(quote @ ('"' | '\'' | '`')) = plain.chars().next() else {
        let without_comment = plain.split_once(" #").map_or(plain, |(value, _)| value);
        let is_comment = plain.starts_with('#');
        let value = if is_comment { "" } else { without_comment };
        return Ok((value.trim_end().to_owned(), line_end + 1));
    };
    let inner = &text[start + 1..];
    let length = closing_quote(inner, quote).ok_or(start)?;
    let value = &inner[..length];
    let value = if quote == '"' {
        unescaped(value)
    } else {
        value.to_owned()
    };
    let end = start + 1 + length + 1;
    Ok((value, end_of_line(text, end) + 1))
}

fn closing_quote(text: &str, quote: char) -> Option<usize> {
    let mut escaped = false;
    text.char_indices().find_map(|(at, c)| {
        let closes = c == quote && !escaped;
        escaped = c == '\\' && !escaped && quote == '"';
        closes.then_some(at)
    })
}

fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        match (c, characters.clone().next()) {
            ('\\', Some(escaped @ ('n' | 'r' | 't' | '"' | '\\'))) => {
                characters.next();
                plain.push(match escaped {
                    'n' => '\n',
                    'r' => '\r',
                    't' => '\t',
                    other => other,
                });
            }
            _ => plain.push(c),
        }
    }
    plain
}

fn end_of_line(text: &str, from: usize) -> usize {
    let rest = text.get(from..).unwrap_or_default();
    rest.find('\n').map_or(text.len(), |length| from + length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pipeline::Diagnostics;

    fn read(text: &str) -> (Vec<Assignment>, Vec<Diagnostic>) {
        let (_, file) = Diagnostics::of_private_file("v.env", text);
        parse(file, text)
    }

    fn check(text: &str, expect: &[(&str, &str)]) {
        let (assignments, errors) = read(text);
        assert!(errors.is_empty(), "{errors:?} in {text:?}");
        let pairs: Vec<(&str, &str)> = assignments
            .iter()
            .map(|it| (it.name.as_str(), it.value.as_str()))
            .collect();
        assert_eq!(pairs, expect, "of {text:?}");
    }

    #[test]
    fn values_are_plain_or_quoted() {
        check(
            "A=1\r\n\n# no\nexport B = two words \n",
            &[("A", "1"), ("B", "two words")],
        );
        check(
            "A=1 # remark\nB=a#b\nC=#none\nD=",
            &[("A", "1"), ("B", "a#b"), ("C", ""), ("D", "")],
        );
        check("A='x\\n\"' # remark\nB=`'`", &[("A", "x\\n\""), ("B", "'")]);
        check("A=\"x\\n\\\"y\\\\\"\nB=é", &[("A", "x\n\"y\\"), ("B", "é")]);
        check(
            "A=\"first\nsecond\"\nB=1",
            &[("A", "first\nsecond"), ("B", "1")],
        );
        check("A=$(rm -rf /)`;\"'\\", &[("A", "$(rm -rf /)`;\"'\\")]);
        check("A=b=c", &[("A", "b=c")]);
    }

    #[test]
    fn errors_have_locations_and_other_lines_are_read() {
        let (assignments, errors) = read("A=1\n  nonsense\nB=\"open\nC=3");
        let locations: Vec<_> = errors
            .iter()
            .map(|it| it.span.map(|span| (span.line, span.column)))
            .collect();
        assert_eq!(locations, [Some((2, 3)), Some((3, 3))]);
        let names: Vec<_> = assignments.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["A", "C"]);
    }
}
