//! Interactive shells inside a job's environment.

use crate::ability::Connection;
use crate::cancellation::Cancellation;
use crate::command::StageVariables;
use crate::error::BuildError;
use crate::stage_status::StageStatus;
use async_trait::async_trait;
use std::fmt::Debug;
use std::sync::Arc;

/// The size of a terminal in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalSize {
    /// Characters in a line.
    pub columns: u16,
    /// Lines.
    pub rows: u16,
}

/// A request to open a terminal.
///
/// Only the size is binding. An executor ignores other fields that it does not support.
///
/// # Examples
///
/// ```
/// use executor_core::ability::{TerminalRequest, TerminalSize};
///
/// let size = TerminalSize { columns: 80, rows: 24 };
/// let request = TerminalRequest::new(size)
///     .with_title("job test")
///     .with_history(vec!["make".to_owned(), "make check".to_owned()]);
/// assert_eq!(request.history.len(), 2);
/// assert!(!request.profile);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TerminalRequest {
    /// The initial size.
    pub size: TerminalSize,
    /// The title in the shell's prompt, for example `job test`; empty means no title.
    ///
    /// It comes from the user's files, so an executor must escape it.
    pub title: String,
    /// The commands in the shell's history, the oldest first; a command may have several lines.
    ///
    /// They are commands of a script, with references to variables instead of their values.
    pub history: Vec<String>,
    /// The variables of the shell; `None` means those of the current or last stage. Default: `None`.
    pub variables: Option<Arc<StageVariables>>,
    /// Whether the shell reads the user's startup files such as `~/.bashrc`. Default: no, as for scripts.
    pub profile: bool,
}

impl TerminalRequest {
    /// Returns a request for a plain shell in a terminal of this size.
    pub fn new(size: TerminalSize) -> Self {
        Self {
            size,
            title: String::new(),
            history: Vec::new(),
            variables: None,
            profile: false,
        }
    }

    /// Sets the title in the prompt.
    #[must_use]
    pub fn with_title(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }

    /// Sets the commands in the shell's history.
    #[must_use]
    pub fn with_history(mut self, history: Vec<String>) -> Self {
        self.history = history;
        self
    }

    /// Sets the variables of the shell.
    #[must_use]
    pub fn with_variables(mut self, variables: Arc<StageVariables>) -> Self {
        self.variables = Some(variables);
        self
    }
}

/// Opens interactive shells inside the environment.
#[async_trait]
pub trait Terminal: Send + Sync + Debug {
    /// Starts a shell; it ends when the session is dropped or the environment ends.
    ///
    /// Several sessions may be open at a time, also while a stage runs.
    ///
    /// # Errors
    ///
    /// When the environment cannot start a shell or no longer exists.
    async fn open(
        &self,
        request: TerminalRequest,
        cancellation: &Cancellation,
    ) -> Result<Box<dyn TerminalSession>, BuildError>;
}

/// One interactive shell: write the input, read the output.
///
/// Reading ends when the shell has ended, even if a process that it started still runs.
#[async_trait]
pub trait TerminalSession: Connection {
    /// Changes the size of the terminal.
    ///
    /// # Errors
    ///
    /// When the session has ended.
    fn resize(&self, size: TerminalSize) -> Result<(), BuildError>;

    /// Waits until the shell has ended and returns its status; `None` when it is unknown.
    ///
    /// The last output can be read before and after.
    ///
    /// # Cancellation
    ///
    /// Safe to drop and to call again.
    async fn ended(&mut self) -> Option<StageStatus>;
}
