//! The parts of a stage, independent of the shell.

use crate::git::GitPlan;
use crate::user::UserCommand;

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
    /// Removes the private directory.
    fn remove_private_directory(&mut self);
    /// Returns the whole script.
    fn finish(self: Box<Self>) -> String;
}
