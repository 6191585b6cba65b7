use crate::conformance::checks::{
    abilities, background, cleanup, exit, file_variables, instances, masking, output, provider,
    run_steps, scripts, stages, stop, stop_prepare, variables,
};
use crate::conformance::suite::Suite;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

/// The reason a check did not pass.
#[derive(Debug)]
pub(crate) enum Stop {
    Failed(String),
    Skipped(String),
}

impl Stop {
    /// Adds the subject to the reason of a failure.
    pub(crate) fn of(self, what: impl fmt::Display) -> Self {
        match self {
            Self::Failed(reason) => Self::Failed(format!("{what}: {reason}")),
            Self::Skipped(reason) => Self::Skipped(reason),
        }
    }
}

/// The outcome of a check or of a part; an error ends the check.
pub(crate) type Outcome<T = ()> = Result<T, Stop>;

/// Returns a failure with this reason, truncated if it is long.
pub(crate) fn failed<T>(reason: impl Into<String>) -> Outcome<T> {
    const LONGEST: usize = 600;
    let mut reason = reason.into();
    if let Some((end, _)) = reason.char_indices().nth(LONGEST) {
        reason.truncate(end);
        reason.push_str(" ...");
    }
    Err(Stop::Failed(reason))
}

/// Returns a skip for this reason.
pub(crate) fn skipped<T>(reason: impl Into<String>) -> Outcome<T> {
    Err(Stop::Skipped(reason.into()))
}

/// Fails the check unless the condition holds.
macro_rules! ensure {
    ($condition:expr, $($reason:tt)+) => {
        if !$condition {
            return $crate::conformance::check::failed(format!($($reason)+));
        }
    };
}
pub(crate) use ensure;

/// Whether a check may be skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    Required,
    Optional,
    /// Required, except of an executor with room for one job.
    Concurrent,
}

type Run = fn(Arc<Suite>) -> Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// One named check.
#[derive(Debug)]
pub(crate) struct Check {
    pub(crate) name: &'static str,
    /// What the contract demands.
    pub(crate) contract: &'static str,
    pub(crate) need: Need,
    pub(crate) run: Run,
}

/// Lists the checks, each named after its function, with the contract's sentence.
macro_rules! checks {
    ($($need:ident $module:ident::$check:ident: $contract:literal;)*) => {
        &[$(Check {
            name: stringify!($check),
            contract: $contract,
            need: Need::$need,
            run: |suite| Box::pin($module::$check(suite)),
        }),*]
    };
}

