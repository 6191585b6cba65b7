use super::{DockerArgs, IsolationArgs, ProjectArgs, heading};
use crate::completion;
use clap::{ArgAction, Args};
use workstation::{LayeredValue, SettingValue};

/// Arguments of `runwright shell`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runwright shell                   asks which job
  runwright shell test              a shell where the script of `test` would run
  runwright shell test --needs      run what it needs first
  runwright shell 'test 1/2'        one of the copies that `parallel` makes
  runwright shell test --in-place   in the working tree itself: changes stay
  runwright shell test --executor docker  in a container of its image
  runwright shell test -- pytest -x run one command in the job's environment
  runwright shell test <fix.sh      run a script in the job's environment

Sources, caches, artifacts and variables are in place, and the script has not run. Its lines are in the \
history of the shell: the up arrow brings them back; `script` shows them, `rerun` runs all, `rerun 2` the \
second. Any job works, also a manual one or one that rules leave out. Artifacts come from the last run that \
has them. Your changes are not kept; `exit` or Ctrl-D leaves the shell.

Exit codes: those of the shell or the command; if it does not start, those of `runwright run`")]
pub(crate) struct ShellArgs {
    /// The job; a terminal asks for it if none is named
    #[arg(add = completion::jobs(), value_name = "JOB")]
    pub(crate) job: Option<String>,
    /// The command to run there instead of a shell, with its arguments
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
    /// Take artifacts from this run; default: for each job, the last run that has any
    #[arg(long, value_name = "ID", conflicts_with = "needs")]
    pub(crate) run: Option<u64>,
    /// Run the jobs that it needs first, instead of taking artifacts of earlier runs
    #[arg(long)]
    pub(crate) needs: bool,
    /// Let the shell read your start files: the profile and ~/.bashrc
    #[arg(long, action = ArgAction::Set, num_args = 0..=1, require_equals = true,
          default_missing_value = "true", default_value_t = false, hide_default_value = true,
          hide_possible_values = true, value_name = "BOOL")]
    pub(crate) login: bool,
    /// Where jobs run: `docker`, `kubernetes`, `shell` (this machine), or `auto`: docker for jobs with an image,
    /// shell for all others; see `runwright executors`
    #[arg(add = completion::executors(), long, help_heading = heading::PLACE, value_name = "NAME", default_value = "auto")]
    pub(crate) executor: String,
    /// What jobs in containers run in.
    #[command(flatten)]
    pub(crate) docker: DockerArgs,
    /// What keeps the job apart.
    #[command(flatten)]
    pub(crate) isolation: IsolationArgs,
    /// Where the pipeline is.
    #[command(flatten)]
    pub(crate) project: ProjectArgs,
}

impl ShellArgs {
    /// Sets the option of a setting.
    pub(super) fn fill(&mut self, setting: &LayeredValue) {
        match (setting.key.name, &setting.value) {
            ("executor", SettingValue::Text(name)) => self.executor.clone_from(name),
            ("login", SettingValue::Flag(is_so)) => self.login = *is_so,
            _ => {}
        }
        self.docker.fill(setting);
        self.isolation.fill(setting);
    }
}
