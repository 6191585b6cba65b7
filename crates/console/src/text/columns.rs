//! Text in columns: how many it takes, and tables.

use super::{Style, Tone};
use unicode_width::UnicodeWidthChar;

/// Returns how many columns a character takes at most.
///
/// Terminals differ where several characters make one picture; some draw the parts side by side. A
/// line that is too short does no harm and one that wraps does, so parts count, and so does the
/// character that asks for a picture instead of a sign.
fn columns_of(c: char) -> usize {
    if c == '\u{fe0f}' {
        return 1;
    }
    c.width().unwrap_or(0)
}

/// Returns how many columns `text` takes at most.
pub fn columns(text: &str) -> usize {
    if super::is_plain(text) {
        return text.len();
    }
    text.chars().map(columns_of).sum()
}

/// Returns the beginning of `text` that fits into `width` columns, with `ellipsis` if it was cut.
pub(crate) fn cut(text: &str, width: usize, ellipsis: &str) -> String {
    // Of a long line, no more is looked at than can be shown.
    let mut taken = 0;
    let fits = text.char_indices().find(|(_, c)| {
        taken += columns_of(*c);
        taken > width
    });
    if fits.is_none() {
        return text.to_owned();
    }
    let room = width.saturating_sub(columns(ellipsis));
    let mut taken = 0;
    let end = text.char_indices().find(|(_, c)| {
        taken += columns_of(*c);
        taken > room
    });
    let end = end.map_or(text.len(), |(at, _)| at);
    let ellipsis = if room == 0 { "" } else { ellipsis };
    format!("{}{ellipsis}", text[..end].trim_end())
}

/// Returns `text`, cut or filled to `width` columns.
pub fn fit(text: &str, width: usize, ellipsis: &str) -> String {
    let mut text = cut(text, width, ellipsis);
    let gap = width.saturating_sub(columns(&text));
    text.extend(std::iter::repeat_n(' ', gap));
    text
}

/// A row of a table.
#[derive(Debug)]
pub struct Row<const N: usize> {
    /// The text of each cell.
    pub cells: [String; N],
    /// How the line looks.
    pub tone: Tone,
}

/// Returns the rows, each column as wide as its widest cell, with heads above them.
pub fn grid<const N: usize>(heads: [&str; N], rows: &[Row<N>], style: Style) -> String {
    let mut widths = heads.map(columns);
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(&row.cells) {
            *width = columns(cell).max(*width);
        }
    }
    let line = |cells: &[String], tone: Tone| {
        let cells = cells.iter().zip(widths);
        let cells: Vec<_> = cells.map(|(cell, width)| fit(cell, width, "")).collect();
        style.paint(tone, cells.join("  ").trim_end()) + "\n"
    };
    let heads = line(&heads.map(ToOwned::to_owned), Tone::Quiet);
    let rows = rows.iter().map(|row| line(&row.cells, row.tone));
    heads + &rows.collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_to_columns_and_not_to_letters() {
        assert_eq!(cut("unit-tests", 10, "…"), "unit-tests");
        assert_eq!(cut("unit-tests", 9, "…"), "unit-tes…");
        assert_eq!(cut("日本語のテスト", 8, "…"), "日本語…");
        assert_eq!(cut("日本語", 1, "…"), "");
        assert_eq!(cut("anything", 0, "…"), "");
        assert_eq!(fit("日本", 6, "…"), "日本  ");
    }

    #[test]
    fn pictures_made_of_parts_never_count_too_little() {
        let family = "👨\u{200d}👩\u{200d}👧";
        assert_eq!(columns(family), 6);
        assert_eq!(columns("❤\u{fe0f}"), 2);
        assert_eq!(columns("e\u{301}"), 1);
    }
}
