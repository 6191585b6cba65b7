//! Lines with codes for colours, as the full screen draws them.

use super::log::Search;
use crate::text::columns;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use std::str::Chars;

/// What a tab moves to a multiple of.
const TAB: usize = 8;

/// Returns a cleaned line with its colours.
pub(super) fn line(text: &str) -> Line<'static> {
    let mut spans = Vec::new();
    let mut style = Style::new();
    let mut column = 0;
    let mut rest = text;
    loop {
        let (plain, behind) = rest.split_once("\x1b[").unwrap_or((rest, ""));
        if !plain.is_empty() {
            let plain = without_tabs(plain, &mut column);
            spans.push(Span::styled(plain, style));
        }
        let Some((codes, behind)) = behind.split_once('m') else {
            return Line::from(spans);
        };
        style = changed(style, codes);
        rest = behind;
    }
}

fn without_tabs(text: &str, column: &mut usize) -> String {
    let mut out = String::with_capacity(text.len());
    for piece in text.split_inclusive('\t') {
        let plain = piece.strip_suffix('\t').unwrap_or(piece);
        out.push_str(plain);
        *column += columns(plain);
        if plain.len() < piece.len() {
            let gap = TAB - *column % TAB;
            out.extend(std::iter::repeat_n(' ', gap));
            *column += gap;
        }
    }
    out
}

/// Returns the style after codes such as `1;31`.
fn changed(mut style: Style, codes: &str) -> Style {
    let mut codes = codes
        .split([';', ':'])
        .map(|code| code.parse().unwrap_or(0));
    while let Some(code) = codes.next() {
        let code: u8 = code;
        style = match code {
            0 => Style::new(),
            1 => style.add_modifier(Modifier::BOLD),
            2 => style.add_modifier(Modifier::DIM),
            3 => style.add_modifier(Modifier::ITALIC),
            4 => style.add_modifier(Modifier::UNDERLINED),
            7 => style.add_modifier(Modifier::REVERSED),
            9 => style.add_modifier(Modifier::CROSSED_OUT),
            22 => style.remove_modifier(Modifier::BOLD | Modifier::DIM),
            23 => style.remove_modifier(Modifier::ITALIC),
            24 => style.remove_modifier(Modifier::UNDERLINED),
            27 => style.remove_modifier(Modifier::REVERSED),
            29 => style.remove_modifier(Modifier::CROSSED_OUT),
            30..=37 => style.fg(Color::Indexed(code - 30)),
            40..=47 => style.bg(Color::Indexed(code - 40)),
            90..=97 => style.fg(Color::Indexed(code - 90 + 8)),
            100..=107 => style.bg(Color::Indexed(code - 100 + 8)),
            39 => style.fg(Color::Reset),
            49 => style.bg(Color::Reset),
            38 => extended(&mut codes).map_or(style, |colour| style.fg(colour)),
            48 => extended(&mut codes).map_or(style, |colour| style.bg(colour)),
            _ => style,
        };
    }
    style
}

/// Returns the colour that `38` or `48` announces.
fn extended(codes: &mut impl Iterator<Item = u8>) -> Option<Color> {
    match codes.next()? {
        5 => Some(Color::Indexed(codes.next()?)),
        2 => Some(Color::Rgb(codes.next()?, codes.next()?, codes.next()?)),
        _ => None,
    }
}

