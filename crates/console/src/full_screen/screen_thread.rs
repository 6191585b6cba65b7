//! The thread that draws and reads keys.

use super::draw::draw;
use super::shared::Shared;
use super::shells;
use super::state::{Action, JobId};
use super::terminal::{self, Canvas};
use crossterm::event::{self, Event, KeyEventKind};
use jiff::Timestamp;
use rustix::process::{Signal, kill_current_process_group};
use std::io;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

/// The shortest time between two frames without a key.
const FRAME: Duration = Duration::from_millis(100);

/// How often times are updated when nothing else happens.
const TICK: Duration = Duration::from_secs(1);

/// How long to wait for an event that should be there already; with zero, crossterm does not look.
const AT_ONCE: Duration = Duration::from_millis(1);

/// How long a suspended program waits for the signal to continue.
const CONTINUE_TIMEOUT: Duration = Duration::from_secs(1);

/// Shows the run from its start until the user leaves.
pub(super) fn run(shared: &Shared) {
    if !shared.wait_for_start() {
        return;
    }
    let guard = ReleaseGuard(shared);
    let shown = show(shared);
    drop(guard);
    if let Err(error) = shown {
        crate::streams::error_line(&format!("the full screen has ended: {error}"));
    } else if !shared.is_over() && !shared.state().run.is_settled() {
        crate::streams::error_line("the run continues; Ctrl-C cancels it");
    }
}

/// Releases the terminal and the pipeline, also during a panic.
struct ReleaseGuard<'s>(&'s Shared);

impl Drop for ReleaseGuard<'_> {
    fn drop(&mut self) {
        terminal::restore();
        self.0.is_shown.store(false, Ordering::SeqCst);
        if let Some(run) = self.0.run.get() {
            run.release();
        }
    }
}

fn show(shared: &Shared) -> io::Result<()> {
    terminal::enter(false)?;
    shared.is_shown.store(true, Ordering::SeqCst);
    let mut canvas = Canvas::default();
    let mut last: Option<Instant> = None;
    loop {
        let is_due = |than: Duration| last.is_none_or(|last| last.elapsed() >= than);
        // A search continues in small parts, between which events can come in.
        let wait = if shared.state().work() {
            AT_ONCE
        } else {
            FRAME
        };
        let mut was_pressed = last.is_none();
        if event::poll(wait)? {
            was_pressed = true;
            loop {
                if let Some(action) = take(shared, event::read()?)
                    && perform(shared, action, &mut canvas)?
                {
                    return Ok(());
                }
                if !event::poll(AT_ONCE)? {
                    break;
                }
            }
        }
        if shared.is_lost.swap(false, Ordering::SeqCst) {
            retake_terminal(shared, &mut canvas)?;
        }
        let mut state = shared.state();
        if shared.is_over() && state.leaves {
            return Ok(());
        }
        let is_stale = state.is_stale && (was_pressed || is_due(FRAME));
        if !is_stale && !is_due(TICK) {
            continue;
        }
        state.is_stale = false;
        let (columns, rows) = terminal::size();
        let mut picture = Canvas::picture(columns, rows);
        state.run.update_outlook(Timestamp::now());
        draw(&mut state, &mut picture, Instant::now());
        // Events come in while the terminal takes its time.
        drop(state);
        terminal::write(&canvas.frame(picture)?)?;
        last = Some(Instant::now());
    }
}

/// Applies an event of the terminal to the state.
fn take(shared: &Shared, event: Event) -> Option<Action> {
    let mut state = shared.state();
    match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => return state.key(key),
        Event::Paste(text) => state.paste(&text),
        Event::Mouse(mouse) => state.mouse(mouse),
        Event::Resize(..) => state.is_stale = true,
        Event::Key(_) | Event::FocusGained | Event::FocusLost => {}
    }
    None
}

/// Performs the action of a key; returns whether the user leaves.
fn perform(shared: &Shared, action: Action, canvas: &mut Canvas) -> io::Result<bool> {
    match action {
        Action::Leave => return Ok(true),
        Action::Suspend => suspend(shared, canvas)?,
        Action::CaptureMouse(captured) => terminal::capture_mouse(captured)?,
        Action::Redraw => canvas.forget(),
        Action::CancelAll | Action::Abort => {
            shared.state().is_stopping = true;
            act(shared, action);
        }
        Action::Shell(id) => enter(shared, &id, canvas)?,
        Action::Play(..) | Action::Retry(_) | Action::CancelJob(_) => act(shared, action),
    }
    Ok(false)
}

fn act(shared: &Shared, action: Action) {
    // The screen is connected before the run starts.
    let note = shared.run.get().and_then(|run| run.act(action));
    if let Some(note) = note {
        shared.state().say(&note);
    }
}

/// Gives the terminal to a shell in a job until it ends.
fn enter(shared: &Shared, id: &JobId, canvas: &mut Canvas) -> io::Result<()> {
    let Some(run) = shared.run.get() else {
        return Ok(());
    };
    terminal::restore();
    let note = shells::enter(shared, run, id);
    retake_terminal(shared, canvas)?;
    if let Some(note) = note {
        shared.state().say(&note);
    }
    Ok(())
}

/// Stops this program, so that the user's shell has the terminal until `fg`.
fn suspend(shared: &Shared, canvas: &mut Canvas) -> io::Result<()> {
    shared.is_lost.store(false, Ordering::SeqCst);
    terminal::restore();
    // As the terminal does it: to the whole process group.
    kill_current_process_group(Signal::TSTP)?;
    // The signal may come a moment later. An orphaned process group does not stop at all.
    let begun = Instant::now();
    while !shared.is_lost.swap(false, Ordering::SeqCst) && begun.elapsed() < CONTINUE_TIMEOUT {
        thread::sleep(Duration::from_millis(20));
    }
    retake_terminal(shared, canvas)
}

fn retake_terminal(shared: &Shared, canvas: &mut Canvas) -> io::Result<()> {
    // The program is about to end.
    if !shared.is_shown.load(Ordering::SeqCst) {
        return Ok(());
    }
    let mut state = shared.state();
    state.is_stale = true;
    let mouse = state.has_mouse;
    drop(state);
    terminal::enter(mouse)?;
    canvas.forget();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::full_screen::{RunHandle, Shells};
    use crate::text::Style;
    use executor_core::Cancellation;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Arc;
    use workstation::RunOptions;

    #[test]
    fn a_panic_while_drawing_releases_the_terminal_and_the_pipeline() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let options = RunOptions::default();
        let shells = Shells {
            runtime: runtime.handle().clone(),
            profile: false,
            words: Vec::new(),
            is_deaf: Arc::default(),
        };
        let shared = Shared::new(Style::PLAIN, false);
        let run = RunHandle::new(&options, shells, Cancellation::new());
        run.hold();
        shared.run.set(run).unwrap();
        shared.is_shown.store(true, Ordering::SeqCst);
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let _guard = ReleaseGuard(&shared);
            let _model = shared.state();
            panic!("a picture cannot be drawn");
        }));
        assert!(panicked.is_err());
        assert!(!shared.is_shown.load(Ordering::SeqCst));
        let run = shared.run.get().unwrap();
        assert!(!run.is_holding(), "the pipeline can end");
        // Events still come in.
        shared.state().say("more");
    }
}
