//! Resolves unquoted scalars by the rules of GitLab's YAML loader.
//!
//! They are those of YAML 1.1 with deviations: `yes` is true but `y` is text, `0755` is octal,
//! `12:30` is sexagesimal (in hours), `1e3` and `08` are text.

use super::Kind;
use regex::Regex;
use std::sync::LazyLock;

/// The value of an unquoted scalar.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Scalar {
    Null,
    Bool(bool),
    Int(i128),
    Float(f64),
    Text,
    /// A date or time; GitLab's loader refuses these.
    Date,
}

impl Scalar {
    /// Converts the value to a node's kind; `None` for a date.
    pub(super) fn into_kind(self, text: &str) -> Option<Kind> {
        Some(match self {
            Self::Null => Kind::Null,
            Self::Bool(flag) => Kind::Bool(flag),
            Self::Int(number) => Kind::Int(number.into()),
            Self::Float(number) => Kind::Float(number),
            Self::Text => Kind::String(text.into()),
            Self::Date => return None,
        })
    }
}

/// Returns whether the unquoted scalar `text` is a string.
pub fn reads_as_text(text: &str) -> bool {
    resolve(text) == Scalar::Text
}

/// Returns the value of the unquoted scalar `text`.
pub(super) fn resolve(text: &str) -> Scalar {
    if text.is_empty() {
        return Scalar::Null;
    }
    // Most scalars of a pipeline are commands and names, which the first character decides.
    let first = text.as_bytes()[0];
    if !matches!(first, b'0'..=b'9' | b'+' | b'-' | b'.') {
        return resolve_word(text);
    }
    if is_date(text) {
        return Scalar::Date;
    }
    special_float(text)
        .or_else(|| sexagesimal(text))
        .or_else(|| integer(text))
        .or_else(|| float(text))
        .unwrap_or(Scalar::Text)
}

fn resolve_word(text: &str) -> Scalar {
    if text.len() > 5 {
        return Scalar::Text;
    }
    match text.to_ascii_lowercase().as_str() {
        "~" | "null" => Scalar::Null,
        "yes" | "true" | "on" => Scalar::Bool(true),
        "no" | "false" | "off" => Scalar::Bool(false),
        _ => Scalar::Text,
    }
}

fn special_float(text: &str) -> Option<Scalar> {
    match text.to_ascii_lowercase().as_str() {
        ".inf" | "+.inf" => Some(Scalar::Float(f64::INFINITY)),
        "-.inf" => Some(Scalar::Float(f64::NEG_INFINITY)),
        ".nan" => Some(Scalar::Float(f64::NAN)),
        _ => None,
    }
}

/// Reads `12:30` and `1:30:00`: the first part is always hours, and only it has the sign. A
/// fraction after the last part makes the number a float.
fn sexagesimal(text: &str) -> Option<Scalar> {
    const UNITS: [i128; 3] = [3600, 60, 1];
    let (first, _) = text.split_once(':')?;
    let (sign, hours) = split_sign(first);
    let (parts, fraction) = match text.split_once('.') {
        Some((parts, fraction)) => (parts, Some(fraction)),
        None => (text, None),
    };
    let digits = b"0123456789_";
    let fits = hours.starts_with(|c: char| c.is_ascii_digit())
        && consists_of(hours, digits)
        && fraction.is_none_or(|fraction| consists_of(fraction, digits));
    if !fits || parts.matches(':').count() >= UNITS.len() {
        return None;
    }
    let hours: i128 = hours.replace('_', "").parse().ok()?;
    let mut seconds = hours.checked_mul(sign * UNITS[0])?;
    let mut last_unit = UNITS[0];
    for (part, unit) in parts.split(':').zip(UNITS).skip(1) {
        if !matches!(part.len(), 1 | 2) || !consists_of(part, b"0123456789") {
            return None;
        }
        let value: i128 = part.parse().ok().filter(|value| *value <= 59)?;
        seconds = seconds.checked_add(value * unit)?;
        last_unit = unit;
    }
    let Some(fraction) = fraction else {
        return Some(Scalar::Int(seconds));
    };
    let fraction: f64 = format!("0.{}", fraction.replace('_', "")).parse().ok()?;
    #[expect(
        clippy::cast_precision_loss,
        reason = "a float has no more digits, as in GitLab"
    )]
    Some(Scalar::Float(seconds as f64 + fraction * last_unit as f64))
}

fn integer(text: &str) -> Option<Scalar> {
    let (sign, digits) = split_sign(text);
    let parse = |digits: &str, radix: u32, allowed: &[u8]| {
        let clean: String = digits.chars().filter(|c| !matches!(c, '_' | ',')).collect();
        let fits = consists_of(digits, allowed) && !clean.is_empty();
        let value = fits.then(|| i128::from_str_radix(&clean, radix).ok())??;
        Some(Scalar::Int(sign * value))
    };
    if let Some(binary) = digits.strip_prefix("0b") {
        return parse(binary, 2, b"01_,");
    }
    if let Some(hexadecimal) = digits.strip_prefix("0x") {
        return parse(hexadecimal, 16, b"0123456789abcdefABCDEF_,");
    }
    if digits.len() > 1 && digits.starts_with('0') {
        return parse(&digits[1..], 8, b"01234567_,");
    }
    let separators_fit = !digits.ends_with(['_', ','])
        && digits.starts_with(|c: char| c.is_ascii_digit())
        && !["__", ",,", "_,", ",_"]
            .iter()
            .any(|pair| digits.contains(pair));
    separators_fit.then(|| parse(digits, 10, b"0123456789_,"))?
}

