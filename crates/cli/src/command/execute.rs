//! Executes a run and shows it, from its plan to its report.

use super::artifacts_to_source::Copies;
use super::forecast::RunForecast;
use super::no_pipeline::NoPipeline;
use super::report_files::ReportFiles;
use super::rerun_command::{RerunCommand, shell_words};
use super::run::no_pipeline;
use super::run_options::executor_choice;
use super::run_view::RunView;
use super::shell_on_failure::FailureShell;
use crate::args::RunArgs;
use crate::failure::{Exit, Failure};
use anyhow::{Context, anyhow};
use console::full_screen::Shells;
use console::terminal::{OwnTerminal, Signals, TerminalChange, TerminalSignals};
use console::{
    ProgressMode, Style, SummaryHints, Tone, error_line, print_notes, print_skipped,
    strip_controls, summary,
};
use executor_core::{CancelCause, Cancellation, ExecutorProvider, FeaturesInfo};
use pipeline::Plan;
use pipeline::parity::{Class, check_plan};
use scheduler::{PipelineReport, Status};
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::runtime::Handle;
use workstation::{
    Isolation, LocalError, LocalPipeline, LocalRun, RunLogs, RunOptions, StateDir, StoredArtifacts,
    Visitor,
};

/// A finished run, and the data of its summary.
pub(super) struct FinishedRun {
    pub(super) report: PipelineReport,
    pub(super) plan: Arc<Plan>,
    pub(super) artifacts: StoredArtifacts,
    logs: RunLogs,
}

impl FinishedRun {
    pub(super) fn summary(&self, args: &RunArgs, style: Style) -> String {
        let again = RerunCommand::new(args, &self.plan);
        let hints = SummaryHints {
            log: &|pipeline, job| self.logs.of(pipeline, job),
            again: &|job| again.command(job),
            play: &|pipeline, job| again.play(pipeline.0, job),
            times: args.shown.times,
        };
        let mut text = summary(&self.report, style, &hints);
        if let Some(limit) = &args.timeout
            && self.report.exit == Exit::JobFailed
            && self.report.failed_jobs().next().is_none()
        {
            let _ = writeln!(text, "it reached its time limit: --timeout {limit:?}");
        }
        text
    }

    /// Returns a last line that names the command to continue a canceled run; empty for other runs.
    pub(super) fn resume_hint(&self, args: &RunArgs, style: Style) -> String {
        if self.report.status != Status::Canceled {
            return String::new();
        }
        let command = RerunCommand::new(args, &self.plan).resume(self.report.id.0);
        let command = style.paint(Tone::Strong, &command);
        let why = match &self.report.error {
            // An executor that cannot be acquired, for instance.
            Some(_) => "ended by the error above",
            None => "canceled",
        };
        format!("{why}; continue with {command}\n")
    }
}

/// Runs the pipeline of `no_pipeline`, which explains why there is none, until it finishes, and shows it.
pub(super) async fn execute_run(
    no_pipeline: &NoPipeline<'_>,
    args: &RunArgs,
    options: RunOptions,
    view: &RunView,
    cancellation: &Cancellation,
) -> Result<FinishedRun, Failure> {
    let state = StateDir::of_user().map_err(LocalError::from)?;
    let pipeline = no_pipeline.pipeline;
    let run = LocalRun::builder(pipeline).state(state).options(options);
    let run = run.reserve().await;
    let mut run = run.map_err(|error| no_pipeline.failure(error))?;
    let (logs, artifacts) = (run.logs(), run.artifacts());
    let plan = Arc::clone(run.plan());
    // It may ask the user, so it precedes the view.
    let choice = executor_choice(args, pipeline.project().root());
    let (executor, held) = match Box::pin(choice.executor(&mut run, pipeline)).await {
        Ok(chosen) => chosen,
        Err(failure) => {
            run.release().await;
            return Err(failure);
        }
    };
    view.introduce(&plan);
    print_notes(pipeline.notes()?);
    print_notes(run.notes());
    plan.refusal()
        .into_iter()
        .for_each(|refusal| no_pipeline.print(refusal));
    print_skipped(&plan);
    let run = run.executor(executor);
    warn_of_ignored_keywords(run.provider().as_ref(), &plan)?;
    let forecast = RunForecast::of(&run, &args.shown, view);
    let events = view.sink();
    let events = match &forecast {
        Some(forecast) => forecast.sink(events),
        None => events,
    };
    let report = run.execute(events, cancellation).await;
    held.tidy(cancellation).await;
    let mut report = report?;
    report.times = forecast.map(|forecast| forecast.times(&report));
    Ok(FinishedRun {
        report,
        plan,
        artifacts,
        logs,
    })
}

