//! The command line of the agent.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The default directory of an agent.
pub const DEFAULT_DIRECTORY: &str = "/tmp/runwright-agent";

/// The variable with the agent's arguments as a JSON array, for images whose entry point drops those of the command.
///
/// `sh -c agent serve ..` starts the agent without arguments. It then uses those of the variable.
pub const ARGV_VARIABLE: &str = "RUNWRIGHT_AGENT_ARGV";

/// The name of the socket in the agent's directory.
const SOCKET: &str = "agent.sock";

/// The usage text.
pub(crate) const USAGE: &str = "\
usage: runwright-agent serve [--socket PATH] [--directory DIR] [--orphan-grace TIME] [-- COMMAND ARGS..]
       runwright-agent proxy [--socket PATH] [--directory DIR]
       runwright-agent bootstrap DIRECTORY
       runwright-agent --version

    serve      runs steps for clients of the socket
    proxy      joins standard input and output to the socket
    bootstrap  copies this program into a directory

    --socket PATH        the path of the socket; by default agent.sock in the directory
    --directory DIR      the directory for the agent's files; by default /tmp/runwright-agent, or PATH.d beside a socket
    --orphan-grace TIME  ends the agent and all steps after so long without a client, such as 90s or 10m
";

/// A parsed command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Invocation {
    /// Listens and runs steps.
    Serve(ServeOptions),
    /// Joins standard input and output to the socket.
    Proxy {
        /// The socket of the serving agent.
        socket: PathBuf,
    },
    /// Copies the program into a directory.
    Bootstrap {
        /// The directory.
        directory: PathBuf,
    },
    /// Prints the version.
    Version,
    /// Prints the usage.
    Help,
}

/// The options of `serve`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServeOptions {
    /// The path of the socket.
    pub socket: PathBuf,
    /// The directory for spooled files.
    pub directory: PathBuf,
    /// The time without any connection after which it ends itself and all steps. Default: never.
    pub orphan_grace: Option<Duration>,
    /// A command to run beside the agent, which ends with it.
    pub command: Vec<OsString>,
}

/// Returns the socket of an agent that was started with this directory.
pub fn locate_socket(directory: &Path) -> PathBuf {
    directory.join(SOCKET)
}

/// Returns the command that serves in `directory`.
///
/// `orphan_grace` is rounded down to milliseconds.
pub fn serve_command(
    program: &str,
    directory: &str,
    orphan_grace: Option<Duration>,
) -> Vec<String> {
    let mut words: Vec<String> = [program, "serve", "--directory", directory]
        .map(str::to_owned)
        .into();
    if let Some(grace) = orphan_grace {
        words.push("--orphan-grace".to_owned());
        let millis = u64::try_from(grace.as_millis()).unwrap_or(u64::MAX);
        words.push(format!("{millis}ms"));
    }
    words
}

/// Returns the command that connects to the agent in `directory`.
pub fn proxy_command(program: &str, directory: &str) -> Vec<String> {
    [program, "proxy", "--directory", directory]
        .map(str::to_owned)
        .into()
}

impl Invocation {
    /// Parses the arguments after the program's name; without any, those in [`ARGV_VARIABLE`].
    ///
    /// # Errors
    ///
    /// Describes the invalid part as a fragment of a sentence.
    pub fn parse(arguments: Vec<OsString>, fallback: Option<&OsString>) -> Result<Self, String> {
        let arguments = match fallback {
            Some(fallback) if arguments.is_empty() => dropped(fallback)?,
            _ => arguments,
        };
        let mut words = arguments.into_iter();
        let Some(first) = words.next() else {
            return Err("expected a command: serve, proxy or bootstrap".to_owned());
        };
        match first.to_str() {
            Some("serve") => serve(words),
            Some("proxy") => proxy(words),
            Some("bootstrap") => bootstrap(words),
            Some("--version" | "-V") => no_more(words, Self::Version),
            Some("--help" | "-h" | "help") => no_more(words, Self::Help),
            _ => Err(format!("unknown command {}", first.display())),
        }
    }
}

