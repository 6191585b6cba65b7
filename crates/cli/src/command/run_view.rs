use crate::args::OutputArgs;
use crate::failure::Failure;
use anyhow::{Context, anyhow};
use console::full_screen::{FullScreen, RunHandle, Shells};
use console::{
    Console, JsonLines, Layout, OutputFeatures, ProgressConflict, ProgressView, SharedWriter,
    Style, Tee, Tone, error_line, show_errors_directly, show_errors_on,
};
use executor_core::Cancellation;
use parking_lot::Mutex;
use pipeline::Plan;
use pipeline_insight::forecast::Forecast;
use scheduler::event::EventSink;
use std::fs::File;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::sync::Arc;
use workstation::RunOptions;

/// Shows the events of a run on standard output, and writes them to the file of `--events`.
#[derive(Debug)]
pub(super) struct RunView {
    sink: Arc<dyn EventSink>,
    reader: Reader,
    style: Style,
    file: Option<SharedWriter>,
}

/// The view on standard output.
#[derive(Debug)]
enum Reader {
    Person(Arc<Console>),
    /// Shows only what the command writes to it: the summary.
    Quiet(Arc<Console>),
    Program(SharedWriter),
    Screen(Arc<FullScreen>),
}

impl RunView {
    pub(super) fn of(args: &OutputArgs) -> Result<Self, Failure> {
        Self::with_file(args, |path| File::create(path))
    }

    /// Returns the view of a further round, which appends to the events of earlier rounds.
    pub(super) fn once_more(args: &OutputArgs) -> Result<Self, Failure> {
        Self::with_file(args, |path| {
            File::options().append(true).create(true).open(path)
        })
    }

    fn with_file(
        args: &OutputArgs,
        open: impl FnOnce(&Path) -> io::Result<File>,
    ) -> Result<Self, Failure> {
        let features = OutputFeatures::of_stdout();
        let shown = ProgressView::choose(args.progress(), args.output, args.verbose, features)
            .and_then(|shown| match shown {
                ProgressView::FullScreen(_) if !io::stdin().is_terminal() => {
                    Err(ProgressConflict::NoScreen)
                }
                shown => Ok(shown),
            })
            .map_err(|conflict| {
                Failure::usage(anyhow!(conflict.message())).with_help(conflict.help())
            })?;
        let mut style = Style::PLAIN;
        let (reader, sink): (Reader, Arc<dyn EventSink>) = match shown {
            ProgressView::Json => {
                let writer = started(SharedWriter::new(io::stdout()))?;
                (
                    Reader::Program(writer.clone()),
                    Arc::new(JsonLines::new(writer)),
                )
            }
            ProgressView::FullScreen(view) => {
                style = view.style;
                let screen = Arc::new(started(FullScreen::start(view.style, view.verbose))?);
                show_errors_on(&screen);
                (Reader::Screen(Arc::clone(&screen)), screen)
            }
            ProgressView::Lines(mut view) if args.quiet => {
                style = view.style;
                view.layout = Layout::Group;
                let console = Arc::new(started(Console::start(view, io::stdout()))?);
                (Reader::Quiet(console), Arc::new(Tee::default()))
            }
            ProgressView::Lines(view) => {
                style = view.style;
                let console = Arc::new(started(Console::start(view, io::stdout()))?);
                (Reader::Person(Arc::clone(&console)), console)
            }
        };
        let mut sinks = vec![sink];
        let mut file = None;
        if let Some(path) = &args.events {
            let created = open(path)
                .with_context(|| format!("create {}", path.display()))
                .map_err(Failure::usage)?;
            let written = started(SharedWriter::new(created))?;
            sinks.push(Arc::new(JsonLines::new(written.clone())));
            file = Some(written);
        }
        Ok(Self {
            sink: Arc::new(Tee(sinks)),
            reader,
            style,
            file,
        })
    }

    pub(super) fn sink(&self) -> Arc<dyn EventSink> {
        Arc::clone(&self.sink)
    }

    pub(super) fn style(&self) -> Style {
        self.style
    }

