use super::Diagnostic;
use super::excerpt::{Excerpt, Mark, groups};
use super::style::{Part, Renderer, printable};
use crate::source::{SourceMap, Span};
use std::fmt::Write as _;

impl Renderer {
    /// Returns a diagnostic as text that ends with a newline.
    pub fn render(self, diagnostic: &Diagnostic, sources: &SourceMap) -> String {
        let severity = diagnostic.severity;
        let title = format!("{}[{}]", severity.as_str(), diagnostic.code);
        let title = self.paint(Part::Severity(severity), &title);
        let message = self.paint(
            Part::Strong,
            &format!(": {}", printable(&diagnostic.sentence())),
        );
        format!("{title}{message}\n{}", self.excerpt(diagnostic, sources))
    }

    /// Returns the lines of a diagnostic with their marks, and its help, without the message; empty
    /// when it has neither.
    pub fn excerpt(self, diagnostic: &Diagnostic, sources: &SourceMap) -> String {
        let mut out = String::new();
        let is_own = |(span, _): &&(Span, String)| Some(*span) == diagnostic.span;
        let own = diagnostic.related.iter().find(is_own);
        let own = own.map_or("", |(_, words)| words);
        let primary = diagnostic.span.map(|span| {
            let severity = diagnostic.severity;
            Mark::primary(span, severity, own)
        });
        let related = diagnostic.related.iter().filter(|related| !is_own(related));
        let related = related.map(|(span, words)| Mark::related(*span, words));
        let marks: Vec<Mark<'_>> = primary.into_iter().chain(related).collect();
        let last_line = marks.iter().map(|mark| mark.span.line).max();
        let margin = last_line.map_or(1, |line| line.to_string().len());
        for (number, group) in groups(marks).into_iter().enumerate() {
            let excerpt = Excerpt {
                renderer: self,
                file: sources.file(group.file),
                margin,
            };
            excerpt.push(&mut out, &group, number == 0);
        }
        if let Some(help) = &diagnostic.help {
            if last_line.is_some() {
                let _ = writeln!(out, "{}", self.bar(margin, ""));
            }
            self.push_help(&mut out, help, margin);
        }
        out
    }

    /// Adds the help; further lines are aligned with its first.
    fn push_help(self, out: &mut String, help: &str, margin: usize) {
        let sign = format!("{:margin$} = ", "");
        let sign = self.paint(Part::Frame, &sign);
        let word = self.paint(Part::Strong, "help");
        let mut lines = help.lines();
        let first = printable(lines.next().unwrap_or_default());
        let _ = writeln!(out, "{sign}{word}: {first}");
        for line in lines {
            let _ = writeln!(out, "{:margin$}         {}", "", printable(line));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::FileId;

    /// Returns the span of `part` in a file.
    fn span_of(sources: &SourceMap, file: FileId, part: &str) -> Span {
        let text = sources.file(file).text();
        let start = text.find(part).unwrap();
        let mut span = Span::of_offset(file, text, start);
        span.end = span.start + u32::try_from(part.len()).unwrap();
        span
    }

    fn render(text: &str, part: &str) -> String {
        let mut sources = SourceMap::default();
        let file = sources.add("f.yml", text);
        let diagnostic = Diagnostic::error("code", "message").at(span_of(&sources, file, part));
        Renderer::plain().render(&diagnostic, &sources)
    }

    #[test]
    fn a_long_line_is_cut_around_the_location() {
        let text = format!("{}HERE{}", "a".repeat(5_000), "b".repeat(5_000));
        let shown = render(&text, "HERE");
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines[1], " --> f.yml:1:5001");
        assert!(lines[3].len() < 120, "{shown}");
        let caret = lines[4].find('^').unwrap();
        assert_eq!(&lines[3][caret..caret + 4], "HERE");
        assert!(lines[3].starts_with("1 | ...a") && lines[3].ends_with("b..."));
    }

    #[test]
    fn distant_locations_in_a_long_line_are_shown_in_separate_parts() {
        let mut sources = SourceMap::default();
        let text = format!("HERE{}THERE", " a".repeat(200));
        let file = sources.add("f.yml", &*text);
        let diagnostic = Diagnostic::error("code", "message")
            .at(span_of(&sources, file, "HERE"))
            .with_related(span_of(&sources, file, "THERE"), "too");
        let shown = Renderer::plain().render(&diagnostic, &sources);
        let lines: Vec<&str> = shown.lines().collect();
        let under = |line: usize, sign: &str| &lines[line][lines[line + 1].find(sign).unwrap()..];
        assert!(under(3, "^").starts_with("HERE"), "{shown}");
        assert!(under(5, "-----").starts_with("THERE"), "{shown}");
    }

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        let shown = render("a: \u{1b}[31m\u{202e}\n", "\u{1b}");
        assert!(!shown.contains(['\u{1b}', '\u{202e}']), "{shown:?}");
    }

    #[test]
    fn carets_are_aligned_below_tabs_and_wide_characters() {
        insta::assert_snapshot!(render("\ta: 日本語 # é\tHERE 日本", "HERE 日"), @r"
        error[code]: message
         --> f.yml:1:13
          |
        1 |     a: 日本語 # é    HERE 日本
          |                      ^^^^^^^
        ");
    }

    #[test]
    fn related_locations_are_in_file_order_and_grouped_by_file() {
        let mut sources = SourceMap::default();
        let own = sources.add("own.yml", "a: 1\nb:\n  c: 2\nd: 3\n\n\n\n\n\n\nlast: 4\n");
        let other = sources.add("ci/other.yml", "x: &x\n  y: z\n");
        let at = |file, part| span_of(&sources, file, part);
        let diagnostic = Diagnostic::warning("code", "message")
            .at(at(own, "last"))
            .with_related(at(other, "&x\n  y: z"), "and this")
            .with_related(at(own, "c: 2"), "second")
            .with_related(at(own, "a: 1"), "first")
            .with_help("do this\nor that".to_owned());
        let shown = Renderer::plain().render(&diagnostic, &sources);
        insta::assert_snapshot!(shown, @r"
        warning[code]: message
          --> own.yml:11:1
           |
         1 | a: 1
           | ---- first
        ...
         3 |   c: 2
           |   ---- second
        ...
        11 | last: 4
           | ^^^^
           |
          ::: ci/other.yml:1:4
           |
         1 | x: &x
           |    -- and this
           |
           = help: do this
                   or that
        ");
        let colored = Renderer::colored().render(&diagnostic, &sources);
        assert!(colored.starts_with("\u{1b}[33;1mwarning[code]\u{1b}[0m"));
    }
}
