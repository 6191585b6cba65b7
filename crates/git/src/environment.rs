use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use executor_core::job::SecretString;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::Path;

/// Prefixes of git's variables that describe the user rather than a repository.
const KEPT: [&str; 4] = ["GIT_CONFIG_", "GIT_EXEC_PATH", "GIT_HTTP_", "GIT_SSL_"];

/// A variable with a kept prefix that holds settings of another git command.
const DROPPED: &str = "GIT_CONFIG_PARAMETERS";

/// Variables that are set whatever the user's environment says: nothing prompts, and messages are in English, because a
/// program reads them.
const FIXED: [(&str, &str); 11] = [
    ("GCM_INTERACTIVE", "never"),
    ("GIT_ASKPASS", ""),
    ("GIT_LFS_SKIP_SMUDGE", "1"),
    ("GIT_LITERAL_PATHSPECS", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("LANGUAGE", ""),
    ("LC_ALL", "C"),
    ("SSH_ASKPASS", ""),
    ("SSH_ASKPASS_REQUIRE", "never"),
];

/// The environment of git that talks to a server: the user's keys and helpers, no prompts, no other repository.
///
/// `Debug` shows no variable, since a login is among them.
#[derive(Clone)]
pub struct RemoteEnvironment {
    variables: Vec<(OsString, OsString)>,
    ssh_command: Option<String>,
}

/// The protocols git may use. Settings of the user may turn one kind of address into another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocols {
    /// SSH and HTTPS.
    Encrypted,
    /// SSH, HTTPS and HTTP.
    Http,
    /// Files of this machine.
    File,
}

impl RemoteEnvironment {
    /// Returns the environment of a user, for a git that keeps its repositories in `directory`: repositories around that
    /// directory are not looked for.
    pub fn from_user<'v>(
        user: impl Iterator<Item = (&'v OsStr, &'v OsStr)>,
        directory: &Path,
    ) -> Self {
        let mut variables = Vec::new();
        let (mut ssh_command, mut ssh_program) = (None, None);
        for (name, value) in user {
            let known = name.to_str().unwrap_or_default();
            match known {
                "GIT_SSH_COMMAND" => ssh_command = value.to_str().map(str::to_owned),
                "GIT_SSH" => ssh_program = value.to_str().map(quote),
                _ if is_kept(known) => variables.push((name.to_owned(), value.to_owned())),
                _ => {}
            }
        }
        variables.extend(FIXED.map(|(name, value)| (name.into(), value.into())));
        if let Some(parent) = directory.parent() {
            variables.push(("GIT_CEILING_DIRECTORIES".into(), parent.into()));
        }
        let ssh_command = ssh_command.or(ssh_program);
        let mut environment = Self {
            variables,
            ssh_command: ssh_command.filter(|command| !command.trim().is_empty()),
        };
        let command = environment.ssh_command.clone();
        environment.set_ssh_command(command.as_deref().unwrap_or("ssh"));
        environment
    }

    /// Returns the ssh command of the user's environment, `GIT_SSH_COMMAND` or `GIT_SSH`.
    pub fn ssh_command(&self) -> Option<&str> {
        self.ssh_command.as_deref()
    }

    /// Sets the ssh command. OpenSSH gets options with which it neither prompts nor waits long for a host.
    pub fn set_ssh_command(&mut self, command: &str) {
        self.set("GIT_SSH_COMMAND", without_prompts(command));
    }

    /// Sets the protocols git may use.
    pub fn allow(&mut self, protocols: Protocols) {
        let protocols = match protocols {
            Protocols::Encrypted => "https:ssh",
            Protocols::Http => "http:https:ssh",
            Protocols::File => "file",
        };
        self.set("GIT_ALLOW_PROTOCOL", protocols);
    }

    /// Trusts the authorities whose certificates are in a file, instead of the system's.
    pub fn trust(&mut self, authorities: &Path) {
        self.set("GIT_SSL_CAINFO", authorities);
    }

    /// Sends a login, `user:password`, to the server `origin` and to no other. No argument shows it to other users of the
    /// machine.
    pub fn log_in(&mut self, origin: &str, login: &SecretString) {
        let login = STANDARD.encode(login.expose());
        let key = format!("http.{origin}/.extraHeader");
        self.configure(&key, &format!("Authorization: Basic {login}"));
    }

    /// Adds a setting after those of the user's environment.
    fn configure(&mut self, key: &str, value: &str) {
        let mut variables = self.variables.iter();
        let count = variables.rfind(|(name, _)| name == "GIT_CONFIG_COUNT");
        let count = count.and_then(|(_, count)| count.to_str()?.parse::<usize>().ok());
        let count = count.unwrap_or(0);
        self.set(&format!("GIT_CONFIG_KEY_{count}"), key);
        self.set(&format!("GIT_CONFIG_VALUE_{count}"), value);
        self.set("GIT_CONFIG_COUNT", (count + 1).to_string());
    }

    /// Sets a variable; the last of one name counts.
    fn set(&mut self, name: &str, value: impl Into<OsString>) {
        self.variables.push((name.into(), value.into()));
    }

    pub(crate) fn variables(&self) -> &[(OsString, OsString)] {
        &self.variables
    }
}

fn is_kept(name: &str) -> bool {
    let is_of_user = KEPT.iter().any(|prefix| name.starts_with(prefix)) && name != DROPPED;
    is_of_user || !name.starts_with("GIT_")
}

impl fmt::Debug for RemoteEnvironment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteEnvironment").finish_non_exhaustive()
    }
}

/// Options with which OpenSSH neither prompts nor waits long for a host that does not respond.
const SSH_OPTIONS: &str = "-o BatchMode=yes -o ConnectTimeout=10";

