use super::signals::Signals;
use parking_lot::{Mutex, MutexGuard};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use scheduler::RunExit;
use std::io;
use std::sync::{Once, mpsc};
use std::thread;

/// How the terminal was before the question that has it now. There is one terminal, and so is this.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

/// What a question has switched on: pasted text that can be told from keys, colours, no cursor. The next
/// line begins below it.
const LEAVE: &[u8] = b"\x1b[?2004l\x1b[0m\x1b[?25h\r\n";

/// Asks, and gives the terminal back whatever happens.
///
/// A question waits for keys and hears of no signal; one that ends the program gives the terminal back as
/// well.
///
/// # Errors
///
/// When standard input is no terminal, or nothing can listen to signals.
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
        // Whoever asked has put back what he switched on; the modes are put back also when he panicked.
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

/// Gives the terminal back and ends the program.
fn leave() -> ! {
    // Kept until the end: nobody may ask again.
    let mut before = before();
    if let Some(modes) = before.take() {
        // Nothing is left to be done when the terminal is gone.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &modes);
        let _ = rustix::io::write(rustix::stdio::stderr(), LEAVE);
    }
    std::process::exit(RunExit::Interrupted.code().into())
}
