//! The bytes that show text above and a few lines below it.

use super::region::Size;
use crate::text::columns;

/// The lines at the bottom of a terminal.
///
/// All of a frame is written at once and nothing is switched off for it: no hidden cursor, no raw
/// mode. So there is nothing to restore, however this program ends.
#[derive(Debug, Default)]
pub(super) struct Screen {
    /// The lines that were drawn last; the cursor is behind the last of them.
    drawn: Vec<String>,
    /// The text above ends in an empty line.
    ends_empty: bool,
}

impl Screen {
    /// Forgets the drawn lines, because another program wrote after them.
    pub(super) fn forget(&mut self) {
        self.drawn.clear();
    }

    /// Appends to `out` the bytes that show `text`, which is empty or ends its last line, and `lines`
    /// below it. An empty first line is left out where the text ends in one.
    pub(super) fn frame(
        &mut self,
        text: &[u8],
        mut lines: Vec<String>,
        size: Size,
        out: &mut Vec<u8>,
    ) {
        if !text.is_empty() {
            self.ends_empty = text == b"\n" || text.ends_with(b"\n\n");
        }
        if self.ends_empty && lines.first().is_some_and(String::is_empty) {
            lines.remove(0);
        }
        if text.is_empty() && lines == self.drawn {
            return;
        }
        let rows = self.rows_drawn(size);
        if text.is_empty() && rows == lines.len() {
            back_to_top(rows, out);
        } else {
            wipe(rows, out);
            out.extend_from_slice(text);
        }
        for (at, line) in lines.iter().enumerate() {
            if at > 0 {
                out.extend_from_slice(b"\r\n");
            }
            out.extend_from_slice(line.as_bytes());
            out.extend_from_slice(b"\x1b[K");
        }
        self.drawn = lines;
    }

    /// Returns how many rows the lines take by now.
    ///
    /// A terminal that became narrower has broken them into several rows each.
    fn rows_drawn(&self, size: Size) -> usize {
        let width = size.columns.max(1);
        let rows = |line: &String| visible_columns(line).div_ceil(width).max(1);
        self.drawn.iter().map(rows).sum()
    }
}

/// Moves from behind the last of `rows` to where the first begins.
fn back_to_top(rows: usize, out: &mut Vec<u8>) {
    out.push(b'\r');
    if rows > 1 {
        out.extend_from_slice(format!("\x1b[{}A", rows - 1).as_bytes());
    }
}

/// Empties `rows`, from the last to the first, and stays where the first begins.
///
/// Row by row, because some terminals keep what a wipe of the whole screen takes away.
fn wipe(rows: usize, out: &mut Vec<u8>) {
    for row in 0..rows {
        if row > 0 {
            out.extend_from_slice(b"\x1b[A");
        }
        out.extend_from_slice(b"\x1b[2K");
    }
    if rows > 0 {
        out.push(b'\r');
    }
}

