use super::run_handle::RunHandle;
use super::screen_thread;
use super::shared::{Phase, Shared};
use super::terminal;
use crate::streams::ErrorView;
use crate::text::Style;
use parking_lot::Mutex;
use pipeline::Plan;
use pipeline_insight::forecast::Forecast;
use scheduler::event::{EventKind, EventSink, PipelineEvent};
use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};
use std::time::Instant;

/// Shows a run on the full screen, and acts on keys.
///
/// An event changes memory, or writes a block of a log to disk. A thread of its own draws and reads keys, so
/// that no job waits for the terminal.
pub struct FullScreen {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl FullScreen {
    /// Returns a screen that takes the terminal when the pipeline starts.
    ///
    /// # Errors
    ///
    /// When the system refuses a thread.
    pub fn start(style: Style, verbose: bool) -> io::Result<Self> {
        let shared = Arc::new(Shared::new(style, verbose));
        let theirs = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name(terminal::THREAD.to_owned())
            .spawn(move || screen_thread::run(&theirs))?;
        Ok(Self {
            shared,
            thread: Mutex::new(Some(thread)),
        })
    }

    /// Sets the run that keys act on. From now on the pipeline stays open until the user leaves.
    pub fn connect(&self, run: RunHandle) {
        run.hold();
        // It is connected once, before the run begins.
        let _ = self.shared.run.set(run);
    }

    /// Sets the forecast from which the time left is shown.
    pub fn set_forecast(&self, forecast: &Arc<Mutex<Forecast>>) {
        self.shared.state().run.set_forecast(Arc::clone(forecast));
    }

    /// Shows what the run is for.
    pub fn introduce(&self, plan: &Plan) {
        let context = plan.context();
        let mut state = self.shared.state();
        state.head.reference.clone_from(&context.commit.ref_name);
        state.head.source.clone_from(&context.source);
    }

    /// Reports that the program was told to stop: the screen closes when the run has ended.
    pub fn stops(&self) {
        let mut state = self.shared.state();
        state.is_stopping = true;
        state.leaves = true;
        state.is_stale = true;
    }

    /// Reports that the terminal has another size.
    pub fn resized(&self) {
        self.shared.state().is_stale = true;
    }

    /// Reports that another program had the terminal, as after `fg`.
    pub fn resumed(&self) {
        self.shared.is_lost.store(true, Ordering::SeqCst);
    }

    /// Adds text that is printed after the screen closes.
    pub fn show_after(&self, text: &str) {
        self.shared.text_after.lock().push_str(text);
    }

    /// Waits until the user leaves the screen, and prints the text for after it.
    ///
    /// # Errors
    ///
    /// When that cannot be printed.
    pub fn finish(&self) -> io::Result<()> {
        self.shared.advance_to(Phase::Over);
        if let Some(thread) = self.thread.lock().take() {
            // A panic of the thread has printed itself and does not affect the run.
            let _ = thread.join();
        }
        self.leave();
        let messages = std::mem::take(&mut self.shared.state().messages);
        for message in messages {
            crate::streams::error_line(&message);
        }
        let text = std::mem::take(&mut *self.shared.text_after.lock());
        crate::streams::print(text.as_bytes())
    }

    /// Restores the terminal at once.
    pub fn leave(&self) {
        terminal::restore();
        self.shared.is_shown.store(false, Ordering::SeqCst);
    }
}

impl EventSink for FullScreen {
    fn event(&self, event: &PipelineEvent) {
        self.shared.state().event(event, Instant::now());
        if matches!(event.kind, EventKind::PipelineStarted { .. }) {
            self.shared.advance_to(Phase::Runs);
        }
    }
}

impl fmt::Debug for FullScreen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FullScreen")
    }
}

impl ErrorView for FullScreen {
    fn show(&self, text: &str) -> bool {
        let is_shown = self.shared.is_shown.load(Ordering::SeqCst);
        if is_shown {
            self.shared.state().tell(text);
        }
        is_shown
    }
}
