use super::run_handle::RunHandle;
use super::state::{Head, ScreenState};
use crate::text::Style;
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

/// What the screen's thread shares with the threads that run jobs.
pub(super) struct Shared {
    state: Mutex<ScreenState>,
    pub(super) run: OnceLock<RunHandle>,
    phase: Mutex<Phase>,
    changed: Condvar,
    /// Another program had the terminal.
    pub(super) is_lost: AtomicBool,
    /// The screen has the terminal.
    pub(super) is_shown: AtomicBool,
    /// What is printed after the terminal is restored.
    pub(super) text_after: Mutex<String>,
}

/// The phase of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    NotStarted,
    Runs,
    Over,
}

impl Shared {
    pub(super) fn new(style: Style, verbose: bool) -> Self {
        Self {
            state: Mutex::new(ScreenState::new(style, verbose, Head::default())),
            run: OnceLock::new(),
            phase: Mutex::new(Phase::NotStarted),
            changed: Condvar::new(),
            is_lost: AtomicBool::new(false),
            is_shown: AtomicBool::new(false),
            text_after: Mutex::default(),
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, ScreenState> {
        self.state.lock()
    }

    /// Waits until the pipeline starts; returns whether it did.
    pub(super) fn wait_for_start(&self) -> bool {
        let mut phase = self.phase.lock();
        self.changed
            .wait_while(&mut phase, |phase| *phase == Phase::NotStarted);
        *phase == Phase::Runs
    }

    /// Returns whether the run has ended.
    pub(super) fn is_over(&self) -> bool {
        *self.phase.lock() == Phase::Over
    }

    pub(super) fn advance_to(&self, next: Phase) {
        let mut phase = self.phase.lock();
        *phase = (*phase).max(next);
        drop(phase);
        self.changed.notify_all();
    }
}
