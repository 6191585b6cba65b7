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
use runwright::pipeline::{Plan, ResolvedPipeline, Selection};
use runwright::shell::ShellConfig;
use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

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
    let done = runtime.block_on(async {
        if args.dry_run {
            preview(&project, &pipeline, &options).await
        } else {
            execute(args, project, &pipeline, options).await
        }
    });
    // Somebody who does not read the output may still keep a thread busy.
    runtime.shutdown_background();
    done
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
    let mut signals = Signals::listen()
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
        () = signals.drive(&cancellation, notify) => unreachable_end(),
    };
    if let Ok((report, logs)) = &done
        && args.progress != Progress::Json
    {
        let text = summary(report, style(args.progress), Some(logs));
        audience.shown.write(text.as_bytes());
    }
    let was_interrupted = interrupted.load(Ordering::SeqCst);
    let shown = tokio::task::spawn_blocking(move || audience.finish());
    tokio::select! {
        // A panic was printed by itself.
        _ = shown => {}
        () = signals.next() => interrupted.store(true, Ordering::SeqCst),
        () = tokio::time::sleep(LAST_WORDS), if was_interrupted => {}
    }
    let (report, _) = done?;
    if interrupted.load(Ordering::SeqCst) {
        return Ok(Exit::Interrupted);
    }
    Ok(report.exit)
}

/// How long the reader of the output is waited for after somebody stopped the run.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// What goes on beside the work never ends by itself.
fn unreachable_end<T>() -> Result<T, Failure> {
    Err(Failure::environment(anyhow!("a task beside the run ended")))
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
        let writer = |shown: io::Result<SharedWriter>| {
            shown
                .context("start to write output")
                .map_err(Failure::environment)
        };
        let shown = writer(SharedWriter::new(io::stdout()))?;
        let mut sinks: Vec<Arc<dyn EventSink>> = vec![match args.progress {
            Progress::Json => Arc::new(NdJson::new(shown.clone())),
            progress => Arc::new(Console::new(shown.clone(), style(progress))),
        }];
        let mut file = None;
        if let Some(path) = &args.events {
            let created = File::create(path)
                .with_context(|| format!("create {}", path.display()))
                .map_err(Failure::usage)?;
            let written = writer(SharedWriter::new(created))?;
            sinks.push(Arc::new(NdJson::new(written.clone())));
            file = Some(written);
        }
        Ok(Self {
            sink: Arc::new(Tee(sinks)),
            shown,
            file,
        })
    }

    /// Waits until all is shown and written.
    fn finish(&self) {
        self.shown.finish();
        if let Some(file) = &self.file {
            file.finish();
        }
    }
}