fn visible_columns(line: &str) -> usize {
    columns(&crate::text::strip_controls(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns what a terminal without a last column shows of this.
    fn replay(written: &str) -> String {
        let mut lines = vec![String::new()];
        let mut row = 0;
        let mut rest = written;
        let mut is_at_start = true;
        while let Some(c) = rest.chars().next() {
            let take = |rest: &mut &str, code: &str| match rest.strip_prefix(code) {
                Some(after) => {
                    *rest = after;
                    true
                }
                None => false,
            };
            if take(&mut rest, "\x1b[2K") {
                lines[row].clear();
            } else if take(&mut rest, "\x1b[K") {
                // The cursor is behind what was written, so nothing is left to be emptied.
            } else if let Some(after) = rest.strip_prefix("\x1b[") {
                let (count, after) = after.split_once('A').expect("a move upwards");
                row -= count.parse().unwrap_or(1);
                rest = after;
            } else {
                rest = &rest[c.len_utf8()..];
                match c {
                    '\r' => is_at_start = true,
                    '\n' => {
                        row += 1;
                        is_at_start = true;
                        if row == lines.len() {
                            lines.push(String::new());
                        }
                    }
                    c => {
                        if std::mem::take(&mut is_at_start) {
                            lines[row].clear();
                        }
                        lines[row].push(c);
                    }
                }
            }
        }
        lines.join("\n").trim_end_matches('\n').to_owned()
    }

    #[test]
    fn drawing_never_damages_the_text() {
        let mut screen = Screen::default();
        let mut out = Vec::new();
        let mut text = String::new();
        for number in 0_usize..500 {
            let mut new = String::new();
            for line in 0..number % 4 {
                new.extend([
                    number.to_string(),
                    ".".to_owned(),
                    line.to_string(),
                    "\n".to_owned(),
                ]);
            }
            text.push_str(&new);
            let lines = (0..number * 7 % 5).map(|line| format!("footer {line}"));
            screen.frame(new.as_bytes(), lines.collect(), SIZE, &mut out);
        }
        screen.frame(b"end\n", Vec::new(), SIZE, &mut out);
        let shown = replay(&String::from_utf8(out).unwrap());
        assert_eq!(shown, text + "end");
    }

    const SIZE: Size = Size {
        columns: 80,
        rows: 24,
    };

    fn frame(screen: &mut Screen, text: &str, lines: &[&str], size: Size) -> String {
        let mut out = Vec::new();
        let lines = lines.iter().map(|&line| line.to_owned()).collect();
        screen.frame(text.as_bytes(), lines, size, &mut out);
        String::from_utf8(out).unwrap().replace('\x1b', "^")
    }

    #[test]
    fn text_goes_above_and_unchanged_lines_are_not_redrawn() {
        let mut screen = Screen::default();
        assert_eq!(frame(&mut screen, "", &["a", "b"], SIZE), "a^[K\r\nb^[K");
        assert_eq!(frame(&mut screen, "", &["a", "b"], SIZE), "");
        let with_text = frame(&mut screen, "log\n", &["a", "b"], SIZE);
        assert_eq!(with_text, "^[2K^[A^[2K\rlog\na^[K\r\nb^[K");
        assert_eq!(
            frame(&mut screen, "", &["a", "c"], SIZE),
            "\r^[1Aa^[K\r\nc^[K"
        );
        assert_eq!(frame(&mut screen, "", &["c"], SIZE), "^[2K^[A^[2K\rc^[K");
        assert_eq!(frame(&mut screen, "end\n", &[], SIZE), "^[2K\rend\n");
        assert_eq!(frame(&mut screen, "", &[], SIZE), "");
    }

    #[test]
    fn there_is_one_empty_line_between_the_text_and_the_lines() {
        let mut screen = Screen::default();
        let lines = ["", "a"];
        assert_eq!(
            frame(&mut screen, "text\n", &lines, SIZE),
            "text\n^[K\r\na^[K"
        );
        let block = frame(&mut screen, "block\n\n", &lines, SIZE);
        assert_eq!(block, "^[2K^[A^[2K\rblock\n\na^[K");
        assert_eq!(frame(&mut screen, "", &lines, SIZE), "");
    }

    #[test]
    fn wipes_lines_that_a_narrower_terminal_wrapped() {
        let mut screen = Screen::default();
        let wide = "x".repeat(79);
        frame(&mut screen, "", &[&wide, "\x1b[1mshort\x1b[0m"], SIZE);
        let narrow = Size {
            columns: 40,
            rows: 24,
        };
        assert_eq!(
            frame(&mut screen, "", &["y"], narrow),
            "^[2K^[A^[2K^[A^[2K\ry^[K"
        );
    }

    #[test]
    fn foreign_text_is_not_wiped() {
        let mut screen = Screen::default();
        frame(&mut screen, "", &["a", "b"], SIZE);
        screen.forget();
        assert_eq!(frame(&mut screen, "", &["a", "b"], SIZE), "a^[K\r\nb^[K");
    }
}
