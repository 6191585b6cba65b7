use super::run_handle::RunHandle;
use super::screen_thread;
use super::state::{Head, ScreenState};
use super::terminal;
use crate::streams::ErrorView;
use crate::text::Style;
use parking_lot::{Condvar, Mutex, MutexGuard};
use pipeline::Plan;
use pipeline_insight::forecast::Forecast;
use scheduler::event::{EventKind, EventSink, PipelineEvent};
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::Instant;

/// Shows a run on the full screen, and does what the keys ask for.
///
/// Events are taken at once: what they change is in memory, or a block of a log is brought to disk. A
/// thread of its own draws and reads keys; nobody waits for the terminal.
pub struct FullScreen {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// What the thread that draws has in common with those that run jobs.
pub(super) struct Shared {
    state: Mutex<ScreenState>,
    pub(super) world: OnceLock<RunHandle>,
    life: Mutex<Life>,
    changed: Condvar,
    /// Somebody else had the terminal.
    pub(super) is_lost: AtomicBool,
    /// The screen has the terminal.
    pub(super) is_shown: AtomicBool,
    /// What is to be said once the terminal is as it was.
    last_words: Mutex<String>,
}

/// How far the run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Life {
    NotBegun,
    Runs,
    Over,
}

impl FullScreen {
    /// Returns a screen that takes the terminal when the pipeline begins.
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

    /// Takes what the keys are to act on. From now on the pipeline stays open until somebody leaves.
    pub fn connect(&self, world: RunHandle) {
        world.hold();
        // It is connected once, before the run begins.
        let _ = self.shared.world.set(world);
    }

    /// Sets the forecast from which the time left is shown.
    pub fn set_forecast(&self, forecast: &Arc<Mutex<Forecast>>) {
        self.shared.state().run.set_forecast(Arc::clone(forecast));
    }

    /// Takes what the run is for.
    pub fn introduce(&self, plan: &Plan) {
        let context = plan.context();
        let mut state = self.shared.state();
        state.head.reference.clone_from(&context.commit.ref_name);
        state.head.source.clone_from(&context.source);
    }

    /// Says that somebody told the program to stop: the screen goes when the run has ended.
    pub fn stops(&self) {
        let mut state = self.shared.state();
        state.is_stopping = true;
        state.leaves = true;
        state.is_stale = true;
    }

    /// Says that the terminal has another size.
    pub fn resized(&self) {
        self.shared.state().is_stale = true;
    }

    /// Says that somebody else has had the terminal, as after `fg`.
    pub fn resumed(&self) {
        self.shared.is_lost.store(true, Ordering::SeqCst);
    }

    /// Takes what is shown after the screen.
    pub fn show_after(&self, text: &str) {
        self.shared.last_words.lock().push_str(text);
    }

    /// Waits until somebody leaves the screen, and shows what is to be shown after it.
    ///
    /// # Errors
    ///
    /// When that cannot be printed.
    pub fn finish(&self) -> io::Result<()> {
        self.shared.come_to(Life::Over);
        if let Some(thread) = self.thread.lock().take() {
            // A panic of the thread was printed by itself, and the run is not worse for it.
            let _ = thread.join();
        }
        self.leave();
        let messages = std::mem::take(&mut self.shared.state().messages);
        for message in messages {
            crate::streams::error_line(&message);
        }
        let words = std::mem::take(&mut *self.shared.last_words.lock());
        crate::streams::print(words.as_bytes())
    }

    /// Gives the terminal back at once.
    pub fn leave(&self) {
        terminal::restore();
        self.shared.is_shown.store(false, Ordering::SeqCst);
    }
}

impl EventSink for FullScreen {
    fn event(&self, event: &PipelineEvent) {
        self.shared.state().event(event, Instant::now());
        if matches!(event.kind, EventKind::PipelineStarted { .. }) {
            self.shared.come_to(Life::Runs);
        }
    }
}

impl Shared {
    pub(super) fn new(style: Style, verbose: bool) -> Self {
        Self {
            state: Mutex::new(ScreenState::new(style, verbose, Head::default())),
            world: OnceLock::new(),
            life: Mutex::new(Life::NotBegun),
            changed: Condvar::new(),
            is_lost: AtomicBool::new(false),
            is_shown: AtomicBool::new(false),
            last_words: Mutex::default(),
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, ScreenState> {
        self.state.lock()
    }

    /// Waits until the pipeline begins; returns whether it did.
    pub(super) fn wait_for_beginning(&self) -> bool {
        let mut life = self.life.lock();
        self.changed
            .wait_while(&mut life, |life| *life == Life::NotBegun);
        *life == Life::Runs
    }

    /// Returns whether the run has ended.
    pub(super) fn is_over(&self) -> bool {
        *self.life.lock() == Life::Over
    }

    fn come_to(&self, next: Life) {
        let mut life = self.life.lock();
        *life = (*life).max(next);
        drop(life);
        self.changed.notify_all();
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
