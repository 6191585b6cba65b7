use std::borrow::Cow;
use thiserror::Error;

/// The limit for the length of an expanded value: 1 MiB.
///
/// No supported system passes a longer variable to a process.
pub const LONGEST_VALUE: usize = 1 << 20;

/// The longest `NAME=value` that Linux passes to a program, with its final NUL.
pub const MAX_ENVIRONMENT_ENTRY: usize = 128 * 1024;

/// Replaces references in `text` with the values that `look_up` returns; `None` becomes empty text.
///
/// The result may be as long as the number of references times the longest value. For untrusted
/// texts and values, use [`expand_within`].
#[expect(
    clippy::missing_panics_doc,
    reason = "no text is longer than the address space"
)]
pub fn expand_with<'t, 'v>(
    text: &'t str,
    look_up: impl Fn(&str) -> Option<Cow<'v, str>>,
) -> Cow<'t, str> {
    expand_within(usize::MAX, text, look_up).expect("the limit is the address space")
}

/// The error of an expansion that exceeds its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the text becomes longer than {limit} bytes")]
pub struct TooLong {
    /// The limit in bytes.
    pub limit: usize,
}

/// Expands like [`expand_with`], up to a length of `limit` bytes.
///
/// # Errors
///
/// When the result would be longer; it is not built.
pub fn expand_within<'t, 'v>(
    limit: usize,
    text: &'t str,
    look_up: impl Fn(&str) -> Option<Cow<'v, str>>,
) -> Result<Cow<'t, str>, TooLong> {
    if !text.contains('$') && text.len() <= limit {
        return Ok(Cow::Borrowed(text));
    }
    let append = |out: &mut String, piece: &str| {
        if piece.len() > limit - out.len() {
            return Err(TooLong { limit });
        }
        out.push_str(piece);
        Ok(())
    };
    let mut out = String::with_capacity(text.len().min(limit));
    let mut rest = text;
    while let Some(dollar) = rest.find('$') {
        append(&mut out, &rest[..dollar])?;
        rest = &rest[dollar + 1..];
        let (reference, length) = Reference::at_start_of(rest);
        match reference {
            Reference::Name(name) => append(&mut out, &look_up(name).unwrap_or_default())?,
            Reference::Dollar | Reference::None => append(&mut out, "$")?,
        }
        rest = &rest[length..];
    }
    append(&mut out, rest)?;
    Ok(Cow::Owned(out))
}

/// The text after a dollar sign.
enum Reference<'t> {
    Name(&'t str),
    Dollar,
    None,
}

impl<'t> Reference<'t> {
    /// Parses the reference at the start of `text`, which follows a dollar sign; returns its length too.
    fn at_start_of(text: &'t str) -> (Self, usize) {
        if text.starts_with('$') {
            return (Self::Dollar, 1);
        }
        if let Some(inner) = text.strip_prefix('{') {
            let name = &inner[..name_length(inner)];
            let closed = inner[name.len()..].starts_with('}');
            if !name.is_empty() && closed {
                return (Self::Name(name), name.len() + 2);
            }
            return (Self::None, 0);
        }
        let name = &text[..name_length(text)];
        if name.is_empty() {
            (Self::None, 0)
        } else {
            (Self::Name(name), name.len())
        }
    }
}

/// Returns the length of the variable name at the start of `text`; 0 when there is none.
///
/// A name in a reference has ASCII letters, digits and underscores, and does not start with a digit.
///
/// # Examples
///
/// ```
/// use executor_core::variable::name_length;
///
/// assert_eq!(name_length("HOME/bin"), "HOME".len());
/// assert_eq!(name_length("1st"), 0);
/// ```
pub fn name_length(text: &str) -> usize {
    let mut length = 0;
    for (at, byte) in text.bytes().enumerate() {
        let fits = byte == b'_' || byte.is_ascii_alphabetic() || (at > 0 && byte.is_ascii_digit());
        if !fits {
            break;
        }
        length = at + 1;
    }
    length
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::variable::{JobVariable, JobVariables};

    fn check(text: &str, expect: &str) {
        let variables: JobVariables = [
            JobVariable::public("A", "1"),
            JobVariable::public("LONG_name9", "two"),
            JobVariable::public("NESTED", "$A"),
        ]
        .into_iter()
        .collect();
        assert_eq!(variables.expand(text), expect, "expanding {text:?}");
    }

    #[test]
    fn replaces_references_in_one_pass() {
        check("", "");
        check("no reference", "no reference");
        check("$A${A}$A", "111");
        check("${LONG_name9}x$LONG_name9", "twoxtwo");
        check("$LONG_name9x", "");
        check("$NESTED", "$A");
        check("$UNKNOWN|${UNKNOWN}|", "||");
    }

    #[test]
    fn other_dollar_signs_stay() {
        check("$", "$");
        check("$$A", "$A");
        check("a$ b", "a$ b");
        check("${", "${");
        check("${A", "${A");
        check("${}", "${}");
        check("$1", "$1");
        check("$(date)", "$(date)");
    }

    #[test]
    fn rejects_results_beyond_the_limit() {
        let limit = 10;
        let look_up = |_: &str| Some(Cow::Borrowed("1234"));
        let within = |text| expand_within(limit, text, look_up);
        assert_eq!(within("$A$A$$x").as_deref(), Ok("12341234$x"));
        assert_eq!(within("1234567890").as_deref(), Ok("1234567890"));
        for text in ["$A$A$A", "$A$A...", "$A$A..$", "12345678901"] {
            assert_eq!(within(text), Err(TooLong { limit }), "{text}");
        }
    }
}
