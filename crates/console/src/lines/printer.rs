//! The log of one job as lines of text.

use super::fold::{Fold, Folding, Shown};
use crate::log::{Entry, Source};
use crate::text::{Cleaner, Mark, Style, Tone, strip_controls};

/// Turns the entries of a job's log into lines for people, each behind a prefix.
#[derive(Debug)]
pub(super) struct Printer {
    prefix: String,
    style: Style,
    fold: Fold,
    /// One for each source, in the order of [`Source::ALL`].
    cleaners: [Cleaner; Source::ALL.len()],
}

impl Printer {
    /// Returns a printer whose lines begin with `prefix`, which is painted already.
    pub(super) fn new(prefix: String, style: Style, folding: Folding) -> Self {
        let cleaners = Source::ALL.map(|(source, _)| {
            let colours = style.has_colours() && source != Source::Info;
            Cleaner::new(colours)
        });
        Self {
            prefix,
            style,
            fold: Fold::new(folding),
            cleaners,
        }
    }

    /// Appends to `out` what an entry shows.
    pub(super) fn take(&mut self, entry: Entry<'_>, out: &mut Vec<u8>) {
        let Self {
            prefix,
            style,
            fold,
            cleaners,
        } = self;
        fold.take(entry, &mut |shown| {
            put(prefix, *style, cleaners, shown, out);
        });
    }

    /// Appends what was held back until the end of the log.
    pub(super) fn finish(&mut self, out: &mut Vec<u8>) {
        let Self {
            prefix,
            style,
            fold,
            cleaners,
        } = self;
        fold.finish(&mut |shown| put(prefix, *style, cleaners, shown, out));
    }

    /// Appends a line of this program's own.
    pub(super) fn own_line(&self, text: &str, out: &mut Vec<u8>) {
        put_line(&self.prefix, text, out);
    }
}

fn put(prefix: &str, style: Style, cleaners: &mut [Cleaner], shown: Shown<'_>, out: &mut Vec<u8>) {
    match shown {
        Shown::Line(source, text) => {
            let text = cleaners[source as usize].line(text);
            match source {
                Source::Info => put_line(prefix, &style.paint(Tone::Quiet, &text), out),
                _ => put_line(prefix, &text, out),
            }
        }
        Shown::Header(header) => {
            let header = style.paint(Tone::Strong, &strip_controls(header));
            put_line(prefix, &header, out);
        }
        Shown::Folded(header, remark) => {
            let header = style.paint(Tone::Strong, &strip_controls(header));
            let remark = style.paint(Tone::Quiet, &format!("({remark})"));
            let mark = style.mark(Mark::Folded);
            put_line(prefix, &format!("{mark} {header} {remark}"), out);
        }
        Shown::Note(text) => put_line(prefix, &style.paint(Tone::Quiet, text), out),
    }
}

fn put_line(prefix: &str, text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(prefix.as_bytes());
    out.extend_from_slice(text.as_bytes());
    out.push(b'\n');
}
