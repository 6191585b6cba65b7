use super::escape::{self, perl_class, push_literal};
use super::flags::Flags;
use super::{PatternError, class};
use std::collections::HashSet;
use std::fmt::Write as _;

/// The maximum nesting of groups; the compiler of the `regex` crate recurses into each.
pub(super) const DEEPEST_GROUP: u32 = 50;
/// The maximum product of the repetition counts that apply to one atom.
const MOST_REPETITIONS: u32 = 1000;

/// A pattern in the grammar of the `regex` crate.
#[derive(Debug)]
pub(super) struct Translation {
    pub(super) text: String,
    /// Whether it has counted repetitions.
    pub(super) counts_repetitions: bool,
    /// Whether it names scripts, which only the `regex` crate can check.
    pub(super) names_script: bool,
}

/// Reads a pattern by RE2's rules and writes it in the grammar of the `regex` crate.
pub(super) fn translate(source: &str, flags: &str) -> Result<Translation, PatternError> {
    let mut translator = Translator {
        source,
        at: 0,
        out: String::with_capacity(source.len() + 8),
        groups: Vec::new(),
        names: HashSet::new(),
        last: Last::Nothing,
        last_repeats: 1,
        most_repeats: 1,
    };
    let flags = Flags::parse(flags, 0)?.text();
    if !flags.is_empty() {
        translator.out = format!("(?{flags})");
    }
    while let Some(letter) = translator.rest().chars().next() {
        translator.step(letter)?;
    }
    if let Some(group) = translator.groups.last() {
        let error = PatternError::syntax(group.offset, "the parenthesis `(` is never closed");
        return Err(error.with_help("add a `)`, or write `\\(` for the character"));
    }
    Ok(Translation {
        counts_repetitions: translator.most_repeats > 1,
        names_script: translator.out.contains(escape::SCRIPT),
        text: translator.out,
    })
}

/// The state of a translation.
struct Translator<'s> {
    source: &'s str,
    at: usize,
    out: String,
    groups: Vec<Group>,
    names: HashSet<&'s str>,
    last: Last,
    /// The largest repetition count inside the last atom.
    last_repeats: u32,
    /// The largest repetition count since the innermost group was opened.
    most_repeats: u32,
}

/// An open group.
struct Group {
    offset: usize,
    /// The translator's `most_repeats` outside of it.
    most_repeats: u32,
}

/// The kind of the part before the current position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Last {
    /// Nothing that can be repeated.
    Nothing,
    Atom,
    Repetition,
}

