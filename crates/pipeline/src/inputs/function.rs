use super::text::LONGEST_TEXT;
use crate::context::expand_existing;
use executor_core::variable::JobVariables;
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use yaml::{Kind, Node};

/// The maximum number of functions of a block.
pub(super) const MOST_FUNCTIONS: usize = 3;

/// A function applied to a value before its insertion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Function {
    /// A part of the text, in characters.
    Truncate {
        offset: usize,
        length: usize,
    },
    ExpandVars,
    PosixEscape,
}

impl Function {
    /// Reads a call.
    pub(super) fn parse(call: &str) -> Option<Self> {
        match call {
            "expand_vars" => return Some(Self::ExpandVars),
            "posix_escape" => return Some(Self::PosixEscape),
            _ => {}
        }
        let arguments = call.strip_prefix("truncate(")?;
        // GitLab does not require the closing parenthesis.
        let arguments = arguments.strip_suffix(')').unwrap_or(arguments);
        let (offset, length) = arguments.split_once(',')?;
        Some(Self::Truncate {
            offset: count(offset)?,
            length: count(length)?,
        })
    }

    fn name(self) -> &'static str {
        match self {
            Self::Truncate { .. } => "truncate",
            Self::ExpandVars => "expand_vars",
            Self::PosixEscape => "posix_escape",
        }
    }

    /// Applies the function; returns a message on error.
    pub(super) fn call(self, value: &Node, variables: &JobVariables) -> Result<Arc<Node>, String> {
        let name = self.name();
        let Kind::String(text) = &value.kind else {
            return Err(format!(
                "error in `{name}` function: invalid input type: {name} can only be used with \
                 string inputs"
            ));
        };
        let result = match self {
            Self::Truncate { offset, length } => text.chars().skip(offset).take(length).collect(),
            Self::ExpandVars => expand(text, variables)?,
            Self::PosixEscape => escape(text),
        };
        if result.len() > LONGEST_TEXT {
            return Err(format!(
                "error in `{name}` function: the result is too long"
            ));
        }
        Ok(Arc::new(Node::new(Kind::String(result.into()), value.span)))
    }
}

/// Reads an integer; one that overflows becomes the largest.
fn count(text: &str) -> Option<usize> {
    let digits = text.trim_matches([' ', '\t', '\r', '\n', '\u{b}', '\u{c}']);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().unwrap_or(usize::MAX))
}

/// Escapes a text for a POSIX shell.
fn escape(text: &str) -> String {
    if text.is_empty() {
        return "''".to_owned();
    }
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' => escaped.push_str("'\n'"),
            '_' | '-' | '.' | ',' | ':' | '+' | '/' | '@' => escaped.push(character),
            _ if character.is_ascii_alphanumeric() => escaped.push(character),
            _ => escaped.extend(['\\', character]),
        }
    }
    escaped
}

/// Expands references to variables once; those to unknown ones stay.
fn expand(text: &str, variables: &JobVariables) -> Result<String, String> {
    let masked: RefCell<Option<String>> = RefCell::default();
    let length = Cell::new(text.len());
    let expanded = expand_existing(text, |name| {
        let variable = variables.variable(name)?;
        if variable.masked {
            masked.borrow_mut().get_or_insert_with(|| name.to_owned());
        }
        length.set(length.get() + variable.value.len());
        // A text that is too long is refused below and need not grow further.
        let matches = length.get() <= LONGEST_TEXT;
        Some(if matches { variable.value.as_str() } else { "" })
    });
    let error = |words: String| Err(format!("error in `expand_vars` function: {words}"));
    if let Some(name) = masked.take() {
        return error(format!(
            "variable expansion error: masked variables cannot be expanded (`{name}`)"
        ));
    }
    if length.get() > LONGEST_TEXT {
        return error("the result is too long".to_owned());
    }
    Ok(expanded.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use executor_core::variable::JobVariable;

    fn variables() -> JobVariables {
        let mut variables = JobVariables::default();
        variables.push(JobVariable::public("A", "1"));
        variables.push(JobVariable::public("NESTED", "$A"));
        variables.push(JobVariable::masked("SECRET", "s"));
        variables
    }

    #[test]
    fn calls_are_parsed_strictly() {
        let truncate = |offset, length| Some(Function::Truncate { offset, length });
        assert_eq!(Function::parse("truncate(1,2)"), truncate(1, 2));
        assert_eq!(Function::parse("truncate( 0 , 10 )"), truncate(0, 10));
        assert_eq!(Function::parse("truncate(1,2"), truncate(1, 2));
        assert_eq!(Function::parse("expand_vars"), Some(Function::ExpandVars));
        for call in [
            "",
            "truncate",
            "truncate(1)",
            "truncate(-1,2)",
            "truncate(1,2,3)",
            "truncate(a,b)",
            "expand_vars()",
            "posix_escape ",
            "Truncate(1,2)",
            "truncate (1,2)",
            "truncate(,)",
        ] {
            assert_eq!(Function::parse(call), None, "{call:?}");
        }
    }

    #[test]
    fn variables_are_expanded_once_and_unknown_ones_stay() {
        let check = |text: &str, expect: &str| {
            assert_eq!(
                expand(text, &variables()).as_deref(),
                Ok(expect),
                "{text:?}"
            );
        };
        check("$A-${A}-%A%", "1-1-1");
        check("$NOPE ${NOPE} %NOPE% $AB", "$NOPE ${NOPE} %NOPE% $AB");
        check("$NESTED", "$A");
        check("$$A ${A ${} é$", "$1 ${A ${} é$");
        assert!(
            expand("x $SECRET", &variables())
                .unwrap_err()
                .contains("masked")
        );
    }

    #[test]
    fn special_characters_are_escaped_for_shells() {
        assert_eq!(escape("a b'c"), "a\\ b\\'c");
        assert_eq!(escape(""), "''");
        assert_eq!(escape("a\n$é"), "a'\n'\\$\\é");
        assert_eq!(escape("A-z_0.9,:+/@"), "A-z_0.9,:+/@");
    }
}