/// Prints one warning for each keyword that has no effect here.
fn warn_of_ignored_keywords(provider: &dyn ExecutorProvider, plan: &Plan) -> Result<(), Failure> {
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

/// How long to wait for the reader of the output after the user has stopped the run.
pub(super) const LAST_WORDS: Duration = Duration::from_secs(5);

pub(super) async fn execute(
    args: &RunArgs,
    pipeline: &LocalPipeline,
    mut options: RunOptions,
) -> Result<Exit, Failure> {
    let mut signals = Signals::listen()
        .context("listen to signals")
        .map_err(Failure::environment)?;
    let terminal = TerminalSignals::listen()
        .context("listen to the terminal")
        .map_err(Failure::environment)?;
    let interrupted = signals.seen();
    let cancellation = Cancellation::new();
    let reports = ReportFiles::check(&args.shown.report)?;
    let view = Arc::new(RunView::of(&args.shown)?);
    if args.shell_on_failure {
        options.visitor = failure_shell(args, &view, &options)?;
    }
    let shells = || Shells {
        runtime: Handle::current(),
        profile: args.login,
        words: shell_words(args),
        is_deaf: signals.deafness(),
    };
    view.connect(&options, shells, &cancellation);
    // In the working tree itself, jobs leave them there.
    let copies_artifacts = args.artifacts_to_source && options.isolation != Isolation::None;
    let no_pipeline = no_pipeline("run", args, pipeline);
    let running = execute_run(&no_pipeline, args, options, &view, &cancellation);
    let done = tokio::select! {
        done = running => done,
        () = signals.drive(&cancellation, |count| view.tell(words_on_signal(count))) => {
            return Err(Failure::environment(anyhow!("the signal handler ended")));
        }
        () = follow_terminal(terminal, &view) => {
            return Err(Failure::environment(anyhow!("the signal handler ended")));
        }
    };
    let mut written = Ok(());
    if let Ok(done) = &done {
        written = reports.write(&done.report).map_err(Failure::environment);
        view.show_summary(&done.summary(args, view.style()));
        view.show_summary(&done.resume_hint(args, view.style()));
    }
    let was_interrupted = interrupted.load(Ordering::SeqCst);
    let shown = {
        let view = Arc::clone(&view);
        tokio::task::spawn_blocking(move || view.finish())
    };
    let shown = tokio::select! {
        shown = shown => shown.unwrap_or(Ok(())),
        () = signals.next() => {
            interrupted.store(true, Ordering::SeqCst);
            Ok(())
        }
        () = tokio::time::sleep(LAST_WORDS), if was_interrupted => Ok(()),
    };
    view.leave();
    let done = done?;
    written?;
    if interrupted.load(Ordering::SeqCst) {
        return Ok(Exit::Interrupted);
    }
    shown.map_err(Failure::environment)?;
    if copies_artifacts {
        let copies = Copies::of(&done, pipeline);
        let token = cancellation.clone();
        let mut copying = tokio::task::spawn_blocking(move || copies.write(&token));
        tokio::select! {
            _ = &mut copying => {}
            () = signals.next() => {
                cancellation.cancel(CancelCause::User);
                let _ = copying.await;
                return Ok(Exit::Interrupted);
            }
        }
    }
    Ok(done.report.exit)
}

/// Returns the visitor that opens shells in failed jobs. A resumed run may have started at a terminal and
/// have none now; it then continues without shells.
fn failure_shell(
    args: &RunArgs,
    view: &RunView,
    options: &RunOptions,
) -> Result<Option<Arc<dyn Visitor>>, Failure> {
    match view.console().filter(|_| OwnTerminal::is_there()) {
        Some(console) => {
            let visitor = FailureShell::new(console, &options.controls, args.login);
            Ok(Some(Arc::new(visitor)))
        }
        None if options.continues.is_some() => Ok(None),
        None if args.shown.progress() == ProgressMode::Tui => {
            let error = anyhow!("--shell-on-failure cannot be used with --progress tui");
            Err(Failure::usage(error).with_help("the key `s` opens a shell in a job"))
        }
        None => {
            let error = anyhow!("--shell-on-failure needs a terminal");
            Err(Failure::usage(error)
                .with_help("leave it out, and open a shell afterwards: `runwright shell JOB`"))
        }
    }
}

pub(super) fn words_on_signal(count: usize) -> &'static str {
    if count == 1 {
        "canceling; press Ctrl-C again to end everything at once"
    } else {
        "ending everything at once"
    }
}

/// Redraws the view when the terminal changes. Never returns.
pub(super) async fn follow_terminal(mut terminal: TerminalSignals, view: &RunView) {
    loop {
        match terminal.next().await {
            TerminalChange::Size => view.resized(),
            TerminalChange::Resumed => view.resumed(),
        }
    }
}
