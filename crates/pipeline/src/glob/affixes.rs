use super::segment::{Segment, Sign};

/// The text that all paths matching a glob begin and end with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Affixes {
    /// The common prefix; may be empty.
    pub prefix: String,
    /// The common suffix; may be empty.
    pub suffix: String,
}

impl Affixes {
    pub(super) fn of(segments: &[Segment]) -> Self {
        Self {
            prefix: prefix(segments),
            suffix: suffix(segments),
        }
    }
}

fn prefix(segments: &[Segment]) -> String {
    let mut prefix = String::new();
    for (at, segment) in segments.iter().enumerate() {
        match segment {
            Segment::AnyDepth => break,
            Segment::Text(text) => {
                prefix.push_str(text);
                if at + 1 < segments.len() {
                    prefix.push('/');
                }
            }
            Segment::Wildcard(signs) => {
                prefix.extend(signs.iter().map_while(letter));
                break;
            }
        }
    }
    prefix
}

fn suffix(segments: &[Segment]) -> String {
    let mut reversed = String::new();
    for (at, segment) in segments.iter().enumerate().rev() {
        match segment {
            Segment::AnyDepth => break,
            Segment::Text(text) => {
                reversed.extend(text.chars().rev());
                // If `**` matches no component, there is no slash either.
                if at > 0 && segments[at - 1] != Segment::AnyDepth {
                    reversed.push('/');
                }
            }
            Segment::Wildcard(signs) => {
                reversed.extend(signs.iter().rev().map_while(letter));
                break;
            }
        }
    }
    reversed.chars().rev().collect()
}

fn letter(sign: &Sign) -> Option<char> {
    match sign {
        Sign::Character(letter) => Some(*letter),
        _ => None,
    }
}
