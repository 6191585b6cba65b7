use thiserror::Error;

/// Why a text is not a valid pattern.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct PatternError {
    /// The kind of error.
    pub kind: PatternErrorKind,
    /// The offset in the pattern, in bytes.
    pub offset: usize,
    /// The error, in one sentence without a final dot.
    pub message: String,
    /// A suggestion for the author.
    pub help: Option<&'static str>,
}

/// The kinds of [`PatternError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PatternErrorKind {
    /// There are no slashes around it.
    NoSlashes,
    /// It is not RE2 syntax.
    Syntax,
    /// It is too long, or compiles to too large a program.
    TooLarge,
}

impl PatternError {
    pub(super) fn syntax(offset: usize, message: impl Into<String>) -> Self {
        Self {
            kind: PatternErrorKind::Syntax,
            offset,
            message: message.into(),
            help: None,
        }
    }

    pub(super) fn too_large(offset: usize) -> Self {
        Self {
            kind: PatternErrorKind::TooLarge,
            offset,
            message: "the regular expression is too large".to_owned(),
            help: Some("shorten it, or reduce its repetitions to 1000 in all"),
        }
    }

    pub(super) fn no_slashes() -> Self {
        Self {
            kind: PatternErrorKind::NoSlashes,
            offset: 0,
            message: "there are no slashes around the regular expression".to_owned(),
            help: Some("write it as `/regex/`, optionally followed by the flags i, s, m and U"),
        }
    }

    pub(super) fn with_help(self, help: &'static str) -> Self {
        Self {
            help: Some(help),
            ..self
        }
    }

    /// Converts an offset in the body of a literal to one in the literal itself, where each `\/` is
    /// a byte longer. For a literal on a later line of its text the result is approximate.
    pub(super) fn behind_slash(self, literal: &str) -> Self {
        let mut rest = self.offset;
        let body_start = literal.find('/').map_or(0, |at| at + 1);
        let mut offset = body_start;
        let bytes = literal.as_bytes();
        while rest > 0 && offset < bytes.len() {
            let is_escaped = bytes[offset] == b'\\' && bytes.get(offset + 1) == Some(&b'/');
            offset += if is_escaped { 2 } else { 1 };
            rest -= 1;
        }
        let offset = literal.floor_char_boundary(offset);
        Self { offset, ..self }
    }
}
