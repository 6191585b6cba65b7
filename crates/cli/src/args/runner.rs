use clap::{Args, Subcommand};
use std::path::PathBuf;

/// The heading of the options that registration tokens need.
const OLD: &str = "With a registration token";

/// Arguments of `runwright runner`.
#[derive(Debug, Args)]
pub(crate) struct RunnerArgs {
    /// What to do.
    #[command(subcommand)]
    pub(crate) action: RunnerAction,
}

/// What can be done with the runners of this machine.
#[derive(Debug, Subcommand)]
pub(crate) enum RunnerAction {
    /// Take jobs from GitLab and run them, until a signal
    Run(RunnerRunArgs),
    /// Take jobs for one runner without config.toml, up to a number of jobs
    RunSingle(Box<RunnerRunSingleArgs>),
    /// Check config.toml, and explain each difference from GitLab Runner in it
    LintConfig(RunnerLintArgs),
    /// Register this machine as a runner, and write it to config.toml
    Register(Box<RunnerRegisterArgs>),
    /// Ask GitLab whether it knows the runners of config.toml
    Verify(RunnerVerifyArgs),
    /// Remove a runner from GitLab and from config.toml
    Unregister(RunnerSelectionArgs),
    /// Replace the token of a runner, at GitLab and in config.toml
    ResetToken(RunnerSelectionArgs),
    /// List the runners of config.toml
    List(RunnerConfigArg),
    /// Show whether a runner runs with config.toml, and what GitLab does not have yet
    Status(RunnerStatusArgs),
    /// Write a systemd service that takes jobs
    Install(RunnerInstallArgs),
}

