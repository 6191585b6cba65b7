//! Checks of the values in an entry of `include`.

use super::text::Text;
use crate::config::parse_duration;
use yaml::diagnostic::{Diagnostic, Diagnostics};
use yaml::{Kind, Node};

/// The lifetime in the cache that `cache: true` means, in seconds.
const DEFAULT_CACHE: u64 = 3600;
/// The minimum lifetime in the cache, in seconds.
const SHORTEST_CACHE: u64 = 60;

/// Returns whether a text is a URL rather than a path.
pub(super) fn is_url(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once("://") else {
        return false;
    };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    ["http", "https", "ssh", "git"]
        .iter()
        .any(|known| scheme.eq_ignore_ascii_case(known))
        && !host.is_empty()
        && !text.contains(char::is_whitespace)
}

/// Returns whether a file name has the extension of YAML.
pub(super) fn is_yaml(path: &str) -> bool {
    let base = path.rsplit('/').next().unwrap_or_default();
    base.rsplit_once('.').is_some_and(|(stem, extension)| {
        let mut known = ["yml", "yaml"].iter();
        !stem.is_empty() && known.any(|known| extension.eq_ignore_ascii_case(known))
    })
}

/// Checks that the location of a remote file is a URL.
pub(super) fn url(location: &Text, diagnostics: &mut Diagnostics) -> Option<()> {
    if is_url(&location.value) {
        return Some(());
    }
    let message = format!(
        "include:include config `{}` is not a URL such as https://host/file.yml",
        location.shown
    );
    let error = Diagnostic::error("invalid-include", message).at(location.span);
    diagnostics.push(error.with_help(location.unset_help()));
    None
}

/// Checks that a text is not empty after the expansion of its variables.
pub(super) fn not_empty(text: &Text, what: &str, diagnostics: &mut Diagnostics) -> Option<()> {
    if !text.value.trim().is_empty() {
        return Some(());
    }
    let error = Diagnostic::error("invalid-include", format!("include: {what} is empty"));
    diagnostics.push(error.at(text.span).with_help(text.unset_help()));
    None
}

/// Checks that a name has the form of a template's name.
pub(super) fn template(name: &Text, diagnostics: &mut Diagnostics) -> Option<()> {
    not_empty(name, "the location", diagnostics)?;
    if name.value.ends_with(".gitlab-ci.yml") {
        return Some(());
    }
    let shown = &name.shown;
    let message = format!("include: `{shown}` is not the name of a template");
    let help = "the names of templates end in `.gitlab-ci.yml`, such as `Jobs/Build.gitlab-ci.yml`";
    let help = name.unset_help().unwrap_or_else(|| help.to_owned());
    let error = Diagnostic::error("include-extension", message).at(name.span);
    diagnostics.push(error.with_help(help));
    None
}

/// Checks that a file name has the extension of YAML.
pub(super) fn extension(location: &Text, diagnostics: &mut Diagnostics) -> Option<()> {
    if is_yaml(&location.value) {
        return Some(());
    }
    not_empty(location, "the location", diagnostics)?;
    let shown = &location.shown;
    let message = format!("include: `{shown}` does not have the extension `.yml` or `.yaml`");
    let error = Diagnostic::error("include-extension", message).at(location.span);
    diagnostics.push(error.with_help(location.unset_help()));
    None
}

/// Reads the expected digest of a remote file: `sha256-` and 32 bytes in Base64.
pub(super) fn integrity(node: &Node, diagnostics: &mut Diagnostics) -> Option<String> {
    let is_base64 = |text: &str| {
        let digits = text.strip_suffix('=').unwrap_or_default();
        let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/';
        digits.len() == 43 && digits.bytes().all(is_digit)
    };
    let text = node.as_str();
    let hash = text.and_then(|text| text.strip_prefix("sha256-"));
    if hash.is_some_and(is_base64) {
        return text.map(ToOwned::to_owned);
    }
    let message = "include:include config has an `integrity` that is not a SHA-256 in Base64";
    let help =
        "write `sha256-` and the 44 characters of `openssl dgst -sha256 -binary FILE | base64`";
    let error = Diagnostic::error("invalid-include", message).at(node.span);
    diagnostics.push(error.with_help(help.to_owned()));
    None
}

/// Reads the lifetime of a remote file in the cache. The outer `None` means a mistake.
#[expect(
    clippy::option_option,
    reason = "a mistake and `cache: false` are not the same"
)]
pub(super) fn cache(node: &Node, diagnostics: &mut Diagnostics) -> Option<Option<u64>> {
    let seconds = match &node.kind {
        Kind::Bool(true) => return Some(Some(DEFAULT_CACHE)),
        Kind::Bool(false) => return Some(None),
        Kind::String(text) => parse_duration(text).map(|duration| duration.as_secs()),
        _ => None,
    };
    if seconds.is_some_and(|seconds| seconds >= SHORTEST_CACHE) {
        return Some(seconds);
    }
    let message = "include:include config has a `cache` that is neither a boolean nor a duration \
                   of at least 1 minute";
    diagnostics.push(Diagnostic::error("invalid-include", message).at(node.span));
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_has_a_scheme_and_a_host() {
        let cases = [
            ("https://e.com/a.yml", true),
            ("HTTP://e.com", true),
            ("git://e.com/a.yml", true),
            ("https:///a.yml", false),
            ("file:///etc/passwd.yml", false),
            ("https//e.com/a.yml", false),
            ("/a.yml", false),
        ];
        for (text, expect) in cases {
            assert_eq!(is_url(text), expect, "{text}");
        }
    }
}
