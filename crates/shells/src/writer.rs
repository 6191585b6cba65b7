//! What a stage is made of, whatever the shell.

use crate::git::GitPlan;
use crate::user::UserCommand;

/// Returns `text` with each of its lines moved in by two.
pub(crate) fn indented(text: &str) -> String {
    text.split_inclusive('\n')
        .flat_map(|line| ["  ", line])
        .collect()
}

/// Writes the body of one script; each method appends.
pub(crate) trait Writer {
    /// Prints where the job runs.
    fn greet(&mut self, runner: &str);
    /// Makes the working tree's directory and the private one, and forgets an old environment file.
    fn make_directories(&mut self);
    /// Exports what earlier stages wrote into the environment file.
    fn import_environment(&mut self);
    /// Goes to the working tree.
    fn enter_project(&mut self);
    /// Shows and runs the user's commands, in this shell.
    fn commands(&mut self, commands: &[UserCommand<'_>]);
    /// Does the steps of a plan.
    fn plan(&mut self, plan: &GitPlan);
    /// Removes the private directory.
    fn remove_private_directory(&mut self);
    /// Returns the whole script.
    fn finish(self: Box<Self>) -> String;
}
