use super::signals::Signals;
use parking_lot::{Mutex, MutexGuard};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use scheduler::RunExit;
use std::io;
use std::sync::{Once, mpsc};
use std::thread;

/// The modes of the terminal before the question that has it now. A process has one terminal.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

/// Undoes what a question switched on: bracketed paste, colours, a hidden cursor. The next line begins
/// below it.
const LEAVE: &[u8] = b"\x1b[?2004l\x1b[0m\x1b[?25h\r\n";

/// Asks, and restores the terminal whatever happens.
///
/// A question waits for keys and handles no signal; a signal that ends the program restores the terminal
/// as well.
///
/// # Errors
///
/// When standard input is not a terminal, or signals cannot be handled.
pub fn while_asking<T>(ask: impl FnOnce() -> T) -> io::Result<T> {
    end_at_signals()?;
    let _guard = Question::begin()?;
    Ok(ask())
}

#[derive(Debug)]
struct Question;

impl Question {
    fn begin() -> io::Result<Self> {
        *before() = Some(tcgetattr(io::stdin())?);
        Ok(Self)
    }
}

impl Drop for Question {
    fn drop(&mut self) {
        // The question has undone what it switched on; the modes are restored even after a panic.
        if let Some(modes) = before().take() {
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, &modes);
        }
    }
}

fn before() -> MutexGuard<'static, Option<Termios>> {
    BEFORE.lock()
}

/// From the first question on, a signal ends the program, until a run listens to signals itself.
fn end_at_signals() -> io::Result<()> {
    static LISTENS: Once = Once::new();
    let mut listens = Ok(());
    LISTENS.call_once(|| {
        let (begun, begins) = mpsc::sync_channel(1);
        let thread = thread::Builder::new().name("signals".to_owned());
        listens = thread
            .spawn(move || listen(&begun))
            .and_then(|_| begins.recv().unwrap_or(Ok(())));
    });
    listens
}

/// Waits for a signal, and ends the program; returns only when it cannot listen.
fn listen(begun: &mpsc::SyncSender<io::Result<()>>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return drop(begun.send(Err(error))),
    };
    runtime.block_on(async {
        let mut signals = match Signals::until_a_run_listens() {
            Ok(signals) => signals,
            Err(error) => return drop(begun.send(Err(error))),
        };
        let _ = begun.send(Ok(()));
        loop {
            signals.next().await;
            if !Signals::are_taken() {
                leave();
            }
        }
    });
}

/// Restores the terminal and ends the program.
fn leave() -> ! {
    // The lock is held until the end, so that no other question starts.
    let mut before = before();
    if let Some(modes) = before.take() {
        // A terminal that is gone needs nothing.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &modes);
        let _ = rustix::io::write(rustix::stdio::stderr(), LEAVE);
    }
    std::process::exit(RunExit::Interrupted.code().into())
}
