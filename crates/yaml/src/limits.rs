/// What a pipeline file may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How many bytes the text may have.
    pub bytes: usize,
    /// How deep mappings and sequences may be nested, aliases followed.
    pub depth: u16,
    /// How many nodes the file may have when each alias is counted as a copy.
    pub nodes: u32,
    /// How many files may be included; one that is included twice counts twice.
    pub included_files: usize,
    /// How many bytes all included files may have together.
    pub included_bytes: usize,
}

impl Default for Limits {
    /// 32 MiB and 200 levels (what is more than GitLab's 2 MiB and 100 levels gets a warning), and
    /// two million nodes: enough for 10,000 jobs that share one anchor.
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
