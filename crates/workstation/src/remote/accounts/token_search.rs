use super::token_text;
use gitlab_api::{Token, TokenKind};

/// A place that may have a token.
#[derive(Debug)]
pub(super) struct TokenPlace {
    /// The place, for the user: `GITLAB_TOKEN`, `~/.netrc`.
    pub(super) place: String,
    /// What it has.
    pub(super) found: Found,
}

/// What a place has.
#[derive(Debug)]
pub(super) enum Found {
    /// A token.
    Token(Token),
    /// Nothing, with the reason for the user: `not set`.
    Nothing(String),
}

impl TokenPlace {
    pub(super) fn nothing(place: impl Into<String>, why: impl Into<String>) -> Self {
        Self {
            place: place.into(),
            found: Found::Nothing(why.into()),
        }
    }

    /// Returns the place of this text.
    pub(super) fn text(place: impl Into<String>, text: &str, kind: Option<TokenKind>) -> Self {
        let place = place.into();
        match token_text::token(text) {
            Ok(value) => Self {
                found: Found::Token(Token {
                    kind: token_text::kind(&value, kind),
                    value,
                    found: place.clone(),
                }),
                place,
            },
            Err(why) => Self::nothing(place, why),
        }
    }

    /// Describes the place for the user.
    pub(super) fn describe(&self) -> String {
        let place = &self.place;
        match &self.found {
            Found::Token(_) => format!("{place}: a token"),
            Found::Nothing(why) => format!("{place}: {why}"),
        }
    }
}
