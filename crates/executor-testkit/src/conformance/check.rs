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
}

type Run = fn(Arc<Suite>) -> Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// One named check.
#[derive(Debug)]
pub(crate) struct Check {
    pub(crate) name: &'static str,
    pub(crate) need: Need,
    pub(crate) run: Run,
}

/// Lists the checks, each named after its function.
macro_rules! checks {
    ($($need:ident $module:ident::$check:ident;)*) => {
        &[$(Check {
            name: stringify!($check),
            need: Need::$need,
            run: |suite| Box::pin($module::$check(suite)),
        }),*]
    };
}

/// All checks in their order: the simplest first, leftovers last.
pub(crate) const CHECKS: &[Check] = checks! {
    Required provider::provider_is_stable;
    Required provider::create_allocates_nothing;
    Required exit::success;
    Required exit::exit_codes;
    Required exit::signals;
    Required scripts::multi_line_script;
    Required scripts::unicode_script;
    Required scripts::long_script;
    Required scripts::empty_script;
    Required scripts::standard_input_is_empty;
    Optional variables::environment_variables;
    Optional variables::large_variable;
    Optional variables::variables_stay_out_of_command_lines;
    Required variables::variables_end_with_their_stage;
    Required variables::variables_end_with_their_job;
    Optional file_variables::file_variables;
    Optional file_variables::file_variables_are_private;
    Required stages::stages_share_files;
    Required stages::working_directory;
    Required stages::after_script_has_a_fresh_shell;
    Required stages::stage_is_readable_while_running;
    Required output::streams_are_apart;
    Required output::order_within_a_stream;
    Required output::raw_bytes;
    Required output::last_bytes;
    Required output::output_is_live;
    Required output::long_line;
    Required output::bounded_memory;
    Required masking::masking_at_every_split;
    Required background::background_child_does_not_delay;
    Required stop::cancel_in_each_stage;
    Required stop::abort_in_each_stage;
    Required stop::timeout;
    Required stop::cancel_terminates_first;
    Required stop::cancel_kills_after_the_grace_period;
    Required stop::abort_does_not_wait;
    Required stop::abort_overtakes_cancel;
    Required stop::after_script_runs_after_cancel;
    Required stop_prepare::stop_before_prepare;
    Required stop_prepare::stop_during_prepare;
    Required stop_prepare::stop_before_run;
    Required instances::instances_are_independent;
    Required instances::many_jobs_at_once;
    Optional abilities::features_match_abilities;
    Optional abilities::file_transfer;
    Optional abilities::terminal;
    Optional abilities::steps;
    Optional run_steps::run_steps;
    Optional abilities::resumable;
    Optional abilities::suspend;
    Required cleanup::cleanup_without_prepare;
    Required cleanup::cleanup_after_failed_prepare;
    Required cleanup::cleanup_twice;
    Required cleanup::cleanup_leaves_no_files;
    Required background::cleanup_leaves_no_processes;
    Optional background::detached_children_are_ended;
    Required cleanup::nothing_is_left;
};
