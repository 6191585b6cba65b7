use crate::diagnostic::Diagnostic;

/// Limits on the size of a pipeline file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The maximum size of a text, in bytes.
    pub bytes: usize,
    /// The maximum nesting of mappings and sequences, following aliases.
    pub depth: u16,
    /// The maximum number of nodes, counting each alias as a copy.
    pub nodes: u32,
    /// The maximum number of included files; a file included twice counts twice.
    pub included_files: usize,
    /// The maximum total size of included files, in bytes.
    pub included_bytes: usize,
}

impl Default for Limits {
    /// 32 MiB and 200 levels (more than GitLab's 2 MiB and 100 levels yields a warning), and two
    /// million nodes: enough for 10,000 jobs that share one anchor.
    fn default() -> Self {
        Self {
            bytes: 32 << 20,
            depth: 200,
            nodes: 2_000_000,
            included_files: 150,
            included_bytes: 300 << 20,
        }
    }
}

/// An error after which nothing more can be read.
pub(super) type Stop = Box<Diagnostic>;

/// The maximum number of warnings about one text; a text of 32 MiB could have millions.
const MOST_WARNINGS: usize = 200;

/// Adds a warning, unless there are many diagnostics already.
pub(super) fn warn(collected: &mut Vec<Diagnostic>, warning: impl FnOnce() -> Diagnostic) {
    if collected.len() < MOST_WARNINGS {
        collected.push(warning());
    }
}

/// Adds an error after which reading continues; warnings leave space for it.
pub(super) fn refuse(collected: &mut Vec<Diagnostic>, error: impl FnOnce() -> Diagnostic) {
    if collected.len() < 2 * MOST_WARNINGS {
        collected.push(error());
    }
}
