//! What the agent is asked to do.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The directory of an agent that is given none.
pub const DEFAULT_DIRECTORY: &str = "/tmp/runwright-agent";

/// Holds the agent's arguments as a JSON array, for images whose entry point drops those of the command.
///
/// `sh -c agent serve ..` starts the agent without any argument. It then takes those of the variable.
pub const ARGV_VARIABLE: &str = "RUNWRIGHT_AGENT_ARGV";

/// The name of the socket in the agent's directory.
const SOCKET: &str = "agent.sock";

/// How the program is called, for people.
pub(crate) const USAGE: &str = "\
usage: runwright-agent serve [--socket PATH] [--directory DIR] [--orphan-grace TIME] [-- COMMAND ARGS..]
       runwright-agent proxy [--socket PATH] [--directory DIR]
       runwright-agent bootstrap DIRECTORY
       runwright-agent --version

  serve      runs steps for whoever connects to the socket
  proxy      joins standard input and output to the socket
  bootstrap  puts a copy of this program into a directory

  --socket PATH        where the socket is; by default agent.sock in the directory
  --directory DIR      where the agent keeps its files; by default /tmp/runwright-agent, or PATH.d beside a socket
  --orphan-grace TIME  ends the agent, and what runs, when nobody was connected for so long, such as 90s or 10m
";

/// One call of the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Invocation {
    /// Listens and runs steps.
    Serve(ServeOptions),
    /// Joins standard input and output to the socket.
    Proxy {
        /// The socket of the agent that serves.
        socket: PathBuf,
    },
    /// Copies the program into a directory.
    Bootstrap {
        /// The directory.
        directory: PathBuf,
    },
    /// Says which version it is.
    Version,
    /// Says how it is used.
    Help,
}

/// How an agent serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServeOptions {
    /// Where it listens.
    pub socket: PathBuf,
    /// Where it keeps what it spools.
    pub directory: PathBuf,
    /// After how long without any connection it ends by itself, and what runs with it. Default: never.
    pub orphan_grace: Option<Duration>,
    /// A program to run beside; the agent ends with it.
    pub command: Vec<OsString>,
}

/// Returns where the socket of an agent is that was started with this directory and no socket.
pub fn locate_socket(directory: &Path) -> PathBuf {
    directory.join(SOCKET)
}

/// Returns the program and arguments that make `program` serve with its files in `directory`.
///
/// Of `orphan_grace` whole milliseconds count.
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

/// Returns the program and arguments that lead to the agent that serves in `directory`.
pub fn proxy_command(program: &str, directory: &str) -> Vec<String> {
    [program, "proxy", "--directory", directory]
        .map(str::to_owned)
        .into()
}

impl Invocation {
    /// Reads the arguments after the program's name; without any, those that [`ARGV_VARIABLE`] holds.
    ///
    /// # Errors
    ///
    /// Says what cannot be understood, as a fragment of a sentence.
    pub fn parse(arguments: Vec<OsString>, fallback: Option<&OsString>) -> Result<Self, String> {
        let arguments = match fallback {
            Some(fallback) if arguments.is_empty() => kept(fallback)?,
            _ => arguments,
        };
        let mut words = arguments.into_iter();
        let Some(first) = words.next() else {
            return Err("nothing is asked for".to_owned());
        };
        match first.to_str() {
            Some("serve") => serve(words),
            Some("proxy") => proxy(words),
            Some("bootstrap") => bootstrap(words),
            Some("--version" | "-V") => no_more(words, Self::Version),
            Some("--help" | "-h" | "help") => no_more(words, Self::Help),
            _ => Err(format!("there is no command {}", first.display())),
        }
    }
}

/// Reads the arguments that an entry point has dropped.
fn kept(variable: &OsString) -> Result<Vec<OsString>, String> {
    let refused = |why: &str| format!("the variable {ARGV_VARIABLE} holds {why}");
    let text = variable.to_str().ok_or_else(|| refused("no text"))?;
    let words: Vec<String> =
        serde_json::from_str(text).map_err(|_| refused("no JSON array of texts"))?;
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
                return Err("no command follows --".to_owned());
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
        None => Err("bootstrap needs a directory".to_owned()),
    }
}

fn no_more(mut words: Words, invocation: Invocation) -> Result<Invocation, String> {
    words
        .next()
        .map_or(Ok(invocation), |word| Err(unknown(&word)))
}

/// Where an agent is, as far as it was said.
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
                // The directory of the socket may be everybody's, such as /tmp.
                let mut directory = socket.clone().into_os_string();
                directory.push(".d");
                (socket, directory.into())
            }
        }
    }
}

/// Returns the value of an option, written `--name value` or `--name=value`; `None` for another word.
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
        _ => Err(format!("{name} needs a value")),
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
    format!("there is no {kind} {}", word.display())
}

/// Reads a time such as `90s`, `250ms`, `10m`, `2h`, or `90` for seconds.
fn duration(value: &OsString) -> Result<Duration, String> {
    let refused = || {
        let shown = value.display();
        format!("{shown} is no time; write for example 90s, 10m or 2h")
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
    fn serve_knows_where_its_files_and_its_socket_are() {
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
    fn what_the_helpers_write_is_understood() {
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
    fn what_is_not_understood_is_named() {
        for (words, expected) in [
            ("", "nothing is asked for"),
            ("sevre", "there is no command sevre"),
            ("serve --sokcet /s", "there is no option --sokcet"),
            ("serve /s", "there is no argument /s"),
            ("serve --socket", "--socket needs a value"),
            ("serve --socket=", "--socket needs a value"),
            ("serve --", "no command follows --"),
            (
                "serve --orphan-grace soon",
                "soon is no time; write for example 90s, 10m or 2h",
            ),
            (
                "serve --orphan-grace 5d",
                "5d is no time; write for example 90s, 10m or 2h",
            ),
            (
                "serve --orphan-grace 99999999999999999h",
                "99999999999999999h is no time; write for example 90s, 10m or 2h",
            ),
            (
                "proxy --orphan-grace 5s",
                "there is no option --orphan-grace",
            ),
            ("bootstrap", "bootstrap needs a directory"),
            ("bootstrap a b", "there is no argument b"),
            ("--version now", "there is no argument now"),
        ] {
            assert_eq!(parse(words), Err(expected.to_owned()), "{words}");
        }
    }

    #[test]
    fn arguments_that_an_entry_point_dropped_are_in_a_variable() {
        let variable = OsString::from(r#"["bootstrap","/a directory"]"#);
        let directory = PathBuf::from("/a directory");
        let kept = Invocation::parse(Vec::new(), Some(&variable));
        assert_eq!(kept, Ok(Invocation::Bootstrap { directory }));
        // Whoever says something means it.
        let said = Invocation::parse(vec!["--version".into()], Some(&variable));
        assert_eq!(said, Ok(Invocation::Version));
        let broken = Invocation::parse(Vec::new(), Some(&"{".into())).unwrap_err();
        assert!(broken.contains(ARGV_VARIABLE), "{broken}");
    }
}
