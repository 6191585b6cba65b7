//! What a fail point does: the action requested by the environment variable, and the record of visits.

use crate::{POINTS, VARIABLE};
use rustix::process::{Signal, getpid, kill_process};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Before or after a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Before,
    After,
}

/// The requested action and its point.
#[derive(Debug)]
pub(crate) enum Action {
    Nothing,
    /// The program is killed at this visit.
    Kill {
        at: String,
        side: Side,
        visit: u64,
    },
    /// The step fails, from this visit on.
    Error {
        at: String,
        visit: u64,
    },
    /// The step waits, at every visit.
    Pause {
        at: String,
        side: Side,
        pipe: PathBuf,
    },
    Record(Record),
}

/// Returns the requested action; the environment is read once.
pub(crate) fn action() -> &'static Action {
    static ACTION: OnceLock<Action> = OnceLock::new();
    ACTION.get_or_init(|| {
        let Some(text) = std::env::var_os(VARIABLE) else {
            return Action::Nothing;
        };
        let text = text.to_str().expect("the action is UTF-8");
        let known = |name: &str| POINTS.iter().any(|point| point.name() == name);
        // A test with a typing error must not pass because nothing happens.
        parse(text, known).unwrap_or_else(|| panic!("invalid {VARIABLE}: {text:?}"))
    })
}

fn parse(text: &str, known: impl Fn(&str) -> bool) -> Option<Action> {
    let words: Vec<&str> = text.splitn(4, ' ').collect();
    let side = |word| match word {
        "before" => Some(Side::Before),
        "after" => Some(Side::After),
        _ => None,
    };
    let at = |name: &str| known(name).then(|| name.to_owned());
    let visit = |words: &[&str]| words.first().map_or(Some(1), |word| word.parse().ok());
    Some(match &words[..] {
        ["kill", word, name, rest @ ..] => Action::Kill {
            at: at(name)?,
            side: side(word)?,
            visit: visit(rest)?,
        },
        ["error", "at", name, rest @ ..] => Action::Error {
            at: at(name)?,
            visit: visit(rest)?,
        },
        ["pause", word, name, pipe] => Action::Pause {
            at: at(name)?,
            side: side(word)?,
            pipe: PathBuf::from(pipe),
        },
        ["record", ..] => Action::Record(Record::begin(text.strip_prefix("record ")?)),
        _ => return None,
    })
}

impl Action {
    /// Performs the action if it applies to this point, side and visit.
    pub(crate) fn obey(&self, name: &str, here: Side, now: u64) -> io::Result<()> {
        match self {
            Self::Kill { at, side, visit } if at == name && *side == here && *visit == now => {
                kill();
            }
            Self::Error { at, visit } if at == name && here == Side::Before && *visit <= now => {
                // A test finds the point's name in the message, which proves that the cause is reported.
                return Err(io::Error::other(format!("fail point {name}")));
            }
            Self::Pause { at, side, pipe } if at == name && *side == here => pause(pipe),
            Self::Record(record) if here == Side::Before => record.reached(name),
            _ => {}
        }
        Ok(())
    }
}

fn kill() {
    kill_process(getpid(), Signal::KILL).expect("a process may kill itself");
    loop {
        // The signal ends all threads, this one here at the latest.
        std::thread::park();
    }
}

fn pause(pipe: &Path) {
    let waited = File::open(pipe).and_then(|mut pipe| pipe.read_to_end(&mut Vec::new()));
    waited.expect("the pipe is readable");
}

/// A file with a line `point NAME` for each point and `reached NAME` for each visit.
#[derive(Debug)]
pub(crate) struct Record {
    file: File,
}

impl Record {
    /// Opens the file and lists the points.
    fn begin(path: &str) -> Self {
        let options = OpenOptions::new().create(true).append(true).open(path);
        let record = Self {
            file: options.expect("the record is writable"),
        };
        for point in POINTS {
            record.line("point", point.name());
        }
        record
    }

    fn reached(&self, name: &str) {
        self.line("reached", name);
    }

    /// Writes a line at once: the program may be killed next.
    fn line(&self, word: &str, name: &str) {
        let written = (&self.file).write_all(format!("{word} {name}\n").as_bytes());
        written.expect("the record is writable");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> String {
        format!("{:?}", parse(text, |name| name == "a::b"))
    }

    #[test]
    fn parses_all_actions() {
        assert_eq!(
            check("kill before a::b"),
            r#"Some(Kill { at: "a::b", side: Before, visit: 1 })"#
        );
        assert_eq!(
            check("kill after a::b 3"),
            r#"Some(Kill { at: "a::b", side: After, visit: 3 })"#
        );
        assert_eq!(
            check("error at a::b"),
            r#"Some(Error { at: "a::b", visit: 1 })"#
        );
        assert_eq!(
            check("error at a::b 2"),
            r#"Some(Error { at: "a::b", visit: 2 })"#
        );
        assert_eq!(
            check("pause before a::b /tmp/with a blank"),
            r#"Some(Pause { at: "a::b", side: Before, pipe: "/tmp/with a blank" })"#
        );
    }

    #[test]
    fn rejects_invalid_actions() {
        for text in [
            "",
            "kill",
            "kill before",
            "kill before a::c",
            "kill before a::b often",
            "kill during a::b",
            "error before a::b",
            "pause before a::b",
            "record",
        ] {
            assert_eq!(check(text), "None", "{text:?}");
        }
    }
}
