/// What changed. Paths are relative to the top of the project, with `/` between their parts; one that
/// ends with `/` is a folder of which nobody knows which files changed.
#[derive(Debug, Clone, Copy, Default)]
pub struct Changed<'c> {
    /// The paths; `None` when nobody can know.
    pub files: Option<&'c [String]>,
    /// The files that the pipeline itself is read from, changed or not.
    pub pipeline_files: &'c [String],
}

/// Tells of a job by its name which files it reads, as patterns; `None` when nothing is declared.
pub type InputsOf<'i> = &'i dyn Fn(&str) -> Option<Vec<String>>;
