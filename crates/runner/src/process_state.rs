/// The state of the process, in GitLab Runner's words.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum ProcessState {
    /// It does not poll yet.
    #[default]
    Starting,
    /// It polls for jobs.
    Running,
    /// It takes no more jobs, and waits for those that run.
    GracefulShutdown,
    /// It interrupts the jobs that run.
    ForcefulShutdown,
}

impl ProcessState {
    /// All states.
    pub(crate) const ALL: [Self; 4] = [
        Self::Starting,
        Self::Running,
        Self::GracefulShutdown,
        Self::ForcefulShutdown,
    ];

    /// Returns the name of the state.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Running => "running",
            Self::GracefulShutdown => "graceful-shutdown",
            Self::ForcefulShutdown => "forceful-shutdown",
        }
    }
}
