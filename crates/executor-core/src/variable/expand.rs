use std::borrow::Cow;
use thiserror::Error;

/// How long the value of one variable may reasonably become, in bytes: 1 MiB.
///
/// No process can be given more in one variable, on any system there is.
pub const LONGEST_VALUE: usize = 1 << 20;

/// Replaces references in `text` by what `look_up` returns for a name; `None` becomes empty text.
///
/// The result may be as long as the number of references times the longest value; where strangers
/// write both, use [`expand_within`].
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

/// A text became too long when its references were replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the text becomes longer than {limit} bytes")]
pub struct TooLong {
    /// How long it may be, in bytes.
    pub limit: usize,
}

/// Does what [`expand_with`] does, up to a length of `limit` bytes.
///
/// # Errors
///
/// When the result would be longer; it has not been built then.
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

/// What stands behind a dollar sign.
enum Reference<'t> {
    Name(&'t str),
    Dollar,
    None,
}

impl<'t> Reference<'t> {
    /// Reads the reference at the start of `text`, which follows a dollar sign, and its length.
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

/// Returns how many bytes at the start of `text` could be the name of a variable in a reference:
/// ASCII letters, digits and underscores, not beginning with a digit. 0 means there is no name.
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
    fn references_are_replaced_in_one_pass() {
        check("", "");
        check("no reference", "no reference");
        check("$A${A}$A", "111");
        check("${LONG_name9}x$LONG_name9", "twoxtwo");
        check("$LONG_name9x", "");
        check("$NESTED", "$A");
        check("$UNKNOWN|${UNKNOWN}|", "||");
    }

    #[test]
    fn dollars_that_are_no_reference_stay() {
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
    fn growth_ends_at_the_limit() {
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
