use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use executor_core::shell::{ShellDialect, ShellInfo, ShellKind};

/// A one-line sh program that runs the best shell of a container: bash, sh or busybox.
///
/// It checks fixed paths only, because an image may have no `PATH`. The chosen shell reads the
/// script from standard input; arguments such as `-l` are passed to it. Use it with a script of
/// [`ShellDialect::Sh`], which all of them run. It fails with exit code 127 if there is no shell.
pub const DETECT_SHELL: &str = "for s in /usr/local/bin/bash /usr/bin/bash /bin/bash \
/usr/local/bin/sh /usr/bin/sh /bin/sh; do [ -x \"$s\" ] && exec \"$s\" \"$@\"; done; \
for s in /usr/local/bin/busybox /usr/bin/busybox /bin/busybox /busybox/busybox; do \
[ -x \"$s\" ] && exec \"$s\" sh \"$@\"; done; echo \"no shell found\" >&2; exit 127";

/// What PowerShell runs at start: it reads the whole script before running it.
///
/// `-Command -` would run line by line and end blocks at blank lines, and the console's code page
/// would corrupt non-ASCII text.
const READ_SCRIPT: &str = "$OutputEncoding = [Console]::InputEncoding = \
[Console]::OutputEncoding = New-Object System.Text.UTF8Encoding $false; \
$runwrightScript = [Console]::In.ReadToEnd(); \
. ([ScriptBlock]::Create($runwrightScript))";

/// The command line that runs a script.
///
/// # Examples
///
/// ```
/// use executor_core::shell::{ShellDialect, ShellInfo, ShellKind};
/// use shells::ShellCommand;
///
/// let shell = ShellInfo::new(ShellDialect::Bash).with_kind(ShellKind::Login);
/// let command = ShellCommand::reading_stdin(&shell);
/// assert_eq!(command.argv(), ["bash", "--login"]);
/// let command = ShellCommand::reading_file(&shell, "/tmp/script.sh");
/// assert_eq!(command.argv(), ["bash", "--login", "/tmp/script.sh"]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellCommand {
    argv: Vec<String>,
}

impl ShellCommand {
    /// Returns the command that reads a script from standard input.
    ///
    /// With [`ShellInfo::user`] it uses `su`, which keeps the environment and requires a password
    /// unless run by root. PowerShell ignores the user.
    pub fn reading_stdin(shell: &ShellInfo) -> Self {
        let argv = match (shell.dialect, &shell.user) {
            (ShellDialect::Sh | ShellDialect::Bash, Some(user)) => su(shell, user, &["-s"]),
            (ShellDialect::Sh | ShellDialect::Bash, None) => posix(shell),
            (ShellDialect::Pwsh | ShellDialect::PowerShell, _) => {
                let mut argv = powershell(shell);
                argv.extend(["-EncodedCommand".to_owned(), encoded(READ_SCRIPT)]);
                argv
            }
        };
        Self { argv }
    }

    /// Returns the command that runs the script in the file `path`.
    pub fn reading_file(shell: &ShellInfo, path: &str) -> Self {
        // A relative path that begins with a dash would be an option.
        let path = if path.starts_with('-') {
            format!("./{path}")
        } else {
            path.to_owned()
        };
        let argv = match (shell.dialect, &shell.user) {
            (ShellDialect::Sh | ShellDialect::Bash, Some(user)) => su(shell, user, &[&path]),
            (ShellDialect::Sh | ShellDialect::Bash, None) => {
                let mut argv = posix(shell);
                argv.push(path);
                argv
            }
            (ShellDialect::Pwsh | ShellDialect::PowerShell, _) => {
                let mut argv = powershell(shell);
                argv.extend(["-File".to_owned(), path]);
                argv
            }
        };
        Self { argv }
    }

    /// Returns the command for a session at a terminal; it reads no start file by itself.
    pub(crate) fn interactive(shell: &ShellInfo) -> Self {
        let flags: &[&str] = match shell.dialect {
            ShellDialect::Bash => &["--noprofile", "--norc", "-i"],
            _ => &["-i"],
        };
        let argv = [program(shell)].into_iter().chain(flags.iter().copied());
        Self {
            argv: argv.map(str::to_owned).collect(),
        }
    }

    /// Returns the command that finds a shell in a container and lets it read standard input.
    pub fn detecting(kind: ShellKind) -> Self {
        let argv = ["sh", "-c", DETECT_SHELL, "sh"]
            .into_iter()
            .chain(kind_flag(kind));
        Self {
            argv: argv.map(str::to_owned).collect(),
        }
    }

    /// Returns the program and its arguments; it is never empty.
    pub fn argv(&self) -> &[String] {
        &self.argv
    }

    /// Returns the program to start.
    pub fn program(&self) -> &str {
        &self.argv[0]
    }

    /// Returns the arguments after the program.
    pub fn arguments(&self) -> &[String] {
        &self.argv[1..]
    }
}

fn program(shell: &ShellInfo) -> &str {
    shell.program.as_deref().unwrap_or(shell.dialect.as_str())
}

fn posix(shell: &ShellInfo) -> Vec<String> {
    let flag = match (shell.dialect, shell.kind) {
        (ShellDialect::Bash, ShellKind::Login) => Some("--login"),
        (_, kind) => kind_flag(kind),
    };
    [program(shell)]
        .into_iter()
        .chain(flag)
        .map(str::to_owned)
        .collect()
}

fn kind_flag(kind: ShellKind) -> Option<&'static str> {
    match kind {
        ShellKind::Normal => None,
        ShellKind::Login => Some("-l"),
        ShellKind::Interactive => Some("-i"),
    }
}

/// Returns the `su` command that starts the shell as `user`, with `arguments` after its own.
fn su(shell: &ShellInfo, user: &str, arguments: &[&str]) -> Vec<String> {
    let words = posix(shell);
    let command = words
        .iter()
        .map(String::as_str)
        .chain(arguments.iter().copied());
    let command: Vec<_> = command.map(crate::quote::sh).collect();
    let command = format!("exec {}", command.join(" "));
    // `-m` keeps the environment, which contains the variables; `-c` precedes the user's name
    // because busybox stops reading options there.
    ["su", "-m", "-s", "/bin/sh", "-c", &command, "--", user]
        .map(str::to_owned)
        .to_vec()
}

fn powershell(shell: &ShellInfo) -> Vec<String> {
    let mut argv = vec![program(shell).to_owned()];
    if shell.kind == ShellKind::Normal {
        argv.push("-NoProfile".to_owned());
    }
    if shell.kind != ShellKind::Interactive {
        argv.push("-NonInteractive".to_owned());
    }
    argv.push("-NoLogo".to_owned());
    if shell.dialect == ShellDialect::PowerShell {
        argv.extend(["-InputFormat", "Text", "-OutputFormat", "Text"].map(str::to_owned));
        argv.extend(["-ExecutionPolicy", "Bypass"].map(str::to_owned));
    }
    argv
}

/// Encodes `command` for `-EncodedCommand`, so that Windows quoting cannot change it.
fn encoded(command: &str) -> String {
    let bytes: Vec<u8> = command.encode_utf16().flat_map(u16::to_le_bytes).collect();
    BASE64_STANDARD.encode(bytes)
}
