//! Tables: cells in columns.

use super::{Style, Tone, columns, fit};

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