/// Reads digits around one point, with an optional exponent that must have a sign.
fn float(text: &str) -> Option<Scalar> {
    let (_, digits) = split_sign(text);
    let (whole, fraction) = digits.split_once('.')?;
    let (fraction, exponent) = match fraction.split_once(['e', 'E']) {
        Some((fraction, exponent)) => (fraction, Some(exponent)),
        None => (fraction, None),
    };
    let exponent_fits = exponent.is_none_or(|exponent| {
        exponent
            .strip_prefix(['+', '-'])
            .is_some_and(|digits| !digits.is_empty() && consists_of(digits, b"0123456789"))
    });
    let whole_fits = whole.is_empty()
        || (whole.starts_with(|c: char| c.is_ascii_digit()) && consists_of(whole, b"0123456789_,"));
    let fits = exponent_fits
        && whole_fits
        && consists_of(fraction, b"0123456789")
        && !(whole.is_empty() && fraction.is_empty());
    if !fits {
        return None;
    }
    let clean: String = text.chars().filter(|c| !matches!(c, '_' | ',')).collect();
    clean.parse().ok().map(Scalar::Float)
}

/// Returns whether the text has the form of a date, optionally with a time; the 31st of February
/// has it too.
fn is_date(text: &str) -> bool {
    static DATE: LazyLock<Regex> = LazyLock::new(|| {
        let date = r"[0-9]{4}-(?:1[012]|0?[0-9])-(?:3[01]|[012]?[0-9])";
        let time = r"[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]*)?";
        let zone = r"[ \t]*(?:Z|[-+][0-9]{1,2}:?(?:[0-9]{2})?)";
        let moment =
            format!(r"-?[0-9]{{4}}-[0-9]{{1,2}}-[0-9]{{1,2}}(?:[Tt]|[ \t]+){time}(?:{zone})?");
        Regex::new(&format!("^(?:{date}|{moment})$")).expect("the pattern is valid")
    });
    // The pattern is compiled only for texts that begin like a date.
    let year = text.strip_prefix('-').unwrap_or(text).as_bytes();
    let begins_like_date = year.get(4) == Some(&b'-') && year[..4].iter().all(u8::is_ascii_digit);
    begins_like_date && DATE.is_match(text)
}

fn split_sign(text: &str) -> (i128, &str) {
    match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    }
}

fn consists_of(text: &str, allowed: &[u8]) -> bool {
    text.bytes().all(|byte| allowed.contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(texts: &[&str], expect: &Scalar) {
        for text in texts {
            assert_eq!(&resolve(text), expect, "resolving {text:?}");
        }
    }

    #[test]
    fn words_of_yaml_1_1_are_null_or_booleans() {
        check(&["", "~", "null", "Null", "NULL"], &Scalar::Null);
        check(
            &["yes", "Yes", "on", "ON", "true", "TRUE"],
            &Scalar::Bool(true),
        );
        check(&["no", "off", "false", "False"], &Scalar::Bool(false));
        check(
            &["y", "n", "none", "truex", "yes please", "é"],
            &Scalar::Text,
        );
    }

    #[test]
    fn integers_have_many_forms() {
        check(
            &["0755", "493", "+493", "0x1ED", "0b111101101", "4_9_3"],
            &Scalar::Int(493),
        );
        check(&["1,000", "1_000"], &Scalar::Int(1000));
        check(&["-1"], &Scalar::Int(-1));
        check(&["12:30", "12:30:00", "+12:30"], &Scalar::Int(45_000));
        check(&["-12:30", "-12:30:00"], &Scalar::Int(-41_400));
        check(
            &["08", "0o17", "1__0", "1_", "+", "-", "12:60", "1:2:3:4"],
            &Scalar::Text,
        );
        check(
            &["1.2.3", "v1", "-x", "12:3a", "0x", "1-2", "- a"],
            &Scalar::Text,
        );
    }

    #[test]
    fn floats_need_a_point_and_a_signed_exponent() {
        check(
            &["1.50", "1.5", "+1.5", "1.5e+0", "1_.5"],
            &Scalar::Float(1.5),
        );
        check(&[".5"], &Scalar::Float(0.5));
        check(&["1."], &Scalar::Float(1.0));
        check(&["-.inf"], &Scalar::Float(f64::NEG_INFINITY));
        check(&["1:2.5", "1:02:30.0", "1:2:30."], &Scalar::Float(3750.0));
        check(&["1:2:3:4.5", "1:60.5", "1.5:2", "a:2.5"], &Scalar::Text);
        check(
            &["1e3", "1.5e3", ".", "+.", "-.e+1", "1.5.0"],
            &Scalar::Text,
        );
    }

    #[test]
    fn dates_are_recognized() {
        check(
            &[
                "2020-01-01",
                "2020-1-1",
                "2020-01-01 10:00:00",
                "2001-12-14t21:59:43.10-05:00",
                "2020-02-31",
                "1999-0-00",
                "-1999-99-99 9:61:61. Z",
                "2020-01-01T10:20:30 -5",
            ],
            &Scalar::Date,
        );
        check(
            &[
                "2020-13-01",
                "2020-01",
                "2020-01-01x",
                "20-01-01",
                "2020-01-01é",
                "2020-01-32",
                "-2020-01-01",
                "2020-01-01T10:2:30",
                "2020-01-01T10:20",
                "2020-01-01T10:20:30 X",
                "2020-01-01 http://a:b:c",
            ],
            &Scalar::Text,
        );
    }
}