/// Parses the arguments that an entry point dropped.
fn dropped(variable: &OsString) -> Result<Vec<OsString>, String> {
    let refused = |why: &str| format!("the variable {ARGV_VARIABLE} {why}");
    let text = variable.to_str().ok_or_else(|| refused("is not UTF-8"))?;
    let words: Vec<String> =
        serde_json::from_str(text).map_err(|_| refused("is not a JSON array of strings"))?;
    Ok(words.into_iter().map(OsString::from).collect())
}

type Words = std::vec::IntoIter<OsString>;

fn serve(mut words: Words) -> Result<Invocation, String> {
    let mut place = Place::default();
    let mut orphan_grace = None;
    let mut command = Vec::new();
    while let Some(word) = words.next() {
        if word == "--" {
            command = words.by_ref().collect();
            if command.is_empty() {
                return Err("expected a command after --".to_owned());
            }
        } else if let Some(value) = option(&word, "--orphan-grace", &mut words)? {
            orphan_grace = Some(duration(&value)?);
        } else {
            place.take(&word, &mut words)?;
        }
    }
    let (socket, directory) = place.resolve();
    Ok(Invocation::Serve(ServeOptions {
        socket,
        directory,
        orphan_grace,
        command,
    }))
}

fn proxy(mut words: Words) -> Result<Invocation, String> {
    let mut place = Place::default();
    while let Some(word) = words.next() {
        place.take(&word, &mut words)?;
    }
    let (socket, _) = place.resolve();
    Ok(Invocation::Proxy { socket })
}

fn bootstrap(mut words: Words) -> Result<Invocation, String> {
    match words.next() {
        Some(word) if !is_option(&word) && !word.is_empty() => no_more(
            words,
            Invocation::Bootstrap {
                directory: word.into(),
            },
        ),
        Some(word) => Err(unknown(&word)),
        None => Err("bootstrap requires a directory".to_owned()),
    }
}

fn no_more(mut words: Words, invocation: Invocation) -> Result<Invocation, String> {
    words
        .next()
        .map_or(Ok(invocation), |word| Err(unknown(&word)))
}

/// The location of an agent, as given by options.
#[derive(Debug, Default)]
struct Place {
    socket: Option<PathBuf>,
    directory: Option<PathBuf>,
}

impl Place {
    fn take(&mut self, word: &OsString, words: &mut Words) -> Result<(), String> {
        if let Some(value) = option(word, "--socket", words)? {
            self.socket = Some(value.into());
        } else if let Some(value) = option(word, "--directory", words)? {
            self.directory = Some(value.into());
        } else {
            return Err(unknown(word));
        }
        Ok(())
    }

    fn resolve(self) -> (PathBuf, PathBuf) {
        match (self.socket, self.directory) {
            (Some(socket), Some(directory)) => (socket, directory),
            (None, directory) => {
                let directory = directory.unwrap_or_else(|| DEFAULT_DIRECTORY.into());
                (locate_socket(&directory), directory)
            }
            (Some(socket), None) => {
                // The directory of the socket may be shared, such as /tmp.
                let mut directory = socket.clone().into_os_string();
                directory.push(".d");
                (socket, directory.into())
            }
        }
    }
}

/// Returns the value of an option, written `--name value` or `--name=value`; `None` for another argument.
fn option(word: &OsString, name: &str, words: &mut Words) -> Result<Option<OsString>, String> {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    let value = if word == name {
        words.next()
    } else {
        let rest = word.as_bytes().strip_prefix(name.as_bytes());
        let Some(value) = rest.and_then(|rest| rest.strip_prefix(b"=")) else {
            return Ok(None);
        };
        Some(OsString::from_vec(value.to_vec()))
    };
    match value {
        Some(value) if !value.is_empty() => Ok(Some(value)),
        _ => Err(format!("{name} requires a value")),
    }
}

fn is_option(word: &OsString) -> bool {
    word.as_encoded_bytes().starts_with(b"-")
}

fn unknown(word: &OsString) -> String {
    let kind = if is_option(word) {
        "option"
    } else {
        "argument"
    };
    format!("unknown {kind} {}", word.display())
}

