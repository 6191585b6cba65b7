use super::progress::ShellProgress;
use super::task::ShellTask;
use super::visitor::ShellVisitor;
use crate::args::{ProjectArgs, ShellArgs};
use crate::command::executor_choice::{ExecutorChoice, check_executor};
use crate::command::list::remarks;
use crate::command::prompt::one_job;

use crate::command::created_pipeline::CreatedPipeline;
use crate::command::parallel::allow_mounts;
use crate::command::pipeline_options::{find_project, pipeline_options};
use crate::failure::{Exit, Failure};
use crate::runtime;
use anyhow::{Context, anyhow};
use console::terminal::Signals;
use console::{error_line, print_diagnostics, print_notes, shown_name, strip_controls};
use executor_core::{Cancellation, ExecutorProvider, FeaturesInfo};
use pipeline::{PlannedJob, Selection};
use scheduler::PipelineReport;
use scheduler::event::EventSink;
use std::path::Path;
use std::sync::Arc;
use workstation::{
    Isolation, JobSession, LocalError, LocalPipeline, LocalProject, LocalRun, RunOptions, StateDir,
};

/// Enters a job, and returns the exit code of the shell or command.
pub(crate) fn shell(args: &ShellArgs) -> Result<u8, Failure> {
    check_executor(&args.executor)?;
    let project = find_project(&args.project)?;
    let chosen = args.isolation.chosen();
    executor_choice(args, project.root()).check_isolation(chosen)?;
    let read = pipeline_options(&args.project)?;
    let pipeline = match project.read(&read)?.into_result() {
        Ok((pipeline, warnings)) => {
            print_diagnostics(&warnings);
            pipeline
        }
        Err(found) => {
            print_diagnostics(&found);
            return Ok(Exit::Usage.code());
        }
    };
    let (pipeline, job) = match &args.job {
        Some(job) => (pipeline, job.clone()),
        None => match choose(&args.project, project, pipeline)? {
            Some(chosen) => chosen,
            None => return Ok(Exit::Interrupted.code()),
        },
    };
    let task = ShellTask::find(&args.command)?;
    allow_mounts(chosen)?;
    let progress = Arc::new(ShellProgress::new(task != ShellTask::Shell));
    let stays = chosen == Isolation::None;
    let visitor = Arc::new(ShellVisitor::new(task, args.login, stays));
    let options = options(args, job, chosen, &visitor);
    let runtime = runtime::start()?;
    let done = runtime.block_on(async {
        let mut signals = Signals::listen()
            .context("listen to signals")
            .map_err(Failure::environment)?;
        let cancellation = Cancellation::new();
        let enter = enter(args, &pipeline, options, &visitor, &progress, &cancellation);
        tokio::select! {
            done = enter => done,
            () = signals.drive(&cancellation, |_| {}) => {
                Err(Failure::environment(anyhow!("the signal handler ended")))
            }
        }
    });
    runtime.shutdown_background();
    let (report, job) = done?;
    Ok(exit_code(&report, &job, &visitor, &progress))
}

/// Asks which job to enter; `None` when the user leaves.
fn choose(
    args: &ProjectArgs,
    project: LocalProject,
    pipeline: LocalPipeline,
) -> Result<Option<(LocalPipeline, String)>, Failure> {
    let created = CreatedPipeline {
        creation: pipeline.create()?,
        pipeline,
        project,
        args: args.clone(),
    };
    let jobs = created.creation.jobs.iter();
    let jobs: Vec<_> = jobs
        .filter(|job| job.definition.trigger.is_none())
        .collect();
    let rows = jobs.iter().map(|job| {
        let remarks = remarks(&created, job, None);
        format!("{}  {remarks}", shown_name(job.name()))
    });
    let Some(at) = one_job(
        "Which job should the shell open in?",
        &rows.collect::<Vec<_>>(),
    )?
    else {
        return Ok(None);
    };
    let name = jobs[at].name().to_owned();
    Ok(Some((created.pipeline, name)))
}

fn options(
    args: &ShellArgs,
    job: String,
    isolation: Isolation,
    visitor: &Arc<ShellVisitor>,
) -> RunOptions {
    RunOptions {
        selection: Selection {
            jobs: vec![job.clone()],
            ..Selection::default()
        },
        isolation,
        session: Some(JobSession {
            job,
            run: args.run,
            runs_needs: args.needs,
        }),
        visitor: Some(Arc::clone(visitor) as _),
        helper_program: std::env::current_exe().ok(),
        ..RunOptions::default()
    }
}

fn executor_choice<'a>(args: &'a ShellArgs, root: &'a Path) -> ExecutorChoice<'a> {
    ExecutorChoice {
        executor: &args.executor,
        docker: &args.docker,
        login: args.login,
        fetching: args.project.remote.options().fetching,
        root,
    }
}

async fn enter(
    args: &ShellArgs,
    pipeline: &LocalPipeline,
    options: RunOptions,
    visitor: &ShellVisitor,
    progress: &Arc<ShellProgress>,
    cancellation: &Cancellation,
) -> Result<(PipelineReport, String), Failure> {
    let place = executor_choice(args, pipeline.project().root());
    let options = RunOptions {
        helper_address: place.helper_address()?,
        ..options
    };
    let state = StateDir::of_user().map_err(LocalError::from)?;
    let run = LocalRun::builder(pipeline).state(state).options(options);
    let mut run = run.reserve().await?;
    let plan = Arc::clone(run.plan());
    let Some(job) = plan.jobs().iter().find(|job| job.is_played) else {
        return Err(Failure::usage(anyhow!("there is no job to enter")));
    };
    // Only this function sets them, so they are still empty.
    let _ = visitor.job.set(job.id);
    let _ = progress.job.set(job.name().to_owned());
    print_notes(pipeline.notes()?);
    for note in run.notes() {
        error_line(&strip_controls(note));
    }
    let (executor, held) = match Box::pin(place.executor(&mut run, pipeline)).await {
        Ok(chosen) => chosen,
        Err(failure) => {
            run.release().await;
            return Err(failure);
        }
    };
    let run = run.executor(executor);
    tell_of_image(run.provider().as_ref(), job)?;
    let events: Arc<dyn EventSink> = Arc::clone(progress) as _;
    let report = run.execute(events, cancellation).await;
    held.tidy(cancellation).await;
    let report = report?;
    Ok((report, job.name().to_owned()))
}

/// Warns that the shell runs on this machine if the job has an image.
fn tell_of_image(provider: &dyn ExecutorProvider, job: &PlannedJob) -> Result<(), Failure> {
    let mut features = FeaturesInfo::default();
    provider
        .features(&mut features)
        .map_err(Failure::environment)?;
    if job.definition.image.is_some() && !features.image {
        error_line(
            "warning: the job has an image, which is not used: the shell runs on this machine",
        );
    }
    Ok(())
}

/// Returns the exit code of the shell or the command, or else of the run that did not reach it.
fn exit_code(
    report: &PipelineReport,
    job: &str,
    visitor: &ShellVisitor,
    progress: &ShellProgress,
) -> u8 {
    if report.exit == Exit::Interrupted {
        return report.exit.code();
    }
    let entered = report.jobs.iter().find(|it| *it.name == *job);
    let code = visitor.ended().map(|code| code.0);
    let code = code.or_else(|| entered.and_then(|job| job.exit_code));
    if let Some(code) = code {
        return u8::try_from(code).unwrap_or(u8::MAX);
    }
    if report.exit != Exit::Success {
        progress.show_log(job);
        let name = strip_controls(job);
        error_line(&format!(
            "error: no shell can be opened in the job {name:?}"
        ));
    }
    report.exit.code()
}
