/// A part of a glob between two slashes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Segment {
    /// `**`: any number of path components, including none.
    AnyDepth,
    /// Literal text.
    Text(String),
    /// Anything with wildcards.
    Wildcard(Vec<Sign>),
}

/// An element of a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Sign {
    /// `*`: any number of any characters.
    Star,
    /// `?`: any character.
    One,
    /// The character itself.
    Character(char),
    /// `[..]`: a character from ranges, or from outside of them.
    Bracket {
        is_negated: bool,
        ranges: Vec<(char, char)>,
    },
    /// An unclosed bracket, which matches nothing.
    Never,
}

impl Segment {
    /// Returns whether it has an unclosed bracket.
    pub(super) fn matches_nothing(&self) -> bool {
        matches!(self, Self::Wildcard(signs) if signs.contains(&Sign::Never))
    }

    /// Returns whether the whole of a path component matches.
    pub(super) fn is_match(&self, part: &str) -> bool {
        match self {
            // The caller handles the cases in which it spans several components.
            Self::AnyDepth => true,
            Self::Text(text) => text == part,
            Self::Wildcard(signs) => signs_match(signs, part),
        }
    }
}

fn signs_match(signs: &[Sign], part: &str) -> bool {
    let (mut signs, mut rest) = (signs, part);
    // Where to backtrack: the signs after the last star, and the text where they were last tried.
    let mut retry: Option<(&[Sign], &str)> = None;
    loop {
        match signs {
            [Sign::Star] => return true,
            [Sign::Star, behind @ ..] => {
                signs = behind;
                retry = Some((behind, rest));
                continue;
            }
            [] if rest.is_empty() => return true,
            [sign, behind @ ..] => {
                let mut letters = rest.chars();
                if letters.next().is_some_and(|letter| sign.is_match(letter)) {
                    (signs, rest) = (behind, letters.as_str());
                    continue;
                }
            }
            [] => {}
        }
        let Some((behind, tried)) = retry else {
            return false;
        };
        let mut letters = tried.chars();
        if letters.next().is_none() {
            return false;
        }
        (signs, rest) = (behind, letters.as_str());
        retry = Some((behind, rest));
    }
}

impl Sign {
    fn is_match(&self, letter: char) -> bool {
        match self {
            Self::Star | Self::One => true,
            Self::Character(known) => *known == letter,
            Self::Bracket { is_negated, ranges } => {
                let mut ranges = ranges.iter();
                // A backwards range still matches its two ends.
                let is_in = ranges.any(|&(low, high)| {
                    (low..=high).contains(&letter) || letter == low || letter == high
                });
                is_in != *is_negated
            }
            Self::Never => false,
        }
    }
}

/// Splits a glob without braces at its slashes, escaped ones too, but not at those in brackets.
pub(super) fn split(glob: &str) -> Vec<Segment> {
    let mut segments = Vec::new();
    let mut rest = glob;
    loop {
        while let Some(behind) = rest.strip_prefix("**/") {
            if segments.last() != Some(&Segment::AnyDepth) {
                segments.push(Segment::AnyDepth);
            }
            rest = behind;
        }
        let (segment, behind) = first(rest, Slash::Splits);
        segments.push(segment);
        match behind {
            Some(behind) => rest = behind,
            None => return segments,
        }
    }
}

/// Reads a glob without braces in which a slash is an ordinary character.
pub(super) fn whole(glob: &str) -> Segment {
    first(glob, Slash::IsText).0
}

/// The meaning of a slash in a glob.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Slash {
    Splits,
    IsText,
}

/// Reads the first segment; returns it and the rest after its slash.
fn first(glob: &str, slash: Slash) -> (Segment, Option<&str>) {
    let mut signs = Vec::new();
    let mut rest = glob;
    let behind = loop {
        let mut letters = rest.chars();
        let Some(letter) = letters.next() else {
            break None;
        };
        rest = letters.as_str();
        let sign = match letter {
            '/' if slash == Slash::Splits => break Some(rest),
            '*' => Sign::Star,
            '?' => Sign::One,
            '[' => {
                let (bracket, behind) = bracket(rest);
                rest = behind;
                bracket
            }
            '\\' => match letters.next() {
                Some('/') if slash == Slash::Splits => break Some(letters.as_str()),
                Some(escaped) => {
                    rest = letters.as_str();
                    Sign::Character(escaped)
                }
                // A backslash at the end of a glob means nothing.
                None => break None,
            },
            _ => Sign::Character(letter),
        };
        if sign != Sign::Star || signs.last() != Some(&Sign::Star) {
            signs.push(sign);
        }
    };
    let text = signs.iter().map(|sign| match sign {
        Sign::Character(letter) => Some(*letter),
        _ => None,
    });
    let text: Option<String> = text.collect();
    (text.map_or(Segment::Wildcard(signs), Segment::Text), behind)
}

/// Reads a bracket from behind its `[`; returns it and the rest after its `]`.
///
/// Even a `]` in first position closes it, so `[]` matches nothing and `[!]` anything.
fn bracket(text: &str) -> (Sign, &str) {
    let mut rest = text;
    let is_negated = rest.starts_with(['!', '^']);
    if is_negated {
        rest = &rest[1..];
    }
    let mut ranges = Vec::new();
    loop {
        if let Some(behind) = rest.strip_prefix(']') {
            return (Sign::Bracket { is_negated, ranges }, behind);
        }
        let Some((low, behind)) = character(rest) else {
            return (Sign::Never, "");
        };
        rest = behind;
        let mut high = low;
        if rest.starts_with('-') && !rest.starts_with("-]") {
            let Some((end, behind)) = character(&rest[1..]) else {
                return (Sign::Never, "");
            };
            (high, rest) = (end, behind);
        }
        ranges.push((low, high));
    }
}

/// Reads a character of a bracket, without the backslash before it.
fn character(text: &str) -> Option<(char, &str)> {
    let text = text.strip_prefix('\\').unwrap_or(text);
    let mut letters = text.chars();
    let letter = letters.next()?;
    Some((letter, letters.as_str()))
}
