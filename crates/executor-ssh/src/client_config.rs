//! `~/.ssh/config`, as far as it says where a host is and who logs in (`ssh_config(5)`).
//!
//! Honoured are `Host`, `HostName`, `User`, `Port`, `IdentityFile` and `ProxyJump`. Each other keyword that applies to the
//! host, and each `Match` and `Include`, is named in a note. The crate `ssh2-config` is not used: it applies the lines of
//! a `Match` to the host above it, and its errors have no line.

use crate::error::SshError;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// What the file says about one host.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) host_name: Option<String>,
    pub(crate) user: Option<String>,
    pub(crate) port: Option<u16>,
    pub(crate) identity_files: Vec<PathBuf>,
    pub(crate) proxy_jump: Option<String>,
    /// The keywords that apply and are not honoured, with their lines.
    pub(crate) ignored: BTreeSet<(usize, String)>,
}

/// Keywords that change neither where a connection ends nor who is on its ends.
const HARMLESS: [&str; 22] = [
    "addkeystoagent",
    "clearallforwardings",
    "compression",
    "connectionattempts",
    "connecttimeout",
    "controlmaster",
    "controlpath",
    "controlpersist",
    "escapechar",
    "forwardagent",
    "forwardx11",
    "forwardx11trusted",
    "hashknownhosts",
    "ignoreunknown",
    "loglevel",
    "requesttty",
    "sendenv",
    "serveralivecountmax",
    "serveraliveinterval",
    "tcpkeepalive",
    "usekeychain",
    "visualhostkey",
];

/// Returns what `text`, the content of `path`, says about `host`. The first value of a keyword counts.
///
/// # Errors
///
/// When a line cannot be read; the error names it.
pub(crate) fn look_up(
    text: &str,
    path: &Path,
    host: &str,
    home: Option<&Path>,
) -> Result<Entry, SshError> {
    let mut entry = Entry::default();
    let mut applies = true;
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        let refused = |why: &str| SshError::config(format!("{}:{number}: {why}", path.display()));
        let words = words(line).ok_or_else(|| refused("a quotation mark has no counterpart"))?;
        let Some((keyword, values)) = words.split_first() else {
            continue;
        };
        let lower = keyword.to_ascii_lowercase();
        let Some(value) = values.first() else {
            return Err(refused(&format!("{keyword} has no value")));
        };
        match &*lower {
            "host" => {
                applies = matches_any(values.iter().map(String::as_str), host);
                continue;
            }
            "match" => {
                // Its conditions are not evaluated, so its lines apply to no host.
                applies = false;
                entry.ignored.insert((number, keyword.clone()));
                continue;
            }
            _ if !applies => continue,
            _ => {}
        }
        match &*lower {
            "hostname" => {
                entry
                    .host_name
                    .get_or_insert_with(|| value.replace("%h", host));
            }
            "user" => {
                entry.user.get_or_insert_with(|| value.clone());
            }
            "port" => {
                let port = value.parse().ok().filter(|port| *port != 0);
                let port = port.ok_or_else(|| refused(&format!("{value} is not a port")))?;
                entry.port.get_or_insert(port);
            }
            "identityfile" => entry.identity_files.push(expand(value, home)),
            "proxyjump" => {
                entry.proxy_jump.get_or_insert_with(|| value.clone());
            }
            other if HARMLESS.contains(&other) => {}
            _ => {
                entry.ignored.insert((number, keyword.clone()));
            }
        }
    }
    Ok(entry)
}

/// Returns the path with `~` and `%d` as the home directory.
pub(crate) fn expand(path: &str, home: Option<&Path>) -> PathBuf {
    let Some(home) = home else {
        return PathBuf::from(path);
    };
    let below = path.strip_prefix("~/").or_else(|| path.strip_prefix("%d/"));
    below.map_or_else(|| PathBuf::from(path), |below| home.join(below))
}

