//! `runwright watch`: runs the pipeline again after each change of the working tree.

use super::execute::{FinishedRun, LAST_WORDS, execute_run, follow_terminal, words_on_signal};
use super::parallel::allow_mounts;
use super::pipeline_options::pipeline_options;
use super::project_runs::print_leftovers;
use super::report_files::ReportFiles;
use super::rerun_command::settings;
use super::run::{no_pipeline, project, remember_consent};
use super::run_options::{check_manual, run_options, touched_jobs};
use super::run_outputs::RunOutputs;
use super::run_view::RunView;
use super::touched::touched;
use crate::args::{RunArgs, WatchArgs};
use crate::failure::{Exit, Failure};
use crate::runtime;
use anyhow::{Context, anyhow};
use console::terminal::{Signals, TerminalSignals};
use console::{ProgressMode, counted, error_line, print_diagnostics, print_notes, strip_controls};
use executor_core::{CancelCause, Cancellation};
use pipeline::plan::NeedsMode;
use std::collections::BTreeSet;
use std::io::IsTerminal as _;
use std::sync::Arc;
use workstation::{
    Isolation, LocalError, LocalPipeline, LocalProject, LocalRun, Notices, PipelineOptions, Rounds,
    RunCommand, RunOptions, StateDir, TreeNews, TreeWatch, WatchMeans,
};
use yaml::suggest::first_names;

/// Runs the pipeline, and then the touched jobs whenever files change.
pub(crate) fn watch(args: &WatchArgs) -> Result<Exit, Failure> {
    if args.run.dry_run {
        let error = anyhow!("--dry-run has nothing to watch");
        return Err(
            Failure::usage(error).with_help("`runwright run --dry-run` shows what would run")
        );
    }
    if args.run.shell_on_failure {
        let error = anyhow!("--shell-on-failure cannot be used with watch");
        return Err(Failure::usage(error)
            .with_help("open a shell from another terminal: `runwright shell JOB`"));
    }
    if args.run.artifacts_to_source {
        let error = anyhow!("--artifacts-to-source cannot be used with watch");
        return Err(Failure::usage(error)
            .with_help("the copied files would start the next round; use `runwright artifacts`"));
    }
    if args.run.shown.progress() == ProgressMode::Tui {
        let error = anyhow!("--progress tui cannot be used with watch");
        return Err(Failure::usage(error)
            .with_help("`runwright run --progress tui` has keys to run jobs again"));
    }
    let project = project(&args.run)?;
    // No change of a file would let a round run.
    project.check_repository()?;
    remember_consent(&args.run, &project)?;
    let options = run_options(&args.run, &project)?;
    if args.restart && options.isolation == Isolation::None {
        let error = anyhow!("--restart cannot be used with jobs in the working tree itself");
        return Err(Failure::usage(error).with_help(
            "changes by such jobs cannot be distinguished from yours; leave out one of them",
        ));
    }
    let state = StateDir::of_user().map_err(LocalError::from)?;
    print_leftovers(&state.project(project.root()));
    allow_mounts(options.isolation)?;
    let runtime = runtime::start()?;
    let ended =
        runtime.block_on(async { Box::pin(Watching::begin(args, project).await?.go_on()).await });
    // A thread may still be blocked on a reader that does not read the output.
    runtime.shutdown_background();
    ended
}

/// The number of changed files that a heading names; further files are counted.
const MOST_NAMES: usize = 3;

struct Watching<'a> {
    args: &'a WatchArgs,
    project: LocalProject,
    read: PipelineOptions,
    command: RunCommand,
    tree: TreeWatch,
    signals: Signals,
    rounds: Rounds,
    /// The number of rounds so far.
    number: u32,
    /// Files changed since the last round began; `None` before the first round.
    changed: Option<BTreeSet<String>>,
    /// Files changed in earlier rounds that did not run, since the pipeline could not be read.
    pending: BTreeSet<String>,
    /// Whether any round has started, even one that failed.
    has_begun: bool,
    /// Files that the runs write themselves.
    own: RunOutputs,
}

/// How a round ended.
enum Ended {
    /// Wait for a change: the round succeeded, or its error is shown.
    Waits,
    /// The user stopped the watch.
    Stopped,
}

impl<'a> Watching<'a> {
    async fn begin(args: &'a WatchArgs, project: LocalProject) -> Result<Self, Failure> {
        let signals = Signals::listen()
            .context("listen to signals")
            .map_err(Failure::environment)?;
        let read = pipeline_options(&args.run.project)?;
        let because = args.poll.then(|| "--poll asks for it".to_owned());
        let tree = TreeWatch::start(project.root(), project.own_files(&read), because).await?;
        let directory = std::env::current_dir()
            .context("get the current directory")
            .map_err(Failure::usage)?;
        let own = RunOutputs::of(&args.run, project.root());
        Ok(Self {
            command: RunCommand {
                words: words(&args.run),
                directory,
            },
            args,
            project,
            read,
            tree,
            signals,
            rounds: Rounds::default(),
            number: 0,
            changed: None,
            pending: BTreeSet::new(),
            has_begun: false,
            own,
        })
    }

