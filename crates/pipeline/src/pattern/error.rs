use thiserror::Error;

/// Why a text is no pattern that GitLab understands.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct PatternError {
    /// What kind of trouble it is.
    pub kind: PatternErrorKind,
    /// Where in the pattern it is, in bytes.
    pub offset: usize,
    /// What is wrong, in one sentence without a final dot.
    pub message: String,
    /// What the author can do.
    pub help: Option<&'static str>,
}

/// The kinds of trouble with a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PatternErrorKind {
    /// There are no slashes around it.
    NoSlashes,
    /// It is not RE2 syntax.
    Syntax,
    /// It is too long, or would become too large in memory.
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
            help: Some("shorten it, or let it repeat less: at most 1000 times in all"),
        }
    }

    pub(super) fn no_slashes() -> Self {
        Self {
            kind: PatternErrorKind::NoSlashes,
            offset: 0,
            message: "there are no slashes around the regular expression".to_owned(),
            help: Some("write it as `/regex/`, with any of the flags i, s, m and U behind it"),
        }
    }

    pub(super) fn with_help(self, help: &'static str) -> Self {
        Self {
            help: Some(help),
            ..self
        }
    }

    /// Moves the offset from the body of a literal to the literal, whose every `\/` has lost a
    /// byte. It is near the place when the literal is a later line of its text.
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