/// Adds [`SSH_OPTIONS`] to a command that runs OpenSSH. Other programs do not know them, so their commands stay as they are.
fn without_prompts(command: &str) -> String {
    let command = command.trim();
    let program = match command.chars().next() {
        Some(quote @ ('\'' | '"')) => command[1..].split(quote).next(),
        _ => command.split_whitespace().next(),
    };
    match program.and_then(|program| program.rsplit('/').next()) {
        Some("ssh") => format!("{command} {SSH_OPTIONS}"),
        _ => command.to_owned(),
    }
}

/// Quotes a path as one word for a shell.
fn quote(path: &str) -> String {
    format!("'{}'", path.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from_user(pairs: &[(&'static str, &'static str)]) -> RemoteEnvironment {
        let pairs = pairs.iter();
        let pairs = pairs.map(|&(name, value)| (OsStr::new(name), OsStr::new(value)));
        RemoteEnvironment::from_user(pairs, Path::new("/cache/git"))
    }

    /// Asserts the last value of a variable, which is the one a child gets.
    fn check(environment: &RemoteEnvironment, name: &str, expect: Option<&str>) {
        let found = environment.variables.iter().rfind(|(it, _)| it == name);
        let found = found.map(|(_, value)| value.to_string_lossy().into_owned());
        assert_eq!(found.as_deref(), expect, "{name}");
    }

    #[test]
    fn nothing_prompts_and_no_other_repository_is_meant() {
        let mut environment = from_user(&[
            ("HOME", "/h"),
            ("GIT_DIR", "/other"),
            ("GIT_ASKPASS", "/ask"),
            ("GIT_CONFIG_GLOBAL", "/config"),
            ("GIT_CONFIG_PARAMETERS", "'x=y'"),
            ("GIT_SSH_COMMAND", "ssh -4"),
            ("GIT_SSL_CAINFO", "/ca"),
            ("SSH_AUTH_SOCK", "/agent"),
        ]);
        environment.allow(Protocols::Encrypted);
        for (name, expect) in [
            ("HOME", Some("/h")),
            ("SSH_AUTH_SOCK", Some("/agent")),
            ("GIT_CONFIG_GLOBAL", Some("/config")),
            ("GIT_SSL_CAINFO", Some("/ca")),
            ("GIT_DIR", None),
            ("GIT_CONFIG_PARAMETERS", None),
            ("GIT_ASKPASS", Some("")),
            ("GIT_TERMINAL_PROMPT", Some("0")),
            ("SSH_ASKPASS_REQUIRE", Some("never")),
            ("GIT_ALLOW_PROTOCOL", Some("https:ssh")),
            ("GIT_CEILING_DIRECTORIES", Some("/cache")),
            (
                "GIT_SSH_COMMAND",
                Some("ssh -4 -o BatchMode=yes -o ConnectTimeout=10"),
            ),
        ] {
            check(&environment, name, expect);
        }
    }

    #[test]
    fn login_is_for_its_server_alone_and_follows_the_users_settings() {
        let mut environment = from_user(&[
            ("GIT_CONFIG_COUNT", "1"),
            ("GIT_CONFIG_KEY_0", "a.b"),
            ("GIT_CONFIG_VALUE_0", "c"),
        ]);
        environment.log_in("http://h:81", &SecretString::new("gitlab-ci-token:t"));
        environment.trust(Path::new("/ca.pem"));
        environment.allow(Protocols::Http);
        for (name, expect) in [
            ("GIT_CONFIG_COUNT", "2"),
            ("GIT_CONFIG_KEY_0", "a.b"),
            ("GIT_CONFIG_KEY_1", "http.http://h:81/.extraHeader"),
            (
                "GIT_CONFIG_VALUE_1",
                "Authorization: Basic Z2l0bGFiLWNpLXRva2VuOnQ=",
            ),
            ("GIT_SSL_CAINFO", "/ca.pem"),
            ("GIT_ALLOW_PROTOCOL", "http:https:ssh"),
        ] {
            check(&environment, name, Some(expect));
        }
        assert!(!format!("{environment:?}").contains("Basic"));
    }

    #[test]
    fn ssh_command_wins_over_ssh_program() {
        let check = |pairs: &[(&'static str, &'static str)], expect: Option<&str>| {
            assert_eq!(from_user(pairs).ssh_command(), expect);
        };
        check(&[("GIT_SSH", "/my ssh")], Some("'/my ssh'"));
        check(
            &[("GIT_SSH_COMMAND", "ssh -6"), ("GIT_SSH", "/x")],
            Some("ssh -6"),
        );
        check(&[("GIT_SSH_COMMAND", " ")], None);
    }

    #[test]
    fn only_openssh_gets_its_options() {
        let check = |command: &str, expect: &str| {
            assert_eq!(without_prompts(command), expect);
        };
        check("ssh", "ssh -o BatchMode=yes -o ConnectTimeout=10");
        check(
            "/usr/bin/ssh -i ~/.ssh/work",
            "/usr/bin/ssh -i ~/.ssh/work -o BatchMode=yes -o ConnectTimeout=10",
        );
        check(
            "'/my tools/ssh' -4",
            "'/my tools/ssh' -4 -o BatchMode=yes -o ConnectTimeout=10",
        );
        check("plink -batch", "plink -batch");
        check("tsh ssh", "tsh ssh");
        check("FOO=1 ssh", "FOO=1 ssh");
        check("", "");
    }

    #[test]
    fn path_is_quoted_for_a_shell() {
        assert_eq!(quote("/it's/ssh"), r"'/it'\''s/ssh'");
    }
}