/// Parses a duration such as `90s`, `250ms`, `10m`, `2h`, or `90` for seconds.
fn duration(value: &OsString) -> Result<Duration, String> {
    let refused = || {
        let shown = value.display();
        format!("invalid duration {shown}: expected for example 90s, 10m or 2h")
    };
    let text = value.to_str().ok_or_else(refused)?;
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let number: u64 = digits.parse().map_err(|_| refused())?;
    let millis = match &text[digits.len()..] {
        "ms" => Some(number),
        "" | "s" => number.checked_mul(1000),
        "m" => number.checked_mul(60_000),
        "h" => number.checked_mul(3_600_000),
        _ => None,
    };
    millis.map(Duration::from_millis).ok_or_else(refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &str) -> Result<Invocation, String> {
        let words = words.split_ascii_whitespace().map(OsString::from).collect();
        Invocation::parse(words, None)
    }

    #[track_caller]
    fn check(words: &str, socket: &str, directory: &str, grace: Option<u64>, command: &[&str]) {
        let expected = ServeOptions {
            socket: socket.into(),
            directory: directory.into(),
            orphan_grace: grace.map(Duration::from_millis),
            command: command.iter().map(OsString::from).collect(),
        };
        assert_eq!(parse(words), Ok(Invocation::Serve(expected)), "{words}");
    }

    #[test]
    fn serve_derives_directory_and_socket() {
        let default = "/tmp/runwright-agent";
        check(
            "serve",
            &format!("{default}/agent.sock"),
            default,
            None,
            &[],
        );
        check("serve --directory /d", "/d/agent.sock", "/d", None, &[]);
        check("serve --socket=/s", "/s", "/s.d", None, &[]);
        check("serve --socket /s --directory /d", "/s", "/d", None, &[]);
        check(
            "serve --orphan-grace 5m --directory=/d -- sh -c --socket",
            "/d/agent.sock",
            "/d",
            Some(300_000),
            &["sh", "-c", "--socket"],
        );
    }

    #[test]
    fn helper_output_is_understood() {
        let words = serve_command("/agent", "/d", Some(Duration::from_millis(1500)));
        check(
            &words[1..].join(" "),
            "/d/agent.sock",
            "/d",
            Some(1500),
            &[],
        );
        let proxy = parse(&proxy_command("/agent", "/d")[1..].join(" "));
        let socket = locate_socket(Path::new("/d"));
        assert_eq!(proxy, Ok(Invocation::Proxy { socket }));
    }

    #[test]
    fn unknown_arguments_are_named() {
        for (words, expected) in [
            ("", "expected a command: serve, proxy or bootstrap"),
            ("sevre", "unknown command sevre"),
            ("serve --sokcet /s", "unknown option --sokcet"),
            ("serve /s", "unknown argument /s"),
            ("serve --socket", "--socket requires a value"),
            ("serve --socket=", "--socket requires a value"),
            ("serve --", "expected a command after --"),
            (
                "serve --orphan-grace soon",
                "invalid duration soon: expected for example 90s, 10m or 2h",
            ),
            (
                "serve --orphan-grace 5d",
                "invalid duration 5d: expected for example 90s, 10m or 2h",
            ),
            (
                "serve --orphan-grace 99999999999999999h",
                "invalid duration 99999999999999999h: expected for example 90s, 10m or 2h",
            ),
            ("proxy --orphan-grace 5s", "unknown option --orphan-grace"),
            ("bootstrap", "bootstrap requires a directory"),
            ("bootstrap a b", "unknown argument b"),
            ("--version now", "unknown argument now"),
        ] {
            assert_eq!(parse(words), Err(expected.to_owned()), "{words}");
        }
    }

    #[test]
    fn dropped_arguments_are_taken_from_a_variable() {
        let variable = OsString::from(r#"["bootstrap","/a directory"]"#);
        let directory = PathBuf::from("/a directory");
        let parsed = Invocation::parse(Vec::new(), Some(&variable));
        assert_eq!(parsed, Ok(Invocation::Bootstrap { directory }));
        // Arguments take precedence.
        let given = Invocation::parse(vec!["--version".into()], Some(&variable));
        assert_eq!(given, Ok(Invocation::Version));
        let broken = Invocation::parse(Vec::new(), Some(&"{".into())).unwrap_err();
        assert!(broken.contains(ARGV_VARIABLE), "{broken}");
    }
}
