use super::PatternError;
use std::fmt::Write as _;

/// The Perl classes in the crate's grammar. In RE2 they are ASCII, and the vertical tab is not a
/// space.
pub(super) fn perl_class(letter: char) -> Option<&'static str> {
    Some(match letter {
        'd' => "[0-9]",
        'D' => "[^0-9]",
        's' => r"[\t\n\x0C\r ]",
        'S' => r"[^\t\n\x0C\r ]",
        'w' => "[0-9A-Za-z_]",
        'W' => "[^0-9A-Za-z_]",
        _ => return None,
    })
}

/// Writes a literal character.
pub(super) fn push_literal(out: &mut String, literal: char) {
    if literal.is_ascii_alphanumeric() || !literal.is_ascii() {
        out.push(literal);
    } else {
        write!(out, "\\x{:02X}", u32::from(literal)).expect("strings take all text");
    }
}

/// Reads an escape of one character from its backslash on; returns the character and the length of
/// the escape.
pub(super) fn character(text: &str, offset: usize) -> Result<(char, usize), PatternError> {
    let bad = |length: usize| {
        let escape: String = text.chars().take(length).collect();
        PatternError::syntax(offset, format!("the escape `{escape}` is not RE2 syntax"))
    };
    let Some(letter) = text[1..].chars().next() else {
        let error = PatternError::syntax(offset, "the regular expression ends with a backslash");
        return Err(error.with_help("write `\\\\` for a backslash"));
    };
    let literal = match letter {
        'a' => '\x07',
        'f' => '\x0C',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\x0B',
        'x' => return hexadecimal(&text[2..]).ok_or_else(|| bad(2)),
        '0' => return Ok(octal(text)),
        '1'..='7' if text[2..].starts_with(|next: char| next.is_digit(8)) => {
            return Ok(octal(text));
        }
        '1'..='9' => {
            let message = format!("the backreference `\\{letter}` is not RE2 syntax");
            let help = "GitLab's regular expressions have no backreferences; repeat the text";
            return Err(PatternError::syntax(offset, message).with_help(help));
        }
        _ if letter.is_ascii() && !letter.is_ascii_alphanumeric() => letter,
        'Z' => return Err(bad(2).with_help("write `\\z` or `$` for the end of the text")),
        'h' => return Err(bad(2).with_help("write `[0-9a-fA-F]` or `[ \\t]`")),
        _ => return Err(bad(2)),
    };
    Ok((literal, 1 + letter.len_utf8()))
}

/// Reads the digits behind `\x`; the returned length is that of the whole escape.
fn hexadecimal(text: &str) -> Option<(char, usize)> {
    let (digits, around) = match text.strip_prefix('{') {
        Some(inner) => (inner.split_once('}')?.0, 4),
        None => (text.get(..2)?, 2),
    };
    let is_hexadecimal = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    if digits.is_empty() || !is_hexadecimal {
        return None;
    }
    let code = u32::from_str_radix(digits, 16).ok()?;
    Some((char::from_u32(code)?, digits.len() + around))
}

/// Reads one to three octal digits behind a backslash.
fn octal(text: &str) -> (char, usize) {
    let digits = text[1..].chars().map_while(|digit| digit.to_digit(8));
    let (mut code, mut length) = (0, 1);
    for digit in digits.take(3) {
        code = 8 * code + digit;
        length += 1;
    }
    let literal = char::from_u32(code).expect("three octal digits are below the surrogates");
    (literal, length)
}

/// The general categories of RE2; every other name is a script.
const CATEGORIES: [&str; 37] = [
    "C", "Cc", "Cf", "Co", "L", "Ll", "Lm", "Lo", "Lt", "Lu", "M", "Mc", "Me", "Mn", "N", "Nd",
    "Nl", "No", "P", "Pc", "Pd", "Pe", "Pf", "Pi", "Po", "Ps", "S", "Sc", "Sk", "Sm", "So", "Z",
    "Zl", "Zp", "Zs", "Any", "Assigned",
];

/// The prefix of a script's name; it never occurs in literal text, which is escaped.
pub(super) const SCRIPT: &str = "{sc=";

/// Reads `\pN`, `\p{Name}`, `\p{^Name}` and the same with `P`; returns the class in the crate's
/// grammar and the length of the escape.
pub(super) fn unicode_class(text: &str, offset: usize) -> Result<(String, usize), PatternError> {
    let bad = || {
        let escape: String = text.chars().take(3).collect();
        let message = format!("the class `{escape}` is not RE2 syntax");
        PatternError::syntax(offset, message)
            .with_help("write a category or a script, such as `\\p{Lu}` or `\\p{Greek}`")
    };
    let behind = &text[2..];
    let (name, length) = if let Some(inner) = behind.strip_prefix('{') {
        let (name, _) = inner.split_once('}').ok_or_else(bad)?;
        (name, name.len() + 4)
    } else {
        let letter = behind.chars().next().ok_or_else(bad)?;
        (&behind[..letter.len_utf8()], 2 + letter.len_utf8())
    };
    let (name, is_turned) = match name.strip_prefix('^') {
        Some(name) => (name, true),
        None => (name, false),
    };
    let is_negated = text.starts_with("\\P") != is_turned;
    let letter = if is_negated { 'P' } else { 'p' };
    if name == "Any" || CATEGORIES.contains(&name) {
        return Ok((format!("\\{letter}{{{name}}}"), length));
    }
    let is_script = name.len() > 2
        && name.starts_with(|first: char| first.is_ascii_uppercase())
        && name
            .chars()
            .all(|letter| letter.is_ascii_alphabetic() || letter == '_');
    if !is_script {
        return Err(bad());
    }
    Ok((format!("\\{letter}{SCRIPT}{name}}}"), length))
}
