//! Reads netrc files.
//!
//! Not by a crate: `netrc` 0.4 is from 2015, and it and `rust-netrc` 0.1 reject the whole file for a word that they do not
//! know. The latter also treats a backslash outside of quotes as an escape and host names as case-sensitive, so that a
//! password would be read differently from how curl and git read it.

/// An entry of netrc.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct NetrcEntry {
    /// The host; `None` for all other hosts.
    pub(super) machine: Option<String>,
    /// The user name.
    pub(super) login: Option<String>,
    /// The password, which is a token.
    pub(super) password: Option<String>,
}

/// Parses netrc: `machine`, `login` and `password` in any layout, `default`, `account`, macros, comments and quoted
/// words. Anything else is ignored, as by other programs.
pub(super) fn parse(text: &str) -> Vec<NetrcEntry> {
    let mut entries: Vec<NetrcEntry> = Vec::new();
    let mut words = Words { rest: text };
    while let Some(word) = words.next() {
        match &*word {
            "machine" => entries.extend(words.value().map(|name| entry(Some(name)))),
            "default" => entries.push(entry(None)),
            "macdef" => words.skip_macro(),
            "login" => set(&mut entries, words.value(), |it| &mut it.login),
            "password" => set(&mut entries, words.value(), |it| &mut it.password),
            "account" => drop(words.value()),
            _ => {}
        }
    }
    entries
}

/// Returns the entry for a host: its own, or the one for all.
pub(super) fn entry_for<'e>(entries: &'e [NetrcEntry], host: &str) -> Option<&'e NetrcEntry> {
    let is_own = |it: &&NetrcEntry| {
        let machine = it.machine.as_deref();
        machine.is_some_and(|machine| machine.eq_ignore_ascii_case(host))
    };
    let own = entries.iter().find(is_own);
    own.or_else(|| entries.iter().find(|it| it.machine.is_none()))
}

fn entry(machine: Option<String>) -> NetrcEntry {
    NetrcEntry {
        machine,
        login: None,
        password: None,
    }
}

fn set(
    entries: &mut [NetrcEntry],
    word: Option<String>,
    field: impl FnOnce(&mut NetrcEntry) -> &mut Option<String>,
) {
    if let Some(last) = entries.last_mut() {
        *field(last) = word;
    }
}

struct Words<'a> {
    rest: &'a str,
}

impl Words<'_> {
    /// Skips the lines of a macro, to the first empty one.
    fn skip_macro(&mut self) {
        let end = self.rest.find("\n\n").map(|at| at + 2);
        let end = end.or_else(|| self.rest.find("\n\r\n").map(|at| at + 3));
        self.rest = end.map_or("", |end| &self.rest[end..]);
    }

    fn quoted(&mut self) -> String {
        let mut word = String::new();
        let mut escaped = false;
        for (at, c) in self.rest.char_indices().skip(1) {
            match c {
                _ if escaped => {
                    word.push(match c {
                        'n' => '\n',
                        'r' => '\r',
                        't' => '\t',
                        other => other,
                    });
                    escaped = false;
                }
                '\\' => escaped = true,
                '"' => {
                    self.rest = &self.rest[at + 1..];
                    return word;
                }
                other => word.push(other),
            }
        }
        self.rest = "";
        word
    }
}

impl Words<'_> {
    /// Returns the next word outside of comments.
    fn next(&mut self) -> Option<String> {
        loop {
            self.rest = self.rest.trim_start();
            if !self.rest.starts_with('#') {
                return self.value();
            }
            let end = self.rest.find('\n').unwrap_or(self.rest.len());
            self.rest = &self.rest[end..];
        }
    }

    /// Returns the next word, which may start with `#`.
    fn value(&mut self) -> Option<String> {
        self.rest = self.rest.trim_start();
        if self.rest.is_empty() {
            return None;
        }
        if self.rest.starts_with('"') {
            return Some(self.quoted());
        }
        let end = self.rest.find(char::is_whitespace);
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        Some(word.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_netrc_like_other_programs() {
        let check = |text: &str, host: &str, expect: Option<(&str, &str)>| {
            let entries = parse(text);
            let found = entry_for(&entries, host);
            let found = found.map(|it| {
                let login = it.login.as_deref().unwrap_or("-");
                (login, it.password.as_deref().unwrap_or("-"))
            });
            assert_eq!(found, expect, "{host} in {text:?}");
        };
        let usual = "machine a login me password x\nmachine b\n\tlogin you\n\tpassword y\n";
        check(usual, "a", Some(("me", "x")));
        check(usual, "B", Some(("you", "y")));
        check(usual, "c", None);
        check(
            "machine a password x default password d",
            "c",
            Some(("-", "d")),
        );
        check(
            "default password d machine a password x",
            "a",
            Some(("-", "x")),
        );
        check(
            "# machine a password n\nmachine a password x # y",
            "a",
            Some(("-", "x")),
        );
        check("machine a password x#y", "a", Some(("-", "x#y")));
        check(
            r#"machine a password "x \"y\\" login "m e""#,
            "a",
            Some(("m e", r#"x "y\"#)),
        );
        check(
            "machine a macdef m\n cd /\n machine b password n\n\nlogin me",
            "a",
            Some(("me", "-")),
        );
        check("machine a account z password x", "a", Some(("-", "x")));
        check("machine a password", "a", Some(("-", "-")));
        check("password x login y", "a", None);
        check("machine", "a", None);
        check(r#"machine a password "x"#, "a", Some(("-", "x")));
        check("machine a password #x", "a", Some(("-", "#x")));
        check("", "a", None);
    }
}
