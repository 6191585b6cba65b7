//! `runwright runner run-single`: a runner for some jobs, without a config.toml of the user's.

use super::register::{defined, edited};
use super::run::{Limits, Runner, state_dir};
use crate::args::RunnerRunSingleArgs;
use crate::failure::{Exit, Failure};
use anyhow::{Context, anyhow};
use runner::Outbox;
use runner::config::Strictness;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;
use std::time::Duration;

/// Takes jobs for one runner.
pub(super) fn run(args: &RunnerRunSingleArgs) -> Result<Exit, Failure> {
    let runner = defined(&args.runner)?;
    // One place for each name, so that the next start finds what a killed one left.
    let name = format!("single-{}", runner.name);
    let state = state_dir(args.state_dir.as_deref(), Path::new(&name))?;
    let mut private = fs::DirBuilder::new();
    private.recursive(true).mode(0o700);
    private
        .create(state.path())
        .with_context(|| format!("create {}", state.path().display()))
        .map_err(Failure::environment)?;
    if Outbox::is_in_use(&state.path().join("outbox")) {
        let error = anyhow!("a runner of the name {} runs already", runner.name);
        let failure = Failure::environment(error);
        return Err(failure.with_help("`--name` or `--state-dir` keeps them apart"));
    }
    let config = state.path().join("config.toml");
    match fs::remove_file(&config) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            return Err(Failure::environment(error));
        }
        _ => {}
    }
    let mut edit = edited(&config, &runner)?;
    edit.save().map_err(Failure::environment)?;
    let seconds = |number: u64| Some(Duration::from_secs(number)).filter(|it| !it.is_zero());
    let runner = Runner {
        config: config.clone(),
        strictness: Strictness::Strict,
        working_directory: args.working_directory.clone(),
        state,
        limits: Limits {
            jobs: Some(args.max_builds).filter(|it| *it > 0),
            without_job: seconds(args.wait_timeout),
        },
    };
    let done = runner.run();
    // It has the token, and the next start writes it again.
    let _ = fs::remove_file(config);
    done
}