    /// Shows the summary to people; programs read the last event.
    pub(super) fn show_summary(&self, text: &str) {
        match &self.reader {
            Reader::Person(console) => console.write(text),
            // Nothing precedes it.
            Reader::Quiet(console) => console.write(text.trim_start_matches('\n')),
            Reader::Screen(screen) => screen.show_after(text),
            Reader::Program(_) => {}
        }
    }

    /// Connects the keys of the full-screen view to the run.
    pub(super) fn connect(
        &self,
        options: &RunOptions,
        shells: impl FnOnce() -> Shells,
        cancellation: &Cancellation,
    ) {
        if let Reader::Screen(screen) = &self.reader {
            screen.connect(RunHandle::new(options, shells(), cancellation.clone()));
        }
    }

    /// Takes the terminal for the run: until then, questions and errors are written to it directly.
    pub(super) fn introduce(&self, plan: &Plan) {
        match &self.reader {
            Reader::Person(console) => console.show_errors_above(),
            Reader::Screen(screen) => screen.introduce(plan),
            Reader::Quiet(_) | Reader::Program(_) => {}
        }
    }

    /// Restores the terminal at once, even if not everything was shown.
    pub(super) fn leave(&self) {
        if let Reader::Screen(screen) = &self.reader {
            screen.leave();
        }
    }

    /// Returns whether a person watches the run.
    pub(super) fn is_watched(&self) -> bool {
        match self.reader {
            Reader::Person(_) => io::stdout().is_terminal(),
            Reader::Screen(_) => true,
            Reader::Quiet(_) | Reader::Program(_) => false,
        }
    }

    /// Sets the forecast that the view takes the remaining time from.
    pub(super) fn set_forecast(&self, forecast: &Arc<Mutex<Forecast>>) {
        match &self.reader {
            Reader::Person(console) => console.set_forecast(forecast),
            Reader::Screen(screen) => screen.set_forecast(forecast),
            Reader::Quiet(_) | Reader::Program(_) => {}
        }
    }

    /// Shows a line to people before the run starts.
    pub(super) fn announce(&self, line: &str) {
        if let Reader::Person(console) = &self.reader {
            console.write(&format!("{}\n", self.style.paint(Tone::Quiet, line)));
        }
    }

    /// Shows a message that is not part of the run's output.
    pub(super) fn tell(&self, text: &str) {
        match &self.reader {
            // The terminal has echoed `^C` behind the last line of the view.
            Reader::Person(console) if console.is_live() => error_line(text),
            Reader::Screen(screen) => {
                screen.stops();
                error_line(text);
            }
            _ => error_line(&format!("\n{text}")),
        }
    }

    /// Returns the console that owns the terminal, if the output is for a person.
    pub(super) fn console(&self) -> Option<Arc<Console>> {
        match &self.reader {
            Reader::Person(console) | Reader::Quiet(console) => Some(Arc::clone(console)),
            Reader::Screen(_) | Reader::Program(_) => None,
        }
    }

    /// Redraws the view after the terminal was resized.
    pub(super) fn resized(&self) {
        match &self.reader {
            Reader::Person(console) => console.resized(),
            Reader::Screen(screen) => screen.resized(),
            Reader::Quiet(_) | Reader::Program(_) => {}
        }
    }

    /// Redraws the view after another program used the terminal.
    pub(super) fn resumed(&self) {
        match &self.reader {
            Reader::Person(console) => console.resumed(),
            Reader::Screen(screen) => screen.resumed(),
            Reader::Quiet(_) | Reader::Program(_) => {}
        }
    }

    /// Waits until everything is shown and written.
    pub(super) fn finish(&self) -> anyhow::Result<()> {
        let shown = match &self.reader {
            Reader::Person(console) | Reader::Quiet(console) => console.finish(),
            Reader::Program(writer) => writer.finish(),
            Reader::Screen(screen) => screen.finish(),
        };
        show_errors_directly();
        if let Some(file) = &self.file {
            file.finish().context("write the events")?;
        }
        shown.context("write to standard output")
    }
}

fn started<T>(output: io::Result<T>) -> Result<T, Failure> {
    output
        .context("start to write output")
        .map_err(Failure::environment)
}
