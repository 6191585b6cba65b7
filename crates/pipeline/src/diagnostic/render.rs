use super::{Diagnostic, Severity};
use crate::source::{SourceMap, Span};
use std::fmt::Write as _;

/// How many characters of a line are shown at most; longer ones are cut around the place.
const WIDEST: usize = 100;

/// Returns a finding as text: the place, what is the matter, the line, a caret, and the help.
pub(super) fn render(diagnostic: &Diagnostic, sources: &SourceMap) -> String {
    let mut out = String::new();
    let severity = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    if let Some(span) = diagnostic.span {
        let _ = write!(out, "{}: ", place(span, sources));
    }
    let _ = writeln!(
        out,
        "{severity}[{}]: {}",
        diagnostic.code,
        printable(&diagnostic.message)
    );
    if let Some(span) = diagnostic.span {
        push_excerpt(&mut out, span, sources);
    }
    for (span, words) in &diagnostic.related {
        let _ = writeln!(out, "  {}: {}", place(*span, sources), printable(words));
        push_excerpt(&mut out, *span, sources);
    }
    if let Some(help) = &diagnostic.help {
        let _ = writeln!(out, "  help: {}", printable(help));
    }
    out
}

fn place(span: Span, sources: &SourceMap) -> String {
    let name = sources.file(span.file).name();
    format!("{}:{}:{}", printable(name), span.line, span.column)
}

/// Adds the line of `span` and, under it, carets below the part the span covers.
fn push_excerpt(out: &mut String, span: Span, sources: &SourceMap) {
    let (line_start, line) = sources.file(span.file).line_around(span.start as usize);
    let from = (span.start as usize - line_start).min(line.len());
    let to = (span.end as usize).saturating_sub(line_start);
    let to = to.clamp(from, line.len());
    let before = line[..from].chars().count();
    let covered = line[from..to].chars().count();

    // The window starts a third before the place, so that what leads to it is seen too.
    let skipped = if before > WIDEST * 2 / 3 {
        before - WIDEST / 3
    } else {
        0
    };
    let shown: String = line.chars().skip(skipped).take(WIDEST).collect();
    let number = span.line.to_string();
    let margin = " ".repeat(number.len());
    let indent = " ".repeat(before - skipped);
    let carets = "^".repeat(covered.min(WIDEST.saturating_sub(before - skipped)).max(1));
    let _ = writeln!(out, "  {number} | {}", printable(&shown));
    let _ = writeln!(out, "  {margin} | {indent}{carets}");
}

/// Replaces control characters, so that a text from a file cannot steer the terminal.
fn printable(text: &str) -> String {
    let shown = |character: char| match character {
        '\t' => ' ',
        character if character.is_control() => '\u{fffd}',
        character => character,
    };
    text.chars().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_cut_around_the_place() {
        let mut sources = SourceMap::default();
        let text = format!("{}HERE{}", "a".repeat(5_000), "b".repeat(5_000));
        let file = sources.add("f.yml", text);
        let span = Span {
            file,
            line: 1,
            column: 5_001,
            start: 5_000,
            end: 5_004,
        };
        let shown = render(&Diagnostic::error("code", "message").at(span), &sources);
        let lines: Vec<&str> = shown.lines().collect();
        assert!(lines[1].len() < 120, "{shown}");
        let caret = lines[2].find('^').unwrap();
        assert_eq!(&lines[1][caret..caret + 4], "HERE");
    }

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        let mut sources = SourceMap::default();
        let file = sources.add("f.yml", "a: \u{1b}[31m\n");
        let span = Span::of_offset(file, sources.file(file).text(), 3);
        let diagnostic = Diagnostic::error("code", "bad \u{7}").at(span);
        assert!(!render(&diagnostic, &sources).contains(['\u{1b}', '\u{7}']));
    }
}
