/// How a project wants its jobs to be run beside each other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BitrabSettings {
    /// Who drives the jobs (`parallel_backend`).
    pub parallel_backend: Option<ParallelBackend>,
    /// Whether each job has a Git worktree (`use_git_worktrees`).
    pub use_git_worktrees: Option<bool>,
    /// Whether one job runs at a time (`serial`).
    pub serial: bool,
    /// What changes are looked for since, where that is asked for (`changes_base`).
    pub changes_base: Option<String>,
    /// Whether a warning says which tracked files a job changed (`warn_on_mutation`).
    pub warn_on_mutation: bool,
    /// The files that any job may change (`mutation.whitelist`).
    pub whitelist: Vec<String>,
    /// What the user should know about settings that are not followed, each with its place.
    pub notes: Vec<String>,
}

/// Who drives jobs that run beside each other.
///
/// Here scripts are processes of their own, which threads of one process wait for, whichever is asked
/// for: a script cannot tell the one from the other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum ParallelBackend {
    /// A process for each job.
    #[default]
    Process,
    /// A thread for each job.
    Thread,
}

impl ParallelBackend {
    /// Returns the one of this word.
    pub fn from_word(word: &str) -> Option<Self> {
        match word {
            "process" => Some(Self::Process),
            "thread" => Some(Self::Thread),
            _ => None,
        }
    }
}
