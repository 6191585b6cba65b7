use executor_core::job::Need;

/// The response of a server that read a pipeline file.
///
/// # Examples
///
/// ```
/// use pipeline::merged::ServerReading;
/// use pipeline::{LoadOptions, Pipeline};
///
/// let reading = ServerReading {
///     server: "gitlab.example.com",
///     merged: Some("---\nbuild:\n  script: make\n"),
///     jobs: &[],
///     errors: &[],
///     warnings: &[],
/// };
/// let text = "include: {component: gitlab.example.com/a/b/build@1}\n";
/// let read = Pipeline::from_merged(".gitlab-ci.yml", text, &reading, &LoadOptions::default());
/// assert_eq!(read.value.expect("it is valid").config().jobs.len(), 1);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct ServerReading<'r> {
    /// The host of the server, for messages.
    pub server: &'r str,
    /// The file merged with its includes into one text; absent when the server returned none.
    pub merged: Option<&'r str>,
    /// The jobs that the server created from it, in any order; empty when it did not report them.
    pub jobs: &'r [MergedJob],
    /// The errors; a file without errors is valid.
    pub errors: &'r [String],
    /// The warnings.
    pub warnings: &'r [String],
}

/// A job as a server created it, after the expansion of `parallel`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergedJob {
    /// Its name.
    pub name: String,
    /// The jobs of the pipeline that it needs; absent when the server did not report them.
    pub needs: Option<Vec<Need>>,
}
