//! What the log of a job consists of.

use scheduler::event::{LogLevel, LogStream};

/// One thing that happened in the log of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Entry<'t> {
    /// A whole line.
    Line(Source, &'t str),
    /// A stage of the runner starts.
    StageStarted { name: &'t str, user_code: bool },
    /// The stage ended.
    StageEnded { succeeded: bool, millis: u64 },
}

/// Who wrote a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Source {
    /// The job, over standard output.
    Stdout,
    /// The job, over standard error.
    Stderr,
    /// A service of the job.
    Service,
    /// The runner, about its normal work.
    Info,
    /// The runner, with a warning or an error.
    Warning,
}

impl Source {
    /// All of them in their order, each with the letter that stands for it in storage.
    pub(crate) const ALL: [(Self, u8); 5] = [
        (Self::Stdout, b'o'),
        (Self::Stderr, b'e'),
        (Self::Service, b's'),
        (Self::Info, b'i'),
        (Self::Warning, b'w'),
    ];
}

/// Returns who wrote a line.
pub(crate) fn source_of(stream: LogStream, level: Option<LogLevel>) -> Source {
    match (stream, level) {
        (_, Some(LogLevel::Warning)) => Source::Warning,
        (_, Some(LogLevel::Info)) => Source::Info,
        (LogStream::Stdout, None) => Source::Stdout,
        (LogStream::Stderr, None) => Source::Stderr,
        (LogStream::System, None) => Source::Service,
    }
}

impl<'t> Entry<'t> {
    /// Appends the entry as one line of bytes.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        match *self {
            Self::Line(source, text) => {
                let (_, letter) = Source::ALL[source as usize];
                out.push(letter);
                out.extend_from_slice(text.as_bytes());
            }
            Self::StageStarted { name, user_code } => {
                out.push(if user_code { b'U' } else { b'R' });
                out.extend_from_slice(name.as_bytes());
            }
            Self::StageEnded { succeeded, millis } => {
                out.push(if succeeded { b'+' } else { b'-' });
                out.extend_from_slice(millis.to_string().as_bytes());
            }
        }
        out.push(b'\n');
    }

    /// Reads what [`write`](Self::write) wrote, without its line end.
    pub(crate) fn read(line: &'t str) -> Option<Self> {
        let (letter, text) = line.split_at_checked(1)?;
        let letter = letter.as_bytes()[0];
        if let Some((source, _)) = Source::ALL.iter().find(|(_, it)| *it == letter) {
            return Some(Self::Line(*source, text));
        }
        match letter {
            b'U' | b'R' => Some(Self::StageStarted {
                name: text,
                user_code: letter == b'U',
            }),
            b'+' | b'-' => Some(Self::StageEnded {
                succeeded: letter == b'+',
                millis: text.parse().ok()?,
            }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_survive_storage() {
        let lines = Source::ALL.map(|(source, _)| Entry::Line(source, "text: \u{e9}"));
        let stages = [
            Entry::Line(Source::Stdout, ""),
            Entry::StageStarted {
                name: "get_sources",
                user_code: false,
            },
            Entry::StageEnded {
                succeeded: false,
                millis: 1234,
            },
        ];
        for entry in lines.into_iter().chain(stages) {
            let mut bytes = Vec::new();
            entry.write(&mut bytes);
            let text = String::from_utf8(bytes).unwrap();
            assert_eq!(Entry::read(text.strip_suffix('\n').unwrap()), Some(entry));
        }
    }
}
