//! Builds the options of a run from arguments and settings.

use super::executor_choice::ExecutorChoice;
use super::parallel::{Parallel, within_file_limit};
use super::touched::Touched;
use crate::args::{DialectArg, RunArgs};
use crate::failure::Failure;
use anyhow::anyhow;
use console::{error_line, strip_controls};
use executor_core::job::When;
use pipeline::Selection;
use pipeline::config::parse_duration;
use pipeline::plan::UnknownNames;
use pipeline::selector;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use workstation::{
    BitrabSettings, DeclaredChanges, LocalError, LocalPipeline, LocalProject, Notices, ReuseMode,
    ReuseOptions, RunOptions, Settings, StateDir, WatchChanges,
};

/// Returns the options of a run, from arguments and settings.
pub(super) fn run_options(args: &RunArgs, project: &LocalProject) -> Result<RunOptions, Failure> {
    let names_jobs = !args.job_names().is_empty() || args.stage.is_some();
    if args.only_needs && !names_jobs && !args.choose && !args.only_failed {
        let error = anyhow!("--only-needs requires a job or --stage");
        return Err(Failure::usage(error).with_help("name the jobs whose needs should run"));
    }
    let parallel = Parallel::choose(args, project)?;
    let choice = executor_choice(args, project.root());
    choice.check_isolation(parallel.isolation)?;
    let timeout = match &args.timeout {
        Some(text) => Some(parse_duration(text).ok_or_else(|| {
            Failure::usage(anyhow!(
                "invalid --timeout {text:?}: expected a duration such as \"90 minutes\""
            ))
            .with_help("write it as `90 minutes` or `1h 30m`")
        })?),
        None => None,
    };
    Ok(RunOptions {
        selection: Selection {
            jobs: args.job_names(),
            stages: args.stage.iter().cloned().collect(),
            needs: args.needs_mode(),
            manual: args.manual.clone(),
            skip: args.skipped(),
            unknown: match args.project.dialect {
                DialectArg::Gitlab => UnknownNames::Refused,
                DialectArg::Bitrab => UnknownNames::LeftOut,
            },
            ..Selection::default()
        },
        concurrency: within_file_limit(parallel.concurrency),
        timeout,
        isolation: parallel.isolation,
        watch_changes: watch_changes(args, project)?,
        reuse: reuse_options(args, project)?,
        ignore_other_projects: args.ignore_other_projects,
        helper_program: std::env::current_exe().ok(),
        helper_address: choice.helper_address()?,
        notices: Notices::new(|line| error_line(&strip_controls(line))),
        ..RunOptions::default()
    })
}

/// Returns the options for reuse of results from earlier runs.
fn reuse_options(args: &RunArgs, project: &LocalProject) -> Result<ReuseOptions, Failure> {
    let mode = args.reuse.mode();
    if mode == ReuseMode::Off {
        return Ok(ReuseOptions::default());
    }
    let state = StateDir::of_user().map_err(LocalError::from)?;
    let home = std::env::home_dir();
    let settings = Settings::of_project(project.root(), state.path(), home.as_deref())
        .map_err(LocalError::from)?;
    let choice = executor_choice(args, project.root());
    Ok(ReuseOptions {
        mode,
        settings: Some(Arc::new(settings)),
        executor_setup: choice.host_setup(),
        container_setup: choice.container_setup()?,
    })
}

/// Returns the watcher for changes of tracked files, if an option, a setting or, in bitrab's dialect, the
/// project asks for it.
fn watch_changes(args: &RunArgs, project: &LocalProject) -> Result<Option<WatchChanges>, Failure> {
    let bitrab = match args.project.dialect {
        DialectArg::Gitlab => BitrabSettings::default(),
        DialectArg::Bitrab => BitrabSettings::read(project.root()).map_err(LocalError::from)?,
    };
    if !args.warn_changes && !bitrab.warn_on_mutation {
        return Ok(None);
    }
    let state = StateDir::of_user().map_err(LocalError::from)?;
    let home = std::env::home_dir();
    let settings = Settings::of_project(project.root(), state.path(), home.as_deref())
        .map_err(LocalError::from)?;
    let declared = DeclaredChanges::new(settings).with_all_jobs(&bitrab.whitelist);
    Ok(Some(WatchChanges::new(Arc::new(declared))))
}

/// Returns the choice of the executor.
pub(super) fn executor_choice<'a>(args: &'a RunArgs, root: &'a Path) -> ExecutorChoice<'a> {
    ExecutorChoice {
        executor: &args.executor,
        docker: &args.docker,
        login: args.login,
        fetching: args.project.remote.options().fetching,
        root,
    }
}

/// Refuses `--manual` for jobs that are not manual in this pipeline. The selection refuses unknown ones.
pub(super) fn check_manual(args: &RunArgs, pipeline: &LocalPipeline) -> Result<(), Failure> {
    if args.manual.is_empty() {
        return Ok(());
    }
    let creation = pipeline.create()?;
    let jobs: Vec<_> = creation.jobs.iter().filter(|job| job.is_included).collect();
    let names: Vec<_> = jobs.iter().map(|job| job.named()).collect();
    for text in &args.manual {
        let Ok(found) = selector::find(text, &names) else {
            continue;
        };
        let mut found = found.indices.iter().map(|&at| jobs[at].definition.when);
        if found.all(|when| !matches!(when, When::Manual | When::Delayed)) {
            let error = anyhow!("--manual {text}: the job is not manual");
            return Err(Failure::usage(error)
                .with_help("it starts by itself; leave out the option, or name the job alone"));
        }
    }
    Ok(())
}

/// Returns the touched jobs when only those count: the jobs of the resumed run, or those touched now.
pub(super) fn touched_jobs(
    args: &RunArgs,
    project: &LocalProject,
    pipeline: &LocalPipeline,
) -> Result<Option<BTreeSet<String>>, Failure> {
    if args.changed.among.is_some() || !args.changed.is_asked() {
        return Ok(args.changed.among.clone());
    }
    let creation = pipeline.create()?;
    let touched = Touched::find(&args.changed, &args.project, project, pipeline, &creation)?;
    Ok(touched.map(|touched| touched.jobs.names()))
}
