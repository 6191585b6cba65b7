//! Interactive shells inside a job's environment.

use crate::ability::Connection;
use crate::cancellation::Cancellation;
use crate::command::StageVariables;
use crate::error::BuildError;
use crate::result::StageStatus;
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

/// What somebody who opens a terminal wants of it.
///
/// Only the size must be kept to. An executor that cannot do one of the other things leaves it out;
/// the shell is of use without.
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
    /// How large the terminal is at first.
    pub size: TerminalSize,
    /// What the shell's prompt says about where one is: `job test`. Empty: nothing.
    ///
    /// It comes from the user's files, so an executor must see to it that nothing in it acts.
    pub title: String,
    /// The commands that the shell has in its history, the oldest first; one may have many lines.
    ///
    /// They are those of a script, with references to variables and not with their values.
    pub history: Vec<String>,
    /// The variables of the shell. `None`, the default: those of the stage that runs or ran last.
    pub variables: Option<Arc<StageVariables>>,
    /// Whether the shell reads the start files of the user, `~/.bashrc` and the like. Default: no,
    /// so that it is as the scripts find it.
    pub profile: bool,
}

impl TerminalRequest {
    /// Asks for a plain shell in a terminal of this size.
    pub fn new(size: TerminalSize) -> Self {
        Self {
            size,
            title: String::new(),
            history: Vec::new(),
            variables: None,
            profile: false,
        }
    }

    /// Returns the same with this in the prompt.
    #[must_use]
    pub fn with_title(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }

    /// Returns the same with these commands in the shell's history.
    #[must_use]
    pub fn with_history(mut self, history: Vec<String>) -> Self {
        self.history = history;
        self
    }

    /// Returns the same with these variables in the shell.
    #[must_use]
    pub fn with_variables(mut self, variables: Arc<StageVariables>) -> Self {
        self.variables = Some(variables);
        self
    }
}

/// Opens interactive shells inside the environment.
#[async_trait]
pub trait Terminal: Send + Sync + Debug {
    /// Starts a shell; it ends when the session is dropped, and with the environment.
    ///
    /// Several may be open at a time, also while a stage runs.
    ///
    /// # Errors
    ///
    /// When the environment cannot start one, or is gone.
    async fn open(
        &self,
        request: TerminalRequest,
        cancellation: &Cancellation,
    ) -> Result<Box<dyn TerminalSession>, BuildError>;
}

/// One interactive shell: what is typed goes in, what is shown comes out.
///
/// Reading ends when the shell has ended, also when something that it started still lives.
#[async_trait]
pub trait TerminalSession: Connection {
    /// Tells the shell that the terminal has another size now.
    ///
    /// # Errors
    ///
    /// When the session has ended.
    fn resize(&self, size: TerminalSize) -> Result<(), BuildError>;

    /// Waits until the shell has ended and returns how; `None` when that cannot be known.
    ///
    /// What it showed last can be read before and after.
    ///
    /// # Cancellation
    ///
    /// Safe to drop and to call again.
    async fn ended(&mut self) -> Option<StageStatus>;
}