/// All checks in their order: the simplest first, leftovers last.
pub(crate) const CHECKS: &[Check] = checks! {
    Required provider::provider_is_stable:
        "Repeated calls of the provider have equal results, and `features` only adds features.";
    Required provider::create_allocates_nothing:
        "`create` allocates nothing outside this process: it starts no process and opens no file.";
    Required exit::success:
        "A script that succeeds is a result with exit code 0, and its output is in the log.";
    Required exit::exit_codes:
        "A failed script is a result, with its exit code unchanged.";
    Required exit::signals:
        "A script that a signal ended has failed, with the code a shell reports: 128 plus the number.";
    Required scripts::multi_line_script:
        "A script is run as it is, with all its lines in one shell.";
    Required scripts::unicode_script:
        "A script is UTF-8 and is run unchanged.";
    Required scripts::long_script:
        "A script may be longer than a command line.";
    Required scripts::empty_script:
        "An empty script succeeds.";
    Required scripts::standard_input_is_empty:
        "The script's standard input is empty, and no command in it can read the script.";
    Optional variables::environment_variables:
        "Each value of `environment` is exported to the process byte for byte.";
    Optional variables::large_variable:
        "A value of 100 KiB is exported.";
    Optional variables::variables_stay_out_of_command_lines:
        "Values are never passed in the script's text or on a command line.";
    Required variables::variables_end_with_their_stage:
        "A stage has the variables of its command, and none of an earlier stage.";
    Required variables::variables_end_with_their_job:
        "A job has no variable of an earlier or concurrent job.";
    Optional file_variables::file_variables:
        "Before the script starts, each of `files` is written to `<temp_dir>/<key>`, and `key` is exported as that path.";
    Optional file_variables::file_variables_are_private:
        "File variables are readable by the job alone.";
    Required stages::stages_share_files:
        "All stages of a job, in every placement, see the same files.";
    Required stages::working_directory:
        "The script starts in the directory of its command.";
    Required stages::after_script_has_a_fresh_shell:
        "Each stage has a shell of its own: nothing of an earlier shell remains but files.";
    Required stages::stage_is_readable_while_running:
        "The current stage is readable while `run` is busy.";
    Required output::streams_are_apart:
        "Standard output and standard error go to the log as separate streams.";
    Required output::order_within_a_stream:
        "The bytes of a stream reach the log in order and without loss.";
    Required output::raw_bytes:
        "Output of any bytes reaches the log unchanged.";
    Required output::last_bytes:
        "`run` returns when the output of the main process is in the log.";
    Required output::output_is_live:
        "Output reaches the log while the script runs, also without the end of a line.";
    Required output::long_line:
        "A line of output may have any length.";
    Required output::bounded_memory:
        "Output is passed on, not collected in memory.";
    Required masking::masking_at_every_split:
        "Output goes through the log alone, with nothing between its pieces, so that secrets are masked at every split.";
    Required background::background_child_does_not_delay:
        "A background process that outlives the script delays the return by a short grace period at most.";
    Required stop::cancel_in_each_stage:
        "On `cancel`, every stage is terminated, and `run` returns `Canceled` with the cause.";
    Required stop::abort_in_each_stage:
        "On `abort`, every stage is killed, and `run` returns `Canceled` with the cause.";
    Required stop::timeout:
        "A stage that is cancelled because its time is up reports that cause.";
    Required stop::cancel_terminates_first:
        "On `cancel`, the running command gets SIGTERM and the grace period of the runner's settings.";
    Required stop::cancel_kills_after_the_grace_period:
        "On `cancel`, a command that ignores SIGTERM is killed after the grace period.";
    Required stop::abort_does_not_wait:
        "On `abort`, the command is killed at once.";
    Required stop::abort_overtakes_cancel:
        "An `abort` ends the grace period of an earlier `cancel`, whose cause counts.";
    Required stop::after_script_runs_after_cancel:
        "After a cancelled stage more stages may follow in the same environment, or fail with an error that is not temporary.";
    Required stop_prepare::stop_before_prepare:
        "A stopped `prepare` returns soon, without a grace period.";
    Required stop_prepare::stop_during_prepare:
        "`prepare` may be stopped at any of its steps, and `cleanup` then finds everything it created.";
    Required stop_prepare::stop_before_run:
        "A stage that is stopped before its start does not run, and `run` returns `Canceled`.";
    Concurrent instances::instances_are_independent:
        "The executors of one provider do not affect each other.";
    Concurrent instances::many_jobs_at_once:
        "Concurrent jobs have their own files, variables and logs.";
    Optional abilities::features_match_abilities:
        "The features of the provider are the abilities of its executors.";
    Optional abilities::file_transfer:
        "Files are unchanged after `get` and `put`; a missing path is skipped.";
    Optional abilities::sent_files_alone:
        "After the job's directory is emptied and files are sent, it has these alone, whatever an earlier job left there.";
    Optional abilities::terminal:
        "A terminal passes on what is typed, and ends with its shell.";
    Optional abilities::steps:
        "The service for steps accepts several connections.";
    Optional run_steps::run_steps:
        "Steps run as defined, and stopped steps leave no process.";
    Optional abilities::resumable:
        "A prepared environment has a handle for a restarted runner.";
    Optional abilities::suspend:
        "A suspended environment keeps its files for a later job.";
    Required cleanup::cleanup_without_prepare:
        "`cleanup` succeeds without a `prepare`.";
    Required cleanup::cleanup_after_failed_prepare:
        "`cleanup` finds everything that a failed `prepare` created, also halfway.";
    Required cleanup::cleanup_twice:
        "`cleanup` may be called more than once.";
    Required cleanup::cleanup_leaves_no_files:
        "`cleanup` removes the job's temporary files: scripts and file variables.";
    Required background::cleanup_leaves_no_processes:
        "After `cleanup` no process of the job runs.";
    Optional background::detached_children_are_ended:
        "`cleanup` ends processes in a session of their own too.";
    Required cleanup::nothing_is_left:
        "After the last `cleanup` and `release` nothing remains.";
};
