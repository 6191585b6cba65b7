use super::excerpt::{Excerpt, Mark, groups};
use super::{Diagnostic, Severity};
use crate::source::SourceMap;
use std::fmt::Write as _;
use unicode_width::UnicodeWidthChar;

/// How many columns of a line are shown at most; longer ones are cut around the place.
const WIDEST: usize = 100;

/// How many columns a tab takes; where it stands makes no difference.
const TAB: &str = "    ";

/// Turns findings into text for people.
///
/// ```text
/// error[unknown-stage]: job `test`: there is no stage `tset`
///  --> .gitlab-ci.yml:2:10
///   |
/// 2 |   stage: tset
///   |          ^^^^
///   |
///   = help: did you mean `test`?
/// ```
///
/// Nothing of a file can steer the terminal: control characters and those that turn the order of
/// a line around are replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Renderer {
    colours: bool,
}

/// What a piece of the text is, which decides its colour.
#[derive(Debug, Clone, Copy)]
pub(super) enum Part {
    /// The title, and what marks the place.
    Severity(Severity),
    /// Numbers, bars and arrows, and the marks of other places.
    Frame,
    /// The words that matter most.
    Strong,
}

impl Renderer {
    /// Returns one without colours.
    pub fn plain() -> Self {
        Self { colours: false }
    }

    /// Returns one with colours.
    pub fn coloured() -> Self {
        Self { colours: true }
    }

    /// Returns a finding as text that ends with a newline.
    pub fn render(self, diagnostic: &Diagnostic, sources: &SourceMap) -> String {
        let severity = diagnostic.severity;
        let title = format!("{}[{}]", severity.as_str(), diagnostic.code);
        let title = self.paint(Part::Severity(severity), &title);
        let message = self.paint(
            Part::Strong,
            &format!(": {}", printable(&diagnostic.sentence())),
        );
        let mut out = format!("{title}{message}\n");

        let primary = diagnostic.span.map(|span| Mark::primary(span, severity));
        let related = diagnostic.related.iter();
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

    /// Adds the advice; further lines stand below its first.
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

    /// Returns the bar at the left of a line without a number.
    pub(super) fn bar(self, margin: usize, rest: &str) -> String {
        self.paint(Part::Frame, &format!("{:margin$} |", "")) + rest
    }

    pub(super) fn paint(self, part: Part, text: &str) -> String {
        if !self.colours {
            return text.to_owned();
        }
        let code = match part {
            Part::Severity(Severity::Error) => "31;1",
            Part::Severity(Severity::Warning) => "33;1",
            Part::Severity(Severity::Note) => "32;1",
            Part::Frame => "34;1",
            Part::Strong => "1",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

/// Replaces what could steer the terminal.
pub(super) fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\t' => shown.push_str(TAB),
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => shown.push('\u{fffd}'),
            character if character.is_control() => shown.push('\u{fffd}'),
            character => shown.push(character),
        }
    }
    shown
}

/// Returns how many columns a character takes once it is [`printable`].
pub(super) fn columns(character: char) -> usize {
    match character {
        '\t' => TAB.len(),
        character => character.width().unwrap_or(1),
    }
}

/// Returns the part of a line that is shown, given where in it the place is: all of it, or what fits
/// around the place.
pub(super) fn window(line: &str, place: usize) -> (usize, usize) {
    let fits = |text: &str, room: usize| -> Option<usize> {
        let mut taken = 0;
        let over = text.char_indices().find(|(_, character)| {
            taken += columns(*character);
            taken > room
        });
        over.map(|(at, _)| at)
    };
    // The window starts a third before the place, so that what leads to it is seen too.
    let mut start = 0;
    if fits(&line[..place], WIDEST * 2 / 3).is_some() {
        let mut taken = 0;
        let before = line[..place].char_indices().rev();
        let kept = before.take_while(|(_, character)| {
            taken += columns(*character);
            taken <= WIDEST / 3
        });
        start = kept.last().map_or(place, |(at, _)| at);
    }
    let end = fits(&line[start..], WIDEST).map_or(line.len(), |length| start + length);
    (start, end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{FileId, Span};

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
    fn a_long_line_is_cut_around_the_place() {
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
    fn places_far_apart_in_a_long_line_are_each_below_their_own_part_of_it() {
        let mut sources = SourceMap::default();
        let text = format!("HERE{}THERE", " a".repeat(200));
        let file = sources.add("f.yml", &text);
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
    fn tabs_and_wide_characters_leave_the_carets_below_the_place() {
        insta::assert_snapshot!(render("\ta: 日本語 # é\tHERE 日本", "HERE 日"), @r"
        error[code]: message
         --> f.yml:1:13
          |
        1 |     a: 日本語 # é    HERE 日本
          |                      ^^^^^^^
        ");
    }

    #[test]
    fn other_places_stand_in_the_order_of_the_file_and_other_files_by_themselves() {
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
        let coloured = Renderer::coloured().render(&diagnostic, &sources);
        assert!(coloured.starts_with("\u{1b}[33;1mwarning[code]\u{1b}[0m"));
    }
}
