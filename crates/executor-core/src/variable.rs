//! Job variables: their attributes, look-up by name, and expansion of references.
//!
//! Values are expanded twice in their life, as with GitLab, and by two grammars. Whoever makes the
//! job from a pipeline file (GitLab's server, or the `pipeline` crate) resolves variables among each
//! other: it also knows `%NAME%`, follows references however deep, and leaves `$$` and unknown names
//! alone, because the runner knows more variables. The runner then does what is here, in one pass:
//! an unknown name is empty now, and `$$` becomes the dollar sign it stands for. One grammar for both
//! would either lose what only the runner knows or undo a `$$` too early. What a name is, both get
//! from [`name_length`].

use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use thiserror::Error;

/// How long the value of one variable may reasonably become, in bytes: 1 MiB.
///
/// No process can be given more in one variable, on any system there is.
pub const LONGEST_VALUE: usize = 1 << 20;

/// One variable of a job, with the attributes GitLab gives it.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "GitLab's payload has one flag per attribute"
)]
pub struct JobVariable {
    /// The name.
    pub key: String,
    /// The value.
    pub value: String,
    /// Whether it may be shown; services get public variables only.
    pub public: bool,
    /// Whether the value is written to a file and the variable holds the file's path.
    pub file: bool,
    /// Whether the value is hidden in the log.
    pub masked: bool,
    /// Whether references in the value stay as they are.
    pub raw: bool,
}

impl JobVariable {
    /// Returns a variable that may be shown.
    pub fn public(key: impl Into<String>, value: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            value: value.into(),
            public: true,
            ..Self::default()
        }
    }

    /// Returns a variable whose value is hidden in the log and taken literally.
    pub fn masked(key: impl Into<String>, value: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            value: value.into(),
            masked: true,
            raw: true,
            ..Self::default()
        }
    }

    /// Returns a variable whose value is written to a file.
    pub fn file(key: impl Into<String>, value: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            value: value.into(),
            file: true,
            raw: true,
            ..Self::default()
        }
    }
}

impl fmt::Debug for JobVariable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = if self.public && !self.masked {
            self.value.as_str()
        } else {
            "[MASKED]"
        };
        f.debug_struct("JobVariable")
            .field("key", &self.key)
            .field("value", &value)
            .field("public", &self.public)
            .field("file", &self.file)
            .field("masked", &self.masked)
            .field("raw", &self.raw)
            .finish()
    }
}

/// Variables in order of precedence, lowest first, with look-up by name.
///
/// # Examples
///
/// ```
/// use executor_core::variable::{JobVariable, JobVariables};
///
/// let variables: JobVariables = [
///     JobVariable::public("WHO", "world"),
///     JobVariable::public("GREETING", "hello $WHO"),
/// ]
/// .into_iter()
/// .collect();
/// assert_eq!(variables.expand("${GREETING}!"), "hello $WHO!");
/// assert_eq!(variables.expanded().get("GREETING"), Some("hello world"));
/// ```
#[derive(Debug, Clone, Default)]
pub struct JobVariables {
    list: Vec<JobVariable>,
    index: HashMap<String, usize>,
}

impl JobVariables {
    /// Returns an empty collection.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a variable; one of the same name is replaced in its place.
    pub fn push(&mut self, variable: JobVariable) {
        if let Some(&at) = self.index.get(&variable.key) {
            self.list[at] = variable;
        } else {
            self.index.insert(variable.key.clone(), self.list.len());
            self.list.push(variable);
        }
    }

    /// Returns the value of the variable `key`.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.variable(key).map(|variable| variable.value.as_str())
    }

    /// Returns the variable `key`.
    pub fn variable(&self, key: &str) -> Option<&JobVariable> {
        self.index.get(key).map(|&at| &self.list[at])
    }

    /// Returns the variables in the order they were first added.
    pub fn iter(&self) -> std::slice::Iter<'_, JobVariable> {
        self.list.iter()
    }

    /// Returns how many variables there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Returns whether there is none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Replaces `$NAME` and `${NAME}` in `text` by the variables' values, in one pass.
    ///
    /// `$$` stands for one dollar sign; a reference to an unknown variable becomes empty text.
    /// Values put in are not expanded again.
    pub fn expand<'t>(&self, text: &'t str) -> Cow<'t, str> {
        expand_with(text, |name| self.get(name).map(Cow::Borrowed))
    }

    /// Returns the variables with the references in their values replaced, each in one pass.
    ///
    /// Raw and file variables keep their values, and so does one whose value would become longer
    /// than [`LONGEST_VALUE`].
    pub fn expanded(&self) -> Self {
        let list = self.list.iter().map(|variable| {
            if variable.raw || variable.file {
                return variable.clone();
            }
            let look_up = |name: &str| self.get(name).map(Cow::Borrowed);
            match expand_within(LONGEST_VALUE, &variable.value, look_up) {
                Ok(value) => JobVariable {
                    value: value.into_owned(),
                    ..variable.clone()
                },
                Err(TooLong { .. }) => variable.clone(),
            }
        });
        Self {
            list: list.collect(),
            index: self.index.clone(),
        }
    }
}

impl FromIterator<JobVariable> for JobVariables {
    fn from_iter<I: IntoIterator<Item = JobVariable>>(iter: I) -> Self {
        let mut variables = Self::new();
        variables.extend(iter);
        variables
    }
}

impl Extend<JobVariable> for JobVariables {
    fn extend<I: IntoIterator<Item = JobVariable>>(&mut self, iter: I) {
        iter.into_iter().for_each(|variable| self.push(variable));
    }
}

impl<'a> IntoIterator for &'a JobVariables {
    type Item = &'a JobVariable;
    type IntoIter = std::slice::Iter<'a, JobVariable>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Replaces references in `text` by what `look_up` returns for a name; `None` becomes empty text.
///
/// The result may be as long as the number of references times the longest value; where strangers
/// write both, use [`expand_within`].
pub fn expand_with<'t, 'v>(
    text: &'t str,
    look_up: impl Fn(&str) -> Option<Cow<'v, str>>,
) -> Cow<'t, str> {
    expand_within(usize::MAX, text, look_up).expect("no text is longer than the address space")
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
    fn raw_values_are_not_expanded_and_later_values_win() {
        let mut variables = JobVariables::new();
        variables.push(JobVariable::public("A", "old"));
        variables.push(JobVariable {
            raw: true,
            ..JobVariable::public("RAW", "$A")
        });
        variables.push(JobVariable::public("USES", "<$A $RAW>"));
        variables.push(JobVariable::public("A", "new"));
        let expanded = variables.expanded();
        assert_eq!(expanded.get("RAW"), Some("$A"));
        assert_eq!(expanded.get("USES"), Some("<new $A>"));
        assert_eq!(expanded.len(), 3);
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

    #[test]
    fn a_value_that_explodes_keeps_its_references() {
        let bomb = "$LONG".repeat(2);
        let long = "x".repeat(LONGEST_VALUE / 2 + 1);
        let variables: JobVariables = [
            JobVariable::public("LONG", long),
            JobVariable::public("BOMB", bomb.as_str()),
        ]
        .into_iter()
        .collect();
        assert_eq!(variables.expanded().get("BOMB"), Some(bomb.as_str()));
    }

    #[test]
    fn debug_output_hides_values_that_are_not_public() {
        let shown = format!("{:?}", JobVariable::masked("TOKEN", "hunter2"));
        assert!(!shown.contains("hunter2"), "{shown}");
    }
}
