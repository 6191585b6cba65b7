//! Stages that start the helper command, and fetch or store the job's files with it.

/// The name of the helper command in environments, as drivers of GitLab Runner provide it.
pub const HELPER: &str = "gitlab-runner";

/// The variable with a directory that has the helper command, if the environment is on the runner's host.
pub const HELPER_DIR: &str = "RUNWRIGHT_HELPER_DIR";

/// The calls of the helper command in one stage. They run in the job's directory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HelperStage {
    /// What the stage does, as a fragment such as `Extracting cache`.
    pub purpose: &'static str,
    /// What the stage needs the command for, if it fails without it; the others are skipped with a notice.
    pub required_for: Option<&'static str>,
    /// Whether the job's directory is emptied first.
    pub into_empty_directory: bool,
    /// The groups, in this order. The script looks for the command before each.
    pub groups: Vec<HelperGroup>,
}

/// Calls of the helper command that belong together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HelperGroup {
    /// The calls, in this order.
    pub calls: Vec<HelperCall>,
    /// What a failure of a call means.
    pub rule: HelperRule,
}

/// What a failure of a call means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HelperRule {
    /// It fails the stage.
    All,
    /// The next call is tried. The first success ends the group, and a failure of all is only printed.
    First {
        /// The line after a success.
        success: &'static str,
        /// The line after the failure of all calls.
        failure: &'static str,
    },
}

/// One call of the helper command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HelperCall {
    /// The line before the call.
    pub heading: String,
    /// The arguments.
    pub arguments: Vec<HelperArgument>,
}

/// An argument of the helper command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HelperArgument {
    /// This text.
    Text(String),
    /// The value of this variable, which is not part of the script: it may be a secret.
    Variable(String),
}

impl HelperStage {
    /// Returns the line about a missing command.
    pub(crate) fn missing(&self) -> String {
        match self.required_for {
            Some(what) => format!(
                "ERROR: {HELPER} is not installed here, but {what}. Copy the program `runwright` to a directory of PATH \
                 under the name {HELPER}, or install GitLab Runner."
            ),
            None => format!("Missing {HELPER}. {} is disabled.", self.purpose),
        }
    }
}
