use super::value;
use gitlab_api::{Token, TokenKind};

/// A place where a token was looked for.
#[derive(Debug)]
pub(super) struct Looked {
    /// The place, in words for the user: `GITLAB_TOKEN`, `~/.netrc`.
    pub(super) place: String,
    /// What was found.
    pub(super) found: Found,
}

/// What a place has.
#[derive(Debug)]
pub(super) enum Found {
    /// This.
    Token(Token),
    /// Nothing, in words for the user: `not set`.
    Nothing(String),
}

impl Looked {
    pub(super) fn nothing(place: impl Into<String>, why: impl Into<String>) -> Self {
        Self {
            place: place.into(),
            found: Found::Nothing(why.into()),
        }
    }

    /// Returns what a place has that holds this text.
    pub(super) fn text(place: impl Into<String>, text: &str, kind: Option<TokenKind>) -> Self {
        let place = place.into();
        match value::token(text) {
            Ok(value) => Self {
                found: Found::Token(Token {
                    kind: value::kind(&value, kind),
                    value,
                    found: place.clone(),
                }),
                place,
            },
            Err(why) => Self::nothing(place, why),
        }
    }

    /// Returns one sentence of it.
    pub(super) fn words(&self) -> String {
        let place = &self.place;
        match &self.found {
            Found::Token(_) => format!("{place}: a token"),
            Found::Nothing(why) => format!("{place}: {why}"),
        }
    }
}
