/// Returns the line and column of a byte offset, both from 1; columns count characters.
pub(super) fn place_of(text: &str, at: usize) -> (usize, usize) {
    let mut end = at.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let before = &text[..end];
    let line = before.matches('\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    (line, before[start..].chars().count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_in_characters() {
        let check = |text: &str, at: usize, expect: (usize, usize)| {
            assert_eq!(place_of(text, at), expect, "{text:?} at {at}");
        };
        check("", 0, (1, 1));
        check("ab\ncd", 4, (2, 2));
        check("ä = 1", 3, (1, 3));
        check("ä", 1, (1, 1));
        check("a", 99, (1, 2));
    }
}
