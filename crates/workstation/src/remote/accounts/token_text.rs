use executor_core::job::SecretString;
use gitlab_api::TokenKind;

/// Returns a token from its text, or why it is invalid, without showing it.
///
/// It becomes a line of a request, so it must not have a line break.
pub(super) fn token(text: &str) -> Result<SecretString, &'static str> {
    let text = text.trim();
    if text.is_empty() {
        return Err("empty");
    }
    if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("left out: a token has no spaces, line breaks or special characters");
    }
    if text.len() > 16 << 10 {
        return Err("left out: too long for a token");
    }
    Ok(SecretString::new(text))
}

/// Returns the kind of a token by its prefix, or else by its place.
pub(super) fn kind(token: &SecretString, by_place: Option<TokenKind>) -> TokenKind {
    if token.expose().starts_with("glcbt-") {
        return TokenKind::Job;
    }
    if token.expose().starts_with("glpat-") {
        return TokenKind::Access;
    }
    by_place.unwrap_or(TokenKind::Access)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_break_a_request_are_rejected() {
        let check = |text: &str, expect: Option<&str>| {
            let read = token(text);
            assert_eq!(read.as_ref().ok().map(SecretString::expose), expect);
        };
        check("glpat-x_1.2", Some("glpat-x_1.2"));
        check(" glpat-x\n", Some("glpat-x"));
        check("a\r\nx: y", None);
        check("a b", None);
        check("a\u{7}b", None);
        check("ä", None);
        check("\n", None);
        check(&"x".repeat(20_000), None);
    }
}
