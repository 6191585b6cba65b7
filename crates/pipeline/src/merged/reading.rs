use executor_core::job::Need;

/// What a server says of a pipeline file.
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
    /// What messages call the server: its host.
    pub server: &'r str,
    /// The file with all that it includes, merged into one text; absent when there is none.
    pub merged: Option<&'r str>,
    /// The jobs that the server made of it, in any order; none when it did not say.
    pub jobs: &'r [MergedJob],
    /// Why the file is not valid; a file without errors is.
    pub errors: &'r [String],
    /// What is doubtful in it.
    pub warnings: &'r [String],
}

/// A job as a server made it, `parallel` unfolded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergedJob {
    /// Its name.
    pub name: String,
    /// The jobs of the pipeline that it needs; absent when the server did not say.
    pub needs: Option<Vec<Need>>,
}
