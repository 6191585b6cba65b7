//! Text without the colours of a terminal.

use std::borrow::Cow;

/// Returns a line without the sequences that colour it or move the cursor.
pub(crate) fn without_colours(line: &str) -> Cow<'_, str> {
    if !line.contains('\x1b') {
        return Cow::Borrowed(line);
    }
    let mut plain = String::with_capacity(line.len());
    let mut pieces = line.split('\x1b');
    plain.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        let Some(sequence) = piece.strip_prefix('[') else {
            plain.push_str(piece);
            continue;
        };
        let is_end = |c: char| ('@'..='~').contains(&c);
        let text = sequence.find(is_end).map_or("", |end| &sequence[end + 1..]);
        plain.push_str(text);
    }
    Cow::Owned(plain)
}