/// The option for `config.toml`.
#[derive(Debug, Args)]
pub(crate) struct RunnerConfigArg {
    /// The file with the runners; without it that in `CONFIG_FILE`, else /etc/gitlab-runner/config.toml for root and
    /// ~/.gitlab-runner/config.toml for others
    #[arg(short, long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

impl RunnerConfigArg {
    /// Returns the file.
    pub(crate) fn path(&self) -> PathBuf {
        if let Some(path) = &self.config {
            return path.clone();
        }
        if let Some(path) = std::env::var_os("CONFIG_FILE").filter(|it| !it.is_empty()) {
            return PathBuf::from(path);
        }
        if rustix::process::geteuid().is_root() {
            return PathBuf::from("/etc/gitlab-runner/config.toml");
        }
        let home = std::env::home_dir().unwrap_or_default();
        home.join(".gitlab-runner/config.toml")
    }
}

/// Arguments of `runwright runner run`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runwright runner run                   with the usual config.toml
  runwright runner run -c ./config.toml  with another file
  kill -QUIT PID                         take no more jobs, end after the last

Signals: QUIT ends after the running jobs; USR2 too, but leaves those in containers, in pods and over SSH to the next start; TERM and INT interrupt them (`shutdown_timeout`), and a second one ends at \
once; HUP reads config.toml again, as does a change of the file.

Exit codes: 0 stopped as asked; 1 ended at once; 2 usage or config.toml; 3 environment")]
pub(crate) struct RunnerRunArgs {
    #[command(flatten)]
    pub(crate) config: RunnerConfigArg,
    /// The directory in which relative paths of config.toml start
    #[arg(short = 'd', long, value_name = "DIR")]
    pub(crate) working_directory: Option<PathBuf>,
    /// The directory for jobs whose results GitLab does not have yet [default: below ~/.runwright]
    #[arg(long, value_name = "DIR")]
    pub(crate) state_dir: Option<PathBuf>,
    /// Only warn of keys that are not known
    #[arg(long)]
    pub(crate) lenient: bool,
}

/// Arguments of `runwright runner run-single`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runwright runner run-single -u https://gitlab.com -t TOKEN --executor shell
  runwright runner run-single ... --max-builds 1 --wait-timeout 300

For a machine that exists for a few jobs. The signals are those of `run`.

Exit codes: 0 stopped as asked; 1 ended at once; 2 usage; 3 environment")]
pub(crate) struct RunnerRunSingleArgs {
    #[command(flatten)]
    pub(crate) runner: RunnerDefinitionArgs,
    /// End after this many jobs; 0 means any number
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub(crate) max_builds: u64,
    /// End after this many seconds without a job; 0 means never
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    pub(crate) wait_timeout: u64,
    /// The directory in which relative paths start
    #[arg(short = 'd', long, value_name = "DIR")]
    pub(crate) working_directory: Option<PathBuf>,
    /// The directory for jobs whose results GitLab does not have yet [default: below ~/.runwright]
    #[arg(long, value_name = "DIR")]
    pub(crate) state_dir: Option<PathBuf>,
}

/// A runner, as options.
#[derive(Debug, Args)]
pub(crate) struct RunnerDefinitionArgs {
    /// The address of GitLab
    #[arg(short, long, value_name = "URL")]
    pub(crate) url: Option<String>,
    /// The token; without it that in `CI_SERVER_TOKEN`
    #[arg(short, long, value_name = "TOKEN")]
    pub(crate) token: Option<String>,
    /// The name in config.toml; without it that of this machine
    #[arg(long, visible_alias = "description", value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// The executor
    #[arg(long, value_name = "NAME")]
    pub(crate) executor: Option<String>,
    /// The shell of scripts
    #[arg(long, value_name = "NAME")]
    pub(crate) shell: Option<String>,
    /// The image of jobs that name none, for executors with containers
    #[arg(long, value_name = "IMAGE")]
    pub(crate) docker_image: Option<String>,
    /// A further key of `[[runners]]`, such as `docker.privileged=true`; values as in TOML, texts without quotes
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
}

/// Arguments of `runwright runner lint-config`.
#[derive(Debug, Args)]
pub(crate) struct RunnerLintArgs {
    #[command(flatten)]
    pub(crate) config: RunnerConfigArg,
    /// Only warn of keys that are not known
    #[arg(long)]
    pub(crate) lenient: bool,
}

/// Arguments of `runwright runner register`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runwright runner register               asks for all that is missing
  runwright runner register -n -u https://gitlab.com -t TOKEN --executor shell
  runwright runner register ... --executor docker --docker-image alpine:3
  runwright runner register ... --set docker.privileged=true --set limit=4

A token that begins with `glrt-` is that of a runner created in GitLab, which keeps tags and the like. Any other is a \
registration token, and creates the runner. Options that are not given come from CI_SERVER_URL, CI_SERVER_TOKEN, REGISTRATION_TOKEN, \
RUNNER_NAME, RUNNER_EXECUTOR, DOCKER_IMAGE and REGISTER_NON_INTERACTIVE.

Exit codes: 0 registered; 2 usage, or GitLab refuses the token; 3 GitLab cannot be reached")]
pub(crate) struct RunnerRegisterArgs {
    #[command(flatten)]
    pub(crate) config: RunnerConfigArg,
    /// Ask nothing
    #[arg(short, long)]
    pub(crate) non_interactive: bool,
    #[command(flatten)]
    pub(crate) runner: RunnerDefinitionArgs,
    /// The registration token, of a GitLab that has such
    #[arg(help_heading = OLD, short, long, value_name = "TOKEN")]
    pub(crate) registration_token: Option<String>,
    /// The tags, separated by commas
    #[arg(help_heading = OLD, long, value_name = "TAGS")]
    pub(crate) tag_list: Option<String>,
    /// Run jobs without tags too
    #[arg(help_heading = OLD, long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    pub(crate) run_untagged: Option<bool>,
    /// Keep the runner to one project
    #[arg(help_heading = OLD, long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    pub(crate) locked: Option<bool>,
    /// `not_protected` or `ref_protected`
    #[arg(help_heading = OLD, long, value_name = "LEVEL")]
    pub(crate) access_level: Option<String>,
    /// The longest a job may take, in seconds
    #[arg(help_heading = OLD, long, value_name = "SECONDS")]
    pub(crate) maximum_timeout: Option<u64>,
    /// Create the runner paused
    #[arg(help_heading = OLD, long)]
    pub(crate) paused: bool,
    /// A note for administrators
    #[arg(help_heading = OLD, long, value_name = "TEXT")]
    pub(crate) maintenance_note: Option<String>,
}

/// Arguments of `runwright runner verify`.
#[derive(Debug, Args)]
pub(crate) struct RunnerVerifyArgs {
    #[command(flatten)]
    pub(crate) config: RunnerConfigArg,
    /// Only the runner of this name
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Remove runners from config.toml whose token GitLab refuses
    #[arg(long)]
    pub(crate) delete: bool,
}

/// Which runners of config.toml a command is about.
#[derive(Debug, Args)]
pub(crate) struct RunnerSelectionArgs {
    #[command(flatten)]
    pub(crate) config: RunnerConfigArg,
    /// The runner of this name
    #[arg(long, value_name = "NAME", required_unless_present_any = ["token", "all_runners"])]
    pub(crate) name: Option<String>,
    /// The runner at this GitLab, with --token
    #[arg(short, long, value_name = "URL")]
    pub(crate) url: Option<String>,
    /// The runner with this token
    #[arg(short, long, value_name = "TOKEN")]
    pub(crate) token: Option<String>,
    /// All runners
    #[arg(long, conflicts_with_all = ["name", "url", "token"])]
    pub(crate) all_runners: bool,
}

/// Arguments of `runwright runner status`.
#[derive(Debug, Args)]
pub(crate) struct RunnerStatusArgs {
    #[command(flatten)]
    pub(crate) config: RunnerConfigArg,
    /// The state directory that was given to `run`
    #[arg(long, value_name = "DIR")]
    pub(crate) state_dir: Option<PathBuf>,
}

/// Arguments of `runwright runner install`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runwright runner install                 write a unit of systemd
  runwright runner install --print         print it
  systemctl enable --now runwright-runner  start it now and with the machine")]
pub(crate) struct RunnerInstallArgs {
    #[command(flatten)]
    pub(crate) config: RunnerConfigArg,
    /// The name of the service
    #[arg(long, value_name = "NAME", default_value = "runwright-runner")]
    pub(crate) service: String,
    /// The user that jobs of the shell executor run as
    #[arg(long, value_name = "USER")]
    pub(crate) user: Option<String>,
    /// The directory in which relative paths of config.toml start
    #[arg(short = 'd', long, value_name = "DIR")]
    pub(crate) working_directory: Option<PathBuf>,
    /// Print the unit instead of writing it
    #[arg(long)]
    pub(crate) print: bool,
}
