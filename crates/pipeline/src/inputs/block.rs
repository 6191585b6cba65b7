use std::ops::Range;

/// The start of every block.
pub(super) const PREFIX: &str = "$[[";

/// One `$[[ ... ]]` in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Block {
    /// Its range, including the delimiters.
    pub(super) range: Range<usize>,
    /// The range of its content, trimmed.
    pub(super) data: Range<usize>,
}

/// Returns the blocks of a text from left to right.
///
/// The content is at least two characters on one line; the first possible `]]` ends it. A start
/// without an end is text.
pub(super) fn blocks(text: &str) -> Vec<Block> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = text[from..].find(PREFIX) {
        let start = from + at;
        from = match block_at(text, start) {
            Found::Block(block) => {
                let end = block.range.end;
                found.push(block);
                end
            }
            Found::Nothing { until } => until,
        };
    }
    found
}

enum Found {
    Block(Block),
    /// No block starts before this offset.
    Nothing {
        until: usize,
    },
}

fn block_at(text: &str, start: usize) -> Found {
    let data_start = start + PREFIX.len();
    let data_start = data_start + space(&text[data_start..]);
    let rest = &text[data_start..];
    // After the end of the line only white space may precede the delimiter.
    let line = rest.find('\n').unwrap_or(rest.len());
    let reach = (line + space(&rest[line..]) + 2).min(rest.len());
    let ends = memchr::memmem::find_iter(&rest.as_bytes()[..reach], b"]]");
    let mut ends = overlapping(ends, rest.as_bytes(), reach).peekable();
    if ends.peek().is_none() {
        return Found::Nothing {
            until: data_start + line,
        };
    }
    for at in ends {
        let data = rest[..at].trim_end_matches(is_space);
        if data.chars().nth(1).is_some() {
            return Found::Block(Block {
                range: start..data_start + at + 2,
                data: data_start..data_start + data.len(),
            });
        }
    }
    Found::Nothing { until: data_start }
}

/// Adds the second, overlapping `]]` of each `]]]`.
fn overlapping(
    offsets: impl Iterator<Item = usize>,
    bytes: &[u8],
    reach: usize,
) -> impl Iterator<Item = usize> {
    offsets.flat_map(move |at| {
        let second = at + 2 < reach && bytes[at + 2] == b']';
        std::iter::once(at).chain(second.then_some(at + 1))
    })
}

fn space(text: &str) -> usize {
    text.len() - text.trim_start_matches(is_space).len()
}

fn is_space(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\n' | '\r' | '\u{c}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: &[(&str, &str)]) {
        let found = blocks(text);
        let found: Vec<(&str, &str)> = found
            .into_iter()
            .map(|block| (&text[block.range], &text[block.data]))
            .collect();
        assert_eq!(found, expect, "the blocks of {text:?}");
    }

    #[test]
    fn a_block_has_two_characters_and_ends_at_the_first_delimiter() {
        check("a $[[ inputs.b ]] c", &[("$[[ inputs.b ]]", "inputs.b")]);
        check(
            "$[[ab]]$[[\tcd\n]]",
            &[("$[[ab]]", "ab"), ("$[[\tcd\n]]", "cd")],
        );
        check(
            "$[[ inputs.a[0] ]]",
            &[("$[[ inputs.a[0] ]]", "inputs.a[0]")],
        );
        check("[$[[ in.x ]]]", &[("$[[ in.x ]]", "in.x")]);
        check("$[[ a.x[0]]]", &[("$[[ a.x[0]]", "a.x[0")]);
        check("$[[ é.b ]]", &[("$[[ é.b ]]", "é.b")]);
    }

    #[test]
    fn other_texts_are_not_blocks() {
        for text in [
            "$[[ x ]]",
            "$[[]]",
            "$[[ ]]",
            "$[[ a",
            "$[[ ab\ncd ]]",
            "[[ ab ]]",
            "$[[a]]",
        ] {
            check(text, &[]);
        }
        // A block cannot end after one character, so it extends to the next delimiter.
        check(
            "$[[ x ]] $[[ in.a ]]",
            &[("$[[ x ]] $[[ in.a ]]", "x ]] $[[ in.a")],
        );
        check("$[[ x\n$[[ in.a ]]", &[("$[[ in.a ]]", "in.a")]);
        check("$[[$[[a]]]", &[("$[[$[[a]]", "$[[a")]);
        check("$[[a]]]", &[("$[[a]]]", "a]")]);
    }

    #[test]
    fn many_unclosed_blocks_are_skipped_in_linear_time() {
        let text = PREFIX.repeat(300_000) + "\n]]";
        let found = blocks(&text);
        assert_eq!(found.len(), 1);
        assert!(blocks(&PREFIX.repeat(300_000)).is_empty());
        assert!(blocks(&(PREFIX.repeat(300_000) + "\n\nx ]]")).is_empty());
    }
}