/// Returns the line with the hits of a search marked.
pub(super) fn marked(line: Line<'static>, search: &Search) -> Line<'static> {
    let text: String = line.spans.iter().map(|span| &*span.content).collect();
    let hits = search.hits(&text);
    if hits.is_empty() {
        return line;
    }
    let is_hit = |at: usize| hits.iter().any(|(start, end)| (*start..*end).contains(&at));
    let mut spans: Vec<Span<'static>> = Vec::new();
    let mut at = 0;
    for span in &line.spans {
        for c in span.content.chars() {
            let style = if is_hit(at) {
                span.style.add_modifier(Modifier::REVERSED | Modifier::BOLD)
            } else {
                span.style
            };
            push(&mut spans, c, style);
            at += c.len_utf8();
        }
    }
    Line { spans, ..line }
}

/// Returns the line without its first columns.
pub(super) fn shifted(line: Line<'static>, mut by: usize) -> Line<'static> {
    if by == 0 {
        return line;
    }
    let mut spans: Vec<Span<'static>> = Vec::new();
    for span in &line.spans {
        let mut chars = span.content.chars();
        by -= skip(&mut chars, by);
        let rest = chars.as_str();
        if !rest.is_empty() {
            spans.push(Span::styled(rest.to_owned(), span.style));
        }
    }
    Line { spans, ..line }
}

/// Skips characters of so many columns, and returns how many were skipped.
fn skip(chars: &mut Chars<'_>, by: usize) -> usize {
    let mut skipped = 0;
    while skipped < by {
        let Some(c) = chars.next() else {
            break;
        };
        skipped += columns(c.encode_utf8(&mut [0; 4]));
    }
    skipped.min(by)
}

/// Returns the line broken into several of a width, no more than `most`.
pub(super) fn wrapped(line: &Line<'static>, width: usize, most: usize) -> Vec<Line<'static>> {
    let style = line.style;
    let mut lines = Vec::new();
    let mut spans: Vec<Span<'static>> = Vec::new();
    let mut taken = 0;
    'all: for span in &line.spans {
        for c in span.content.chars() {
            let wide = columns(c.encode_utf8(&mut [0; 4]));
            if taken + wide > width && taken > 0 {
                lines.push(Line::from(std::mem::take(&mut spans)).style(style));
                taken = 0;
                if lines.len() == most {
                    break 'all;
                }
            }
            taken += wide;
            push(&mut spans, c, span.style);
        }
    }
    if !spans.is_empty() || lines.is_empty() {
        lines.push(Line::from(spans).style(style));
    }
    lines
}

fn push(spans: &mut Vec<Span<'static>>, c: char, style: Style) {
    match spans.last_mut() {
        Some(last) if last.style == style => last.content.to_mut().push(c),
        _ => spans.push(Span::styled(c.to_string(), style)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(lines: &[Line<'_>]) -> Vec<String> {
        lines.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn codes_become_colours() {
        let found = line("a\x1b[31;1mred\x1b[0m \x1b[38;5;200mx\x1b[48;2;1;2;3my\x1b[mz\x1b[");
        let looks: Vec<_> = found
            .spans
            .iter()
            .map(|it| (&*it.content, it.style))
            .collect();
        let plain = Style::new();
        let pink = plain.fg(Color::Indexed(200));
        let expect = [
            ("a", plain),
            (
                "red",
                plain.fg(Color::Indexed(1)).add_modifier(Modifier::BOLD),
            ),
            (" ", plain),
            ("x", pink),
            ("y", pink.bg(Color::Rgb(1, 2, 3))),
            ("z", plain),
        ];
        assert_eq!(looks, expect);
        assert_eq!(line("a\tb").to_string(), "a       b");
    }

    #[test]
    fn lines_are_shifted_and_wrapped_by_columns() {
        let check = |text: &str, by, shifted_to: &str, width, lines: &[&str]| {
            assert_eq!(shifted(line(text), by).to_string(), shifted_to);
            assert_eq!(texts(&wrapped(&line(text), width, 3)), lines);
        };
        check("abcdef", 2, "cdef", 4, &["abcd", "ef"]);
        check("日本語", 2, "本語", 5, &["日本", "語"]);
        check("a\x1b[31mbcd", 2, "cd", 3, &["abc", "d"]);
        check("", 3, "", 3, &[""]);
        check("abcdefghij", 20, "", 2, &["ab", "cd", "ef"]);
        check("日本", 1, "本", 1, &["日", "本"]);
    }

    #[test]
    fn hits_stand_out() {
        let found = marked(line("an \x1b[31merror"), &Search::new("n er"));
        let reversed: String = found
            .spans
            .iter()
            .filter(|span| span.style.add_modifier.contains(Modifier::REVERSED))
            .map(|span| &*span.content)
            .collect();
        assert_eq!(reversed, "n er");
    }
}
