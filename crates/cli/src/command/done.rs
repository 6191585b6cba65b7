use super::again::Again;
use super::audience::Audience;
use super::expected::Expected;
use super::run::place;
use crate::args::RunArgs;
use crate::exit_code::Exit;
use crate::failure::Failure;
use console::{Advice, Style, error_line, notes, refusal, skipped, strip_controls, summary};
use executor_core::{Cancellation, ExecutorProvider, FeaturesInfo};
use pipeline::Plan;
use pipeline::parity::{Class, check_plan};
use scheduler::PipelineReport;
use std::fmt::Write;
use std::sync::Arc;
use workstation::{LocalError, LocalPipeline, LocalRun, RunLogs, RunOptions, StateDir};

/// A run that has ended, and what is needed to tell of it.
pub(super) struct Done {
    pub(super) report: PipelineReport,
    pub(super) plan: Arc<Plan>,
    logs: RunLogs,
}

impl Done {
    pub(super) fn summary(&self, args: &RunArgs, style: Style) -> String {
        let again = Again::new(args, &self.plan);
        let advice = Advice {
            log: &|pipeline, job| self.logs.of(pipeline, job),
            again: &|job| again.command(job),
            play: &|pipeline, job| again.play(pipeline.0, job),
            times: args.shown.times,
        };
        let mut text = summary(&self.report, style, &advice);
        if let Some(limit) = &args.timeout
            && self.report.exit == Exit::JobFailed
            && self.report.failed_jobs().next().is_none()
        {
            let _ = writeln!(text, "its time was up: --timeout {limit:?}");
        }
        text
    }
}

/// Runs the pipeline to its end, and tells the audience meanwhile.
pub(super) async fn work(
    args: &RunArgs,
    pipeline: &LocalPipeline,
    options: RunOptions,
    audience: &Audience,
    cancellation: &Cancellation,
) -> Result<Done, Failure> {
    let state = StateDir::of_user().map_err(LocalError::from)?;
    let run = LocalRun::builder(pipeline).state(state).options(options);
    let mut run = run.reserve().await?;
    let logs = run.logs();
    let plan = Arc::clone(run.plan());
    audience.introduce(&plan);
    notes(&pipeline.notes()?);
    let changes: Vec<&str> = run.notes().iter().map(String::as_str).collect();
    notes(&changes);
    plan.refusal().into_iter().for_each(refusal);
    skipped(&plan);
    let place = place(args, pipeline.project().root());
    let (executor, held) = place.executor(&mut run, pipeline).await?;
    let run = run.executor(executor);
    tell_of_ignored(run.provider().as_ref(), &plan)?;
    let expected = Expected::of(&run, &args.shown, audience);
    let events = audience.sink();
    let events = match &expected {
        Some(expected) => expected.sink(events),
        None => events,
    };
    let report = run.execute(events, cancellation).await;
    held.tidy(cancellation).await;
    let mut report = report?;
    report.times = expected.map(|expected| expected.times(&report));
    Ok(Done { report, plan, logs })
}

/// Says once for each keyword what the jobs ask for and do not get here.
fn tell_of_ignored(provider: &dyn ExecutorProvider, plan: &Plan) -> Result<(), Failure> {
    let mut features = FeaturesInfo::default();
    provider
        .features(&mut features)
        .map_err(Failure::environment)?;
    for found in check_plan(plan) {
        let is_given = match found.deviation.keyword {
            "image" => features.image,
            "services" => features.services,
            _ => false,
        };
        if found.deviation.class == Class::Warning && !is_given {
            error_line(&strip_controls(&format!("warning: {found}")));
        }
    }
    Ok(())
}
