use super::Severity;
use super::style::{Part, Renderer, columns, printable, window};
use crate::source::{FileId, SourceFile, Span};
use std::fmt::Write as _;

/// A marked location, with a label.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark<'d> {
    pub(super) span: Span,
    part: Part,
    underline: char,
    label: &'d str,
}

impl<'d> Mark<'d> {
    /// Returns the mark of a diagnostic's own location.
    pub(super) fn primary(span: Span, severity: Severity, label: &'d str) -> Self {
        Self {
            span,
            part: Part::Severity(severity),
            underline: '^',
            label,
        }
    }

    /// Returns the mark of a related location.
    pub(super) fn related(span: Span, label: &'d str) -> Self {
        Self {
            span,
            part: Part::Frame,
            underline: '-',
            label,
        }
    }
}

/// The marks in one file, by line; `head` is the location in the group's header.
#[derive(Debug)]
pub(super) struct Group<'d> {
    pub(super) file: FileId,
    head: Span,
    marks: Vec<Mark<'d>>,
}

/// Groups the marks by file, in the order of each file's first mark.
pub(super) fn groups(marks: Vec<Mark<'_>>) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for mark in marks {
        let file = mark.span.file;
        match groups.iter_mut().find(|group| group.file == file) {
            Some(group) => group.marks.push(mark),
            None => groups.push(Group {
                file,
                head: mark.span,
                marks: vec![mark],
            }),
        }
    }
    for group in &mut groups {
        let position = |mark: &Mark<'_>| (mark.span.line, mark.span.column);
        group.marks.sort_by_key(position);
    }
    groups
}

/// Shows lines of one file with marks below them.
#[derive(Debug)]
pub(super) struct Excerpt<'s> {
    pub(super) renderer: Renderer,
    pub(super) file: &'s SourceFile,
    /// The width of line numbers, in columns.
    pub(super) margin: usize,
}

impl Excerpt<'_> {
    /// Adds the header, and the lines with their marks.
    pub(super) fn push(&self, out: &mut String, group: &Group<'_>, is_first: bool) {
        let margin = self.margin;
        if !is_first {
            let _ = writeln!(out, "{}", self.renderer.bar(margin, ""));
        }
        let arrow = if is_first { "--> " } else { "::: " };
        let arrow = self
            .renderer
            .paint(Part::Frame, &format!("{:margin$}{arrow}", ""));
        let name = printable(self.file.name());
        let Span { line, column, .. } = group.head;
        let _ = writeln!(out, "{arrow}{name}:{line}:{column}");
        if self.file.is_private() {
            return;
        }
        let _ = writeln!(out, "{}", self.renderer.bar(margin, ""));
        let mut shown: Option<Shown> = None;
        for mark in &group.marks {
            let line = mark.span.line;
            if shown.is_some_and(|shown| line > shown.line + 1) {
                let _ = writeln!(out, "{}", self.renderer.paint(Part::Frame, "..."));
            }
            shown = Some(self.push_mark(out, mark, shown));
        }
    }

    /// Adds the line of a mark, unless that part of it is already shown, and the mark below it;
    /// returns the part that is now shown.
    fn push_mark(&self, out: &mut String, mark: &Mark<'_>, shown: Option<Shown>) -> Shown {
        let span = mark.span;
        let (line_start, line) = self.file.line_around(span.start as usize);
        let inside = |offset: u32| {
            let at = (offset as usize).saturating_sub(line_start).min(line.len());
            line.floor_char_boundary(at)
        };
        let (from, to) = (inside(span.start), inside(span.end));
        let shown = shown.filter(|shown| shown.line == span.line && shown.contains(from));
        let with_line = shown.is_none();
        let shown = shown.unwrap_or_else(|| Shown::around(line, from, span.line));
        let Shown { start, end, .. } = shown;
        let lead = if start > 0 { "..." } else { "" };
        if with_line {
            let tail = if end < line.len() { "..." } else { "" };
            let margin = self.margin;
            let number = format!("{:>margin$} | ", span.line);
            let number = self.renderer.paint(Part::Frame, &number);
            let text = format!("{lead}{}{tail}", printable(&line[start..end]));
            let _ = writeln!(out, "{}", format!("{number}{text}").trim_end());
        }
        let width = |text: &str| -> usize { text.chars().map(columns).sum() };
        let indent = " ".repeat(lead.len() + width(&line[start..from]));
        let covered = line[from..to.clamp(from, end.max(from))].trim_end();
        let signs = String::from(mark.underline).repeat(width(covered).max(1));
        let gap = if mark.label.is_empty() { "" } else { " " };
        let signs = self
            .renderer
            .paint(mark.part, &format!("{signs}{gap}{}", printable(mark.label)));
        let rest = format!(" {indent}{signs}");
        let _ = writeln!(out, "{}", self.renderer.bar(self.margin, &rest));
        shown
    }
}

/// The part of a line shown last.
#[derive(Debug, Clone, Copy)]
struct Shown {
    line: u32,
    start: usize,
    end: usize,
}

impl Shown {
    fn around(text: &str, offset: usize, line: u32) -> Self {
        let (start, end) = window(text, offset);
        Self { line, start, end }
    }

    fn contains(self, offset: usize) -> bool {
        (self.start..self.end.max(self.start + 1)).contains(&offset)
    }
}
