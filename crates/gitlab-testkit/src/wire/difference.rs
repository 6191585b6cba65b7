use std::fmt;

/// A difference between a recording and the calls of another runner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// What differs, in a stable form: `missing trace 202`, `extra update_running 200`, `trace: header content-type`
    /// or `update_final: body exit_code`.
    pub kind: String,
    /// The expected and the found value, for the reader.
    pub text: String,
    /// How often this kind was found; the text is that of the first time.
    pub count: usize,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.kind)?;
        if self.count > 1 {
            write!(f, " ({} times)", self.count)?;
        }
        write!(f, ": {}", self.text)
    }
}

/// Differences, each kind once.
#[derive(Debug, Default)]
pub(super) struct Differences {
    pub(super) all: Vec<Difference>,
}

impl Differences {
    pub(super) fn add(&mut self, kind: impl Into<String>, text: impl Into<String>) {
        let kind = kind.into();
        if let Some(known) = self.all.iter_mut().find(|known| known.kind == kind) {
            known.count += 1;
            return;
        }
        self.all.push(Difference {
            kind,
            text: text.into(),
            count: 1,
        });
    }
}