    async fn go_on(mut self) -> Result<Exit, Failure> {
        if let WatchMeans::Polling { .. } = self.tree.means() {
            print_notes([&self.tree.means().to_string()]);
        }
        if run_options(&self.args.run, &self.project)?.isolation == Isolation::Worktree {
            print_notes(["jobs in worktrees see only committed files"]);
        }
        loop {
            match Box::pin(self.round()).await {
                Ok(Ended::Stopped) => return Ok(Exit::Interrupted),
                Ok(Ended::Waits) => {}
                // An error before the first round ends the watch: there may be nothing to wait for.
                Err(failure) if !self.has_begun || failure.exit() == Exit::Interrupted => {
                    return Err(failure);
                }
                Err(failure) => failure.report(),
            }
            error_line(&format!(
                "waiting for changes of {} (Ctrl-C ends)",
                counted(self.tree.files(), "file")
            ));
            if !self.wait().await? {
                return Ok(Exit::Success);
            }
        }
    }

    /// Waits for changes; returns false if the user stops the watch.
    async fn wait(&mut self) -> Result<bool, Failure> {
        if self.tree.has_news() {
            // Files that changed during a round may have changed again; the next round covers all changes.
            let now = self.tree.compare_now().await;
            self.take(now);
        }
        while self.changed.as_ref().is_none_or(BTreeSet::is_empty) {
            let news = tokio::select! {
                news = self.tree.news() => news,
                () = self.signals.next() => return Ok(false),
            };
            match news {
                Some(TreeNews::Changed(files)) => self.take(files),
                Some(TreeNews::Means(means)) => print_notes([&means.to_string()]),
                None => {
                    let error = anyhow!("the thread that watches the tree has ended");
                    return Err(Failure::environment(error));
                }
            }
        }
        Ok(true)
    }

    fn take(&mut self, files: Vec<String>) {
        let files = files.into_iter().filter(|file| !self.own.is_output(file));
        self.changed.get_or_insert_default().extend(files);
    }

    /// Runs the jobs that the changes require.
    async fn round(&mut self) -> Result<Ended, Failure> {
        if let Some(files) = self.changed.replace(BTreeSet::new()) {
            self.head(&files);
            self.pending.extend(files);
        }
        let checked = self.project.read(&self.read)?;
        let pipeline = match checked.into_result() {
            Ok((pipeline, warnings)) => {
                if self.number == 0 {
                    print_diagnostics(&warnings);
                }
                pipeline
            }
            Err(found) => {
                print_diagnostics(&found);
                self.has_begun = true;
                return Ok(Ended::Waits);
            }
        };
        let own = self.project.own_files(&self.read).into_iter();
        self.tree
            .follow(own.chain(pipeline.files().map(str::to_owned)));
        let mut options = run_options(&self.args.run, &self.project)?;
        if !self.has_begun {
            // A misspelt job would be waited for forever.
            let checked = options.selection.check(pipeline.resolved());
            checked.map_err(LocalError::from)?;
            check_manual(&self.args.run, &pipeline)?;
        }
        options.command.clone_from(&self.command);
        options.done.clone_from(self.rounds.done());
        options.selection.among = if self.rounds == Rounds::default() {
            touched_jobs(&self.args.run, &self.project, &pipeline)?
        } else {
            let creation = pipeline.create()?;
            let files: Vec<String> = self.pending.iter().cloned().collect();
            let jobs = touched(&self.project, &pipeline, &creation, Some(&files))?;
            Some(self.rounds.next(jobs.names()))
        };
        let run = LocalRun::builder(&pipeline).options(options.clone());
        if self.number > 0 && run.preview()?.is_empty() {
            self.pending.clear();
            error_line("no job is affected");
            return Ok(Ended::Waits);
        }
        self.number += 1;
        self.has_begun = true;
        self.pending.clear();
        self.perform(&pipeline, options).await
    }

    /// Prints the heading of a round, with the changed files that started it.
    fn head(&self, files: &BTreeSet<String>) {
        if self.args.clear && std::io::stdout().is_terminal() {
            console::clear_screen();
        }
        let files: Vec<String> = files.iter().map(|it| strip_controls(it)).collect();
        let files = first_names(&files, MOST_NAMES);
        let number = self.number + 1;
        error_line(&format!("\n--- round {number}: {files} changed"));
    }

