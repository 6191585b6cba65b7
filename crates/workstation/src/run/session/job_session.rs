/// One job of a pipeline that somebody enters, and what it finds there of other jobs.
///
/// Such a run is not written down: it has a number of its own while it lives, and leaves nothing.
/// Who enters is the [`visitor`](crate::RunOptions::visitor) of the run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JobSession {
    /// The job, as a selection names it.
    pub job: String,
    /// The run whose artifacts are taken; `None` means, for each job, the last that has any.
    pub run: Option<u64>,
    /// Whether the jobs that it needs run first, so that nothing is taken from earlier runs.
    pub runs_needs: bool,
}
