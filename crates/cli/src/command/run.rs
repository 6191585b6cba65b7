use super::secrets::secrets;
use super::{find_project, variables};
use crate::args::{Progress, RunArgs};
use crate::exit_code::Exit;
use crate::failure::Failure;
use crate::output::{
    Console, NdJson, SharedWriter, Style, Tee, diagnostics, error_line, line, summary,
};
use crate::signal::Signals;
use anyhow::{Context, anyhow};
use runwright::core::Cancellation;
use runwright::local::{LocalError, LocalProject, LocalRun, Place, RunOptions, StateDir};
use runwright::pipeline::config::parse_duration;
use runwright::pipeline::event::EventSink;
use runwright::pipeline::plan::NeedsMode;
use runwright::pipeline::{PipelineReport, Plan, ResolvedPipeline, Selection};
use runwright::shell::ShellConfig;
use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Runs the pipeline, or some of its jobs.
pub(crate) fn run(args: &RunArgs) -> Result<Exit, Failure> {
    check_executor(&args.executor)?;
    let project = find_project(&args.project)?;
    let options = options(args)?;
    let pipeline = match project.pipeline()?.into_result() {
        Ok((pipeline, warnings)) => {
            diagnostics(&warnings);
            pipeline
        }
        Err(found) => {
            diagnostics(&found);
            return Ok(Exit::Usage);
        }
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("start the runtime")
        .map_err(Failure::environment)?;
    runtime.block_on(async {
        if args.dry_run {
            preview(&project, &pipeline, &options).await
        } else {
            execute(args, project, &pipeline, options).await
        }
    })
}

/// Refuses an executor there is not before anything else is looked at.
fn check_executor(name: &str) -> Result<(), Failure> {
    let registry =
        crate::executors::registry(ShellConfig::default()).map_err(Failure::environment)?;
    if registry.get(name).is_some() {
        return Ok(());
    }
    let names: Vec<_> = registry.names().collect();
    Err(Failure::usage(anyhow!("there is no executor {name:?}"))
        .with_help(format!("this build has: {}", names.join(", "))))
}

fn options(args: &RunArgs) -> Result<RunOptions, Failure> {
    let timeout = match &args.timeout {
        Some(text) => Some(parse_duration(text).ok_or_else(|| {
            Failure::usage(anyhow!("--timeout {text:?} is no duration"))
                .with_help("write it as `90 minutes` or `1h 30m`")
        })?),
        None => None,
    };
    Ok(RunOptions {
        selection: Selection {
            jobs: args.job_names(),
            stages: args.stage.iter().cloned().collect(),
            needs: if args.follow_needs() {
                NeedsMode::With
            } else {
                NeedsMode::Without
            },
            manual: args.manual.clone(),
        },
        variables: variables(&args.project)?,
        secrets: secrets(&args.secret)?,
        concurrency: args.concurrency,
        timeout,
        place: if args.in_place {
            Place::InPlace
        } else {
            Place::Copy
        },
    })
}

/// Shows what would run.
async fn preview(
    project: &LocalProject,
    pipeline: &ResolvedPipeline,
    options: &RunOptions,
) -> Result<Exit, Failure> {
    let plan = LocalRun::preview(project, pipeline, options).await?;
    show_plan(&plan);
    Ok(Exit::Success)
}

fn show_plan(plan: &Plan) {
    let mut stage = None;
    for job in plan.jobs() {
        if stage != Some(job.stage_index) {
            stage = Some(job.stage_index);
            line(&format!("stage {}", job.definition.stage));
        }
        line(&format!("  {}", job.name()));
        let commands = job
            .definition
            .before_script
            .iter()
            .chain(&job.definition.script)
            .flatten();
        for command in commands.flat_map(|command| command.lines()) {
            line(&format!("    $ {command}"));
        }
    }
    if plan.is_empty() {
        line("no job to run");
    }
}

async fn execute(
    args: &RunArgs,
    project: LocalProject,
    pipeline: &ResolvedPipeline,
    options: RunOptions,
) -> Result<Exit, Failure> {
    let signals = Signals::listen()
        .context("listen to signals")
        .map_err(Failure::environment)?;
    let interrupted = signals.seen();
    let cancellation = Cancellation::new();
    let audience = Audience::of(args)?;
    let events = Arc::clone(&audience.sink);
    let state = StateDir::of_user().map_err(LocalError::from)?;

    let work = async {
        let run = LocalRun::prepare(project, pipeline, &state, options).await?;
        let logs = run.directory().join("logs");
        let shell = ShellConfig {
            login: args.login,
            supervisor: Some(run.supervisor().clone()),
            ..ShellConfig::default()
        };
        let registry = crate::executors::registry(shell).map_err(Failure::environment)?;
        let provider = registry
            .get(&args.executor)
            .cloned()
            .ok_or_else(|| Failure::usage(anyhow!("there is no executor {:?}", args.executor)))?;
        let report = run
            .execute(&args.executor, provider, events, &cancellation)
            .await?;
        Ok::<_, Failure>((report, logs))
    };
    let notify = |count| {
        let notice = if count == 1 {
            "\ncancelling; once more to end everything at once"
        } else {
            "\nending everything at once"
        };
        error_line(notice);
    };
    let done = tokio::select! {
        done = work => done,
        () = signals.drive(cancellation.clone(), notify) => unreachable_end(),
        () = audience.keep_flushed() => unreachable_end(),
    };
    let (report, logs) = done?;
    show_summary(args, &report, &logs);
    if interrupted.load(Ordering::SeqCst) {
        return Ok(Exit::Interrupted);
    }
    Ok(report.exit)
}

/// What goes on beside the work never ends by itself.
fn unreachable_end<T>() -> Result<T, Failure> {
    Err(Failure::environment(anyhow!("a task beside the run ended")))
}

fn show_summary(args: &RunArgs, report: &PipelineReport, logs: &std::path::Path) {
    if args.progress == Progress::Json {
        return;
    }
    let text = summary(report, style(args.progress), Some(logs));
    line(text.trim_end());
}

fn style(progress: Progress) -> Style {
    match progress {
        Progress::Auto => Style::of_stdout(),
        Progress::Tty => Style::COLOURED,
        Progress::Plain | Progress::Json => Style::PLAIN,
    }
}

/// Who takes the events: the terminal or standard output, and the file that was asked for.
struct Audience {
    sink: Arc<dyn EventSink>,
    shown: SharedWriter,
    file: Option<SharedWriter>,
}

impl Audience {
    fn of(args: &RunArgs) -> Result<Self, Failure> {
        let shown = SharedWriter::new(io::stdout());
        let mut sinks: Vec<Arc<dyn EventSink>> = vec![match args.progress {
            Progress::Json => Arc::new(NdJson::new(shown.clone())),
            progress => Arc::new(Console::new(shown.clone(), style(progress))),
        }];
        let mut file = None;
        if let Some(path) = &args.events {
            let created = File::create(path)
                .with_context(|| format!("create {}", path.display()))
                .map_err(Failure::usage)?;
            let writer = SharedWriter::new(created);
            sinks.push(Arc::new(NdJson::new(writer.clone())));
            file = Some(writer);
        }
        Ok(Self {
            sink: Arc::new(Tee(sinks)),
            shown,
            file,
        })
    }

    /// Shows from time to time what was written. Never returns.
    async fn keep_flushed(&self) {
        let file = async {
            match &self.file {
                Some(file) => file.keep_flushed().await,
                None => std::future::pending().await,
            }
        };
        tokio::join!(self.shown.keep_flushed(), file);
    }
}