impl<'s> Translator<'s> {
    fn rest(&self) -> &'s str {
        &self.source[self.at..]
    }

    fn step(&mut self, letter: char) -> Result<(), PatternError> {
        match letter {
            '(' => return self.open(),
            ')' => return self.close(),
            '|' => {
                self.out.push('|');
                self.last = Last::Nothing;
                self.at += 1;
            }
            '*' | '+' | '?' => {
                let sign = &self.rest()[..1];
                return self.repeat(sign, None);
            }
            '{' => {
                if let Some((sign, counts)) = counts(self.rest()) {
                    return self.repeat(sign, Some(counts));
                }
                self.literal(letter);
                self.at += 1;
            }
            '[' => {
                let length = class::translate(self.rest(), self.at, &mut self.out)?;
                self.atom(length);
            }
            '.' | '^' | '$' => {
                self.out.push(letter);
                self.atom(1);
            }
            '\\' => return self.escape(),
            _ => {
                self.literal(letter);
                self.at += letter.len_utf8();
            }
        }
        Ok(())
    }

    /// Moves past an atom that was written.
    fn atom(&mut self, length: usize) {
        self.last = Last::Atom;
        self.last_repeats = 1;
        self.at += length;
    }

    fn literal(&mut self, literal: char) {
        push_literal(&mut self.out, literal);
        self.atom(0);
    }

    fn open(&mut self) -> Result<(), PatternError> {
        let rest = self.rest();
        let inner = if let Some(special) = rest.strip_prefix("(?") {
            match self.special(special)? {
                Some(length) => length + 2,
                None => return Ok(()),
            }
        } else {
            self.out.push('(');
            1
        };
        if self.groups.len() >= DEEPEST_GROUP as usize {
            let message = format!("the groups are nested more than {DEEPEST_GROUP} deep");
            return Err(PatternError::syntax(self.at, message));
        }
        self.groups.push(Group {
            offset: self.at,
            most_repeats: self.most_repeats,
        });
        self.most_repeats = 1;
        self.last = Last::Nothing;
        self.at += inner;
        Ok(())
    }

    /// Reads the text behind `(?`; returns its length if it opens a group.
    fn special(&mut self, special: &'s str) -> Result<Option<usize>, PatternError> {
        let look_around = ["=", "!", "<=", "<!"];
        if let Some(sign) = look_around.iter().find(|sign| special.starts_with(**sign)) {
            let message = format!("look-around `(?{sign}` is not RE2 syntax");
            let help = "GitLab's regular expressions have no look-around; combine two conditions \
                        with `=~` and `!~` instead";
            return Err(PatternError::syntax(self.at, message).with_help(help));
        }
        let name = special.strip_prefix("P<").or(special.strip_prefix('<'));
        if let Some(name) = name {
            return self.named(special, name).map(Some);
        }
        let end = special.find([':', ')']);
        let end = end.ok_or_else(|| self.unknown_group(special))?;
        let flags = Flags::parse(&special[..end], self.at);
        let flags = flags.map_err(|error| match special.chars().next() {
            Some('a'..='z' | 'A'..='Z' | '-') => error,
            _ => self.unknown_group(special),
        })?;
        let text = flags.text();
        if special[end..].starts_with(':') {
            write!(self.out, "(?{text}:").expect("strings take all text");
            return Ok(Some(end + 1));
        }
        if end == 0 {
            return Err(self.unknown_group(special));
        }
        write!(self.out, "(?{text})").expect("strings take all text");
        self.last = Last::Nothing;
        self.at += end + 3;
        Ok(None)
    }

    fn unknown_group(&self, special: &str) -> PatternError {
        let sign: String = special.chars().take(1).collect();
        PatternError::syntax(self.at, format!("the group `(?{sign}` is not RE2 syntax"))
    }

    /// Reads the name of a group and drops it, because no caller uses names.
    fn named(&mut self, special: &'s str, name: &'s str) -> Result<usize, PatternError> {
        let length = name.find('>').unwrap_or(0);
        let word = &name[..length];
        let is_word = word
            .chars()
            .all(|letter| letter == '_' || letter.is_alphanumeric());
        if word.is_empty() || !is_word {
            return Err(PatternError::syntax(
                self.at,
                "the name of a group is not a word",
            ));
        }
        if !self.names.insert(word) {
            let message = format!("two groups have the name `{word}`");
            return Err(PatternError::syntax(self.at, message));
        }
        self.out.push('(');
        Ok(special.len() - name.len() + length + 1)
    }

    fn close(&mut self) -> Result<(), PatternError> {
        let Some(group) = self.groups.pop() else {
            let error = PatternError::syntax(self.at, "the parenthesis `)` closes nothing");
            return Err(error.with_help("write `\\)` for the character"));
        };
        self.out.push(')');
        self.last = Last::Atom;
        self.last_repeats = self.most_repeats;
        self.most_repeats = self.most_repeats.max(group.most_repeats);
        self.at += 1;
        Ok(())
    }

    /// Writes a repetition with its counts, if it has any.
    fn repeat(&mut self, sign: &str, counts: Option<Counts>) -> Result<(), PatternError> {
        let most = counts.map_or(1, |counts| counts.most.unwrap_or(counts.least));
        let is_backwards =
            counts.is_some_and(|counts| counts.most.is_some_and(|most| most < counts.least));
        let least = counts.map_or(0, |counts| counts.least);
        let repeats = self.last_repeats.saturating_mul(most.max(1));
        if is_backwards {
            let message = format!("the minimum of the repetition `{sign}` exceeds its maximum");
            return Err(PatternError::syntax(self.at, message));
        }
        if repeats > MOST_REPETITIONS || least > MOST_REPETITIONS {
            return Err(PatternError::too_large(self.at));
        }
        match self.last {
            Last::Nothing => {
                let message = format!("there is nothing before `{sign}` to repeat");
                let error = PatternError::syntax(self.at, message);
                return Err(
                    error.with_help("write `.*` for any text; globs are not regular expressions")
                );
            }
            Last::Repetition => {
                let message = format!("the repetition `{sign}` of a repetition is not RE2 syntax");
                let error = PatternError::syntax(self.at, message);
                return Err(error.with_help("put the inner one in parentheses"));
            }
            Last::Atom => {}
        }
        self.out.push_str(sign);
        self.at += sign.len();
        if self.rest().starts_with('?') {
            self.out.push('?');
            self.at += 1;
        }
        self.last = Last::Repetition;
        self.last_repeats = repeats;
        self.most_repeats = self.most_repeats.max(repeats);
        Ok(())
    }

    fn escape(&mut self) -> Result<(), PatternError> {
        let rest = self.rest();
        let letter = rest[1..].chars().next();
        if let Some(class) = letter.and_then(perl_class) {
            self.out.push_str(class);
            self.atom(2);
            return Ok(());
        }
        let fixed = match letter {
            Some('A') => r"\A",
            Some('z') => r"\z",
            Some('b') => r"(?-u:\b)",
            Some('B') => r"(?-u:\B)",
            Some('C') => "(?s-u:.)",
            Some('Q') => {
                self.quoted(&rest[2..]);
                return Ok(());
            }
            Some('p' | 'P') => {
                let (class, length) = escape::unicode_class(rest, self.at)?;
                self.out.push_str(&class);
                self.atom(length);
                return Ok(());
            }
            _ => {
                let (literal, length) = escape::character(rest, self.at)?;
                self.literal(literal);
                self.at += length;
                return Ok(());
            }
        };
        self.out.push_str(fixed);
        self.atom(2);
        Ok(())
    }

    /// Writes the literal text behind `\Q`, up to `\E` or the end.
    fn quoted(&mut self, text: &str) {
        let (text, end) = match text.split_once("\\E") {
            Some((text, _)) => (text, 2),
            None => (text, 0),
        };
        for literal in text.chars() {
            self.literal(literal);
        }
        self.at += 2 + text.len() + end;
    }
}

/// The counts of a repetition `{least,most}`; without `most` it is unbounded.
#[derive(Debug, Clone, Copy)]
struct Counts {
    least: u32,
    most: Option<u32>,
}

/// Reads `{n}`, `{n,}` or `{n,m}` at the start of `text`; any other brace is literal.
fn counts(text: &str) -> Option<(&str, Counts)> {
    let (inner, _) = text.strip_prefix('{')?.split_once('}')?;
    let counts = match inner.split_once(',') {
        None => {
            let count = count(inner)?;
            Counts {
                least: count,
                most: Some(count),
            }
        }
        Some((least, "")) => Counts {
            least: count(least)?,
            most: None,
        },
        Some((least, most)) => Counts {
            least: count(least)?,
            most: Some(count(most)?),
        },
    };
    Some((&text[..inner.len() + 2], counts))
}

/// Reads a count; one that overflows becomes the largest, which is refused later.
fn count(digits: &str) -> Option<u32> {
    let is_number = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    let has_leading_zero = digits.len() > 1 && digits.starts_with('0');
    (is_number && !has_leading_zero).then(|| digits.parse().unwrap_or(u32::MAX))
}