/// Returns whether a host matches the patterns; one after `!` excludes it.
pub(crate) fn matches_any<'p>(patterns: impl Iterator<Item = &'p str>, host: &str) -> bool {
    let mut found = false;
    for pattern in patterns {
        match pattern.strip_prefix('!') {
            Some(excluded) if matches(excluded, host) => return false,
            Some(_) => {}
            None => found |= matches(pattern, host),
        }
    }
    found
}

/// Compares a name with a pattern of `*` and `?`, in time linear in the product of both lengths.
fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.as_bytes(), name.as_bytes());
    let (mut at, mut from, mut star) = (0, 0, None);
    while from < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, from));
                at += 1;
            }
            Some(byte) if *byte == b'?' || byte.eq_ignore_ascii_case(&name[from]) => {
                at += 1;
                from += 1;
            }
            _ => {
                let Some((star_at, star_from)) = star else {
                    return false;
                };
                at = star_at + 1;
                from = star_from + 1;
                star = Some((star_at, from));
            }
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

/// Splits a line into words; `None` when a quotation mark is not closed. `Key=value` is two words.
fn words(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut rest = line.trim();
    while !rest.is_empty() && !rest.starts_with('#') {
        let (word, after) = if let Some(quoted) = rest.strip_prefix('"') {
            quoted.split_once('"')?
        } else {
            let is_end = |c: char| c.is_whitespace() || (words.is_empty() && c == '=');
            rest.split_at(rest.find(is_end).unwrap_or(rest.len()))
        };
        words.push(word.to_owned());
        rest = after.trim_start();
        if words.len() == 1 {
            rest = rest.strip_prefix('=').unwrap_or(rest).trim_start();
        }
    }
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "\
# comment
User first
Host build*.example !build9.example
    HostName = %h.internal
    IdentityFile ~/.ssh/key
    ProxyCommand nc %h %p
    ServerAliveInterval 5
Host \"quoted\" other
    Port=2200
    ProxyJump me@gate:22
Match host *
    User nobody
Host *
    User last
    IdentityFile /etc/key
";

    fn entry(host: &str) -> Entry {
        look_up(FILE, Path::new("config"), host, Some(Path::new("/ours"))).unwrap()
    }

    #[test]
    fn first_value_of_each_keyword_counts() {
        let found = entry("build1.example");
        assert_eq!(found.host_name.as_deref(), Some("build1.example.internal"));
        assert_eq!(found.user.as_deref(), Some("first"));
        let files: Vec<_> = found
            .identity_files
            .iter()
            .map(|it| it.to_str().unwrap())
            .collect();
        assert_eq!(files, ["/ours/.ssh/key", "/etc/key"]);
        let ignored: Vec<_> = found.ignored.into_iter().collect();
        assert_eq!(
            ignored,
            [(6, "ProxyCommand".to_owned()), (11, "Match".to_owned())]
        );
        assert_eq!(entry("build9.example").host_name, None);
        let other = entry("quoted");
        assert_eq!(
            (other.port, other.proxy_jump.as_deref()),
            (Some(2200), Some("me@gate:22"))
        );
    }

    #[test]
    fn invalid_lines_are_named() {
        let check = |text: &str, expect: &str| {
            let error = look_up(text, Path::new("/c"), "h", None).unwrap_err();
            assert_eq!(error.to_string(), expect);
        };
        check("Host h\nPort x", "/c:2: x is not a port");
        check("Port 0", "/c:1: 0 is not a port");
        check("User", "/c:1: User has no value");
        check("Host \"h", "/c:1: a quotation mark has no counterpart");
    }

    #[test]
    fn patterns_match_as_in_ssh() {
        for (pattern, name, expect) in [
            ("*", "a", true),
            ("a*c", "abbc", true),
            ("a*c", "abbd", false),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("*.Example", "a.example", true),
            ("", "a", false),
        ] {
            assert_eq!(matches(pattern, name), expect, "{pattern} {name}");
        }
    }
}
