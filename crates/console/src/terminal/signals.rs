//! Ctrl-C and other signals that end a run: the first cancels, the second aborts.

use executor_core::{CancelCause, Cancellation};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Whether a run handles signals, which it does until the program ends.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// Listens to signals that ask the process to end.
#[derive(Debug)]
pub struct Signals {
    listeners: [Signal; 4],
    seen: Arc<AtomicBool>,
    deaf: Arc<AtomicBool>,
}

impl Signals {
    /// Starts to listen; from now on none of the signals ends the process by itself.
    ///
    /// # Errors
    ///
    /// When the system refuses a handler.
    pub fn listen() -> io::Result<Self> {
        let signals = Self::until_a_run_listens()?;
        TAKEN.store(true, Ordering::SeqCst);
        Ok(signals)
    }

    /// Returns whether a run handles signals.
    pub(crate) fn are_taken() -> bool {
        TAKEN.load(Ordering::SeqCst)
    }

    /// Starts to listen for a caller that ends the program at the first signal, unless a run has
    /// [taken](Self::are_taken) the signals.
    ///
    /// # Errors
    ///
    /// When the system refuses a handler.
    pub(crate) fn until_a_run_listens() -> io::Result<Self> {
        Ok(Self {
            listeners: [
                signal(SignalKind::interrupt())?,
                signal(SignalKind::terminate())?,
                signal(SignalKind::hangup())?,
                signal(SignalKind::quit())?,
            ],
            seen: Arc::default(),
            deaf: Arc::default(),
        })
    }

    /// Returns a flag that says whether any signal came.
    pub fn seen(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.seen)
    }

    /// Returns a flag to set while another program has the terminal and Ctrl-C is meant for it alone.
    pub fn deafness(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.deaf)
    }

    /// Cancels at the first signal and aborts at the second; `notify` gets the number of each. Never returns.
    pub async fn drive(&mut self, cancellation: &Cancellation, notify: impl Fn(usize)) {
        let mut count = 0;
        loop {
            self.next().await;
            count += 1;
            self.seen.store(true, Ordering::SeqCst);
            if count == 1 {
                cancellation.cancel(CancelCause::User);
            } else {
                cancellation.abort(CancelCause::User);
            }
            // Last, because the reader of the output may block it.
            notify(count);
        }
    }

    /// Waits for the next of them.
    pub async fn next(&mut self) {
        let [interrupt, terminate, hangup, quit] = &mut self.listeners;
        loop {
            let is_key = tokio::select! {
                _ = interrupt.recv() => true,
                _ = terminate.recv() => false,
                _ = hangup.recv() => false,
                _ = quit.recv() => true,
            };
            if !(is_key && self.deaf.load(Ordering::SeqCst)) {
                return;
            }
        }
    }
}

/// A change of the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TerminalChange {
    /// It has another size.
    Size,
    /// The program was stopped and continues: another program had the terminal meanwhile.
    Resumed,
}

/// Listens to changes of the terminal.
#[derive(Debug)]
pub struct TerminalSignals {
    size: Signal,
    resumed: Signal,
}

impl TerminalSignals {
    /// Starts to listen.
    ///
    /// # Errors
    ///
    /// When the system refuses a handler.
    pub fn listen() -> io::Result<Self> {
        Ok(Self {
            size: signal(SignalKind::window_change())?,
            resumed: signal(SignalKind::from_raw(rustix::process::Signal::CONT.as_raw()))?,
        })
    }

    /// Waits for the next change.
    pub async fn next(&mut self) -> TerminalChange {
        tokio::select! {
            _ = self.size.recv() => TerminalChange::Size,
            _ = self.resumed.recv() => TerminalChange::Resumed,
        }
    }
}
