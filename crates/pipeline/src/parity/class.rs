/// How much it matters that a local run does not honour a keyword.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// It is honoured.
    Honoured,
    /// Nothing of it shows in the job's result: it speaks to a server, or to whoever looks at one.
    Note,
    /// The job runs without it, and may notice.
    Warning,
    /// The job would not mean the same without it, so it is not run.
    Error,
}

impl Class {
    /// Returns the word of the published table.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Honoured => "yes",
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}
