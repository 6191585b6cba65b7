//! The parts of a stage, independent of the shell.

use crate::git::GitPlan;
use crate::helper::HelperStage;
use crate::user::UserCommand;
use executor_core::variable::JobVariables;

/// Returns `text` with each line indented by two spaces.
pub(crate) fn indented(text: &str) -> String {
    text.split_inclusive('\n')
        .flat_map(|line| ["  ", line])
        .collect()
}

/// Returns the end of the line that names the job's host.
pub(crate) fn via(runner: &str) -> String {
    if runner.is_empty() {
        "...".to_owned()
    } else {
        format!(" via {runner}...")
    }
}

/// Writes the body of one script; each method appends.
pub(crate) trait Writer {
    /// Prints the host that the job runs on.
    fn greet(&mut self, runner: &str);
    /// Creates the working tree's directory and the private one, and removes an old environment
    /// file.
    fn make_directories(&mut self);
    /// Exports the variables that earlier stages wrote into the environment file.
    fn import_environment(&mut self);
    /// Enters the working tree.
    fn enter_project(&mut self);
    /// Prints and runs the user's commands, in this shell.
    fn commands(&mut self, commands: &[UserCommand<'_>]);
    /// Performs the steps of a plan.
    fn plan(&mut self, plan: &GitPlan);
    /// Starts the helper command.
    fn helper(&mut self, stage: &HelperStage);
    /// Removes the working tree.
    fn remove_project(&mut self);
    /// Removes the private directory.
    fn remove_private_directory(&mut self);
    /// Returns the whole script.
    fn finish(self: Box<Self>) -> String;
}

/// Options for the text of scripts; all are off by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "four independent options")]
pub struct ScriptOptions {
    /// Whether the shell prints each command that it runs (`CI_DEBUG_TRACE`).
    pub debug_trace: bool,
    /// Whether each multi-line command gets a collapsed log section (`FF_SCRIPT_SECTIONS`).
    pub script_sections: bool,
    /// Whether the exit code is checked after every command, even where `errexit` does not apply
    /// (`FF_ENABLE_BASH_EXIT_CODE_CHECK`).
    pub exit_code_check: bool,
    /// Whether the last stage also resets and cleans the working tree (`FF_ENABLE_JOB_CLEANUP`).
    pub job_cleanup: bool,
    /// The file mode mask to set; `None` keeps the inherited one.
    ///
    /// Only environments whose stages run as different users set it.
    pub umask: Option<u16>,
}

impl ScriptOptions {
    /// The feature flags among the options, as variables of a job.
    pub const FEATURE_FLAGS: [&str; 3] = [
        "FF_ENABLE_BASH_EXIT_CODE_CHECK",
        "FF_ENABLE_JOB_CLEANUP",
        "FF_SCRIPT_SECTIONS",
    ];

    /// Reads the options from a job's variables; anything but a true value is off.
    pub fn from_variables(variables: &JobVariables) -> Self {
        let on = |name| {
            let value = variables.get(name).unwrap_or_default();
            matches!(value, "1" | "t" | "T" | "true" | "True" | "TRUE")
        };
        Self {
            debug_trace: on("CI_DEBUG_TRACE"),
            script_sections: on("FF_SCRIPT_SECTIONS"),
            exit_code_check: on("FF_ENABLE_BASH_EXIT_CODE_CHECK"),
            job_cleanup: on("FF_ENABLE_JOB_CLEANUP"),
            umask: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use executor_core::variable::JobVariable;

    #[test]
    fn only_true_values_enable_options() {
        let variables = [
            JobVariable::public("CI_DEBUG_TRACE", "true"),
            JobVariable::public("FF_SCRIPT_SECTIONS", "yes please"),
            JobVariable::public("FF_ENABLE_BASH_EXIT_CODE_CHECK", "0"),
        ];
        let options = ScriptOptions::from_variables(&variables.into_iter().collect());
        let expect = ScriptOptions {
            debug_trace: true,
            ..ScriptOptions::default()
        };
        assert_eq!(options, expect);
    }
}