    async fn perform(
        &mut self,
        pipeline: &LocalPipeline,
        mut options: RunOptions,
    ) -> Result<Ended, Failure> {
        let args = &self.args.run;
        let is_first = self.number == 1;
        let in_place = options.isolation == Isolation::None;
        let among = options.selection.among.clone();
        let terminal = TerminalSignals::listen()
            .context("listen to the terminal")
            .map_err(Failure::environment)?;
        let reports = ReportFiles::check(&args.shown.report)?;
        let view = Arc::new(if is_first {
            RunView::of(&args.shown)?
        } else {
            RunView::once_more(&args.shown)?
        });
        options.notices = Notices::new(|line| error_line(&strip_controls(line)));
        let cancellation = Cancellation::new();
        let mut stops = 0;
        let mut new = BTreeSet::new();
        let done = {
            let no_pipeline = no_pipeline("watch", args, pipeline);
            let running = execute_run(&no_pipeline, args, options, &view, &cancellation);
            let follow = follow_terminal(terminal, &view);
            tokio::pin!(running, follow);
            loop {
                tokio::select! {
                    done = &mut running => break done,
                    () = &mut follow => {}
                    () = self.signals.next() => {
                        stops += 1;
                        if stops == 1 {
                            cancellation.cancel(CancelCause::User);
                        } else {
                            cancellation.abort(CancelCause::User);
                        }
                        view.tell(words_on_signal(stops));
                    }
                    news = self.tree.news(), if self.args.restart => {
                        if let Some(TreeNews::Changed(files)) = news {
                            new.extend(files);
                            let matters = may_touch(&self.project, pipeline, &self.own, &new);
                            if matters && !cancellation.is_canceled() {
                                cancellation.cancel(CancelCause::User);
                                view.tell("files changed: canceling, then starting again");
                            }
                        }
                    }
                }
            }
        };
        self.take(new.into_iter().collect());
        let mut written = Ok(());
        if let Ok(done) = &done {
            written = reports.write(&done.report).map_err(Failure::environment);
            view.show_summary(&done.summary(args, view.style()));
            if stops > 0 {
                view.show_summary(&done.resume_hint(args, view.style()));
            }
        }
        let shown = tokio::task::spawn_blocking(move || view.finish());
        let shown = tokio::select! {
            shown = shown => shown.unwrap_or(Ok(())),
            () = self.signals.next() => { stops += 1; Ok(()) }
            () = tokio::time::sleep(LAST_WORDS), if stops > 0 => Ok(()),
        };
        let done = done?;
        self.rounds.ended(among.as_ref(), &done.report);
        written?;
        if stops > 0 {
            return Ok(Ended::Stopped);
        }
        shown.map_err(Failure::environment)?;
        if in_place {
            self.leave_out_what_jobs_wrote(&done).await;
        }
        Ok(Ended::Waits)
    }

    /// Ignores files written by jobs that ran in the working tree itself.
    async fn leave_out_what_jobs_wrote(&mut self, done: &FinishedRun) {
        let now = self.tree.compare_now().await;
        self.take(now);
        let during = self.changed.take().unwrap_or_default();
        self.changed = Some(self.own.leave_out(during, &done.plan));
    }
}

/// Returns whether a change of these files touches a job, or may touch one: if that is unknown, the next
/// round reports why.
fn may_touch(
    project: &LocalProject,
    pipeline: &LocalPipeline,
    own: &RunOutputs,
    files: &BTreeSet<String>,
) -> bool {
    let files = files.iter().filter(|it| !own.is_output(it));
    let files: Vec<String> = files.cloned().collect();
    if files.is_empty() {
        return false;
    }
    let found = pipeline.create().map_err(Failure::from);
    let found = found.and_then(|creation| touched(project, pipeline, &creation, Some(&files)));
    found.map_or(true, |jobs| !jobs.touched.is_empty())
}

/// Returns the words of the command for a single run.
fn words(args: &RunArgs) -> Vec<String> {
    let mut words = vec!["run".to_owned()];
    words.extend(settings(args));
    let options = [
        ("--stage", args.stage.as_slice()),
        ("--skip", &args.skip),
        ("--manual", &args.manual),
    ];
    for (option, values) in options {
        words.extend(values.iter().map(|value| format!("{option}={value}")));
    }
    match args.needs_mode() {
        NeedsMode::With => {}
        NeedsMode::Without => words.push("--no-needs".to_owned()),
        NeedsMode::Only => words.push("--only-needs".to_owned()),
    }
    words.push("--".to_owned());
    words.extend(args.job_names());
    words
}
