//! The parts of a repository's URL, and its secrets.

use executor_core::job::SecretString;

/// The parts of `scheme://user:password@host:port/path`.
#[derive(Debug)]
pub(super) struct Address<'u> {
    pub(super) scheme: &'u str,
    /// The part of the authority before its last `@`.
    pub(super) user_info: Option<&'u str>,
    /// The host, with a port if it is given.
    pub(super) host: &'u str,
    /// Everything after the authority, with the slash.
    pub(super) path: &'u str,
}

impl<'u> Address<'u> {
    /// Splits a URL; returns `None` if it has no scheme.
    pub(super) fn split(url: &'u str) -> Option<Self> {
        let (scheme, rest) = url.split_once("://")?;
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        let (user_info, host) = match authority.rsplit_once('@') {
            Some((user_info, host)) => (Some(user_info), host),
            None => (None, authority),
        };
        Some(Self {
            scheme,
            user_info,
            host,
            path,
        })
    }

    /// Returns whether a user name without a password is a login, not a token.
    pub(super) fn user_is_login(&self) -> bool {
        self.scheme.eq_ignore_ascii_case("ssh") || self.scheme.eq_ignore_ascii_case("git")
    }
}

/// Returns the password of a URL, or the token that is its user name: as written, and decoded if
/// that differs.
///
/// It also accepts URLs that [`Remote`](super::Remote) refuses, since they may be shown too.
///
/// ```
/// let secrets = shells::git::secrets_in("https://ci:a%2Fb@host/p.git");
/// let shown: Vec<_> = secrets.iter().map(|secret| secret.expose()).collect();
/// assert_eq!(shown, ["a%2Fb", "a/b"]);
/// ```
pub fn secrets_in(url: &str) -> Vec<SecretString> {
    let Some(address) = Address::split(url) else {
        return Vec::new();
    };
    let secret = match address
        .user_info
        .map(|info| info.split_once(':').ok_or(info))
    {
        Some(Ok((_, password))) if !password.is_empty() => password,
        Some(Ok((token, _)) | Err(token)) if !token.is_empty() && !address.user_is_login() => token,
        _ => return Vec::new(),
    };
    let decoded = percent_decoded(secret);
    let mut secrets = vec![secret.into()];
    if decoded != secret {
        secrets.push(decoded.into());
    }
    secrets
}

pub(super) fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let digit = |at: usize| tail.get(at).and_then(|&byte| char::from(byte).to_digit(16));
        if let (b'%', Some(high), Some(low)) = (first, digit(0), digit(1)) {
            bytes.push(u8::try_from(high * 16 + low).expect("two hexadecimal digits are a byte"));
            rest = &tail[2..];
        } else {
            bytes.push(first);
            rest = tail;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_and_tokens_are_secret_with_any_scheme() {
        let check = |url, expect: &[&str]| {
            let secrets = secrets_in(url);
            let secrets: Vec<_> = secrets.iter().map(SecretString::expose).collect();
            assert_eq!(secrets, expect, "{url}");
        };
        check("https://ci:t0k@host/p.git", &["t0k"]);
        check("https://ci:t0k@host?x=1", &["t0k"]);
        check("https://ghp_token@host/p.git", &["ghp_token"]);
        check("https://ghp_token:@host/p.git", &["ghp_token"]);
        check("https://:t%40k@host/p.git", &["t%40k", "t@k"]);
        check("ssh://git@host/p.git", &[]);
        check("ssh://git:pw@host/p.git", &["pw"]);
        check("git://u:pw@host/p.git", &["pw"]);
        check("ftp://u:pw@host/p.git", &["pw"]);
        check("https://host/a@b:c", &[]);
        check("git@host:p.git", &[]);
        check("/srv/repo", &[]);
    }
}
