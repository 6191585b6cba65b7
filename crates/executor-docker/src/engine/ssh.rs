use crate::engine::address::Address;
use executor_core::{CancelCause, Cancellation};
use process::{Command, ProcessTree, Stdin, Stream, Timing};
use std::io::{self, Write};
use std::os::unix::net::UnixStream as Blocking;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::UnixStream;
use tokio::net::unix::pipe::Sender;

/// How much of what ssh complains of is kept.
const MAX_COMPLAINT: usize = 2000;

/// Logs in to another host and speaks with the engine there.
#[derive(Debug, Clone)]
pub(crate) struct Ssh {
    tree: ProcessTree,
    program: String,
    args: Vec<String>,
    complaint: Arc<Mutex<String>>,
}

impl Ssh {
    /// Makes the command; `None` if the address is not one of ssh.
    pub(crate) fn new(tree: ProcessTree, command: &[String], address: &Address) -> Option<Self> {
        let Address::Ssh {
            user,
            host,
            port,
            socket,
        } = address
        else {
            return None;
        };
        let (program, options) = command.split_first()?;
        let mut args = options.to_vec();
        args.extend(["-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10"].map(str::to_owned));
        if let Some(user) = user {
            args.extend(["-l".to_owned(), user.clone()]);
        }
        if let Some(port) = port {
            args.extend(["-p".to_owned(), port.to_string()]);
        }
        // What follows is never an option, whatever it looks like.
        args.extend(["--".to_owned(), host.clone(), "docker".to_owned()]);
        if let Some(socket) = socket {
            args.extend(["--host".to_owned(), format!("unix://{socket}")]);
        }
        args.extend(["system".to_owned(), "dial-stdio".to_owned()]);
        Some(Self {
            tree,
            program: program.clone(),
            args,
            complaint: Arc::default(),
        })
    }

    /// Returns what ssh said last on its standard error.
    pub(crate) fn complaint(&self) -> Option<String> {
        let complaint = self
            .complaint
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let text = complaint.trim();
        (!text.is_empty()).then(|| text.replace(['\r', '\n'], " "))
    }

    /// Starts an ssh of its own for one connection.
    pub(crate) fn connect(&self) -> io::Result<SshStream> {
        let command = Command::new(&self.program)
            .args(&self.args)
            // It is the runner's own tool: it needs the home directory, the agent, the search path.
            .envs(self.tree.environment().iter())
            .stdin(Stdin::Piped);
        let mut process = self.tree.spawn(&command).map_err(io::Error::other)?;
        let input = process.take_stdin();
        let (ours, theirs) = Blocking::pair()?;
        ours.set_nonblocking(true)?;
        let output = UnixStream::from_std(ours)?;
        let stop = Cancellation::new();
        let (stopped, complaint) = (stop.clone(), Arc::clone(&self.complaint));
        let pump = move || {
            let Ok(runtime) = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
            else {
                return;
            };
            let mut sink = |stream: Stream, bytes: &[u8]| match stream {
                // Nobody may be there to read, and then ssh is about to be stopped.
                Stream::Stdout => drop((&theirs).write_all(bytes)),
                Stream::Stderr => keep(&complaint, bytes),
            };
            // How it ended shows as the end of the stream.
            let _ = runtime.block_on(process.run(&mut sink, &stopped, &Timing::default()));
        };
        // A thread: the pump waits for a slow reader, and must not stop other tasks meanwhile. It ends
        // with ssh, which ends when the stream is dropped.
        std::thread::Builder::new()
            .name("docker-ssh".to_owned())
            .spawn(pump)?;
        Ok(SshStream {
            output,
            input,
            stop,
        })
    }
}

/// Keeps the end of what ssh complains of.
fn keep(complaint: &Mutex<String>, bytes: &[u8]) {
    let mut kept = complaint.lock().unwrap_or_else(PoisonError::into_inner);
    kept.push_str(&String::from_utf8_lossy(bytes));
    if let Some(over) = kept.len().checked_sub(MAX_COMPLAINT) {
        let cut = kept.ceil_char_boundary(over);
        kept.drain(..cut);
    }
}

/// Both ends of an ssh; it is killed when this is dropped.
#[derive(Debug)]
pub(crate) struct SshStream {
    output: UnixStream,
    /// None once we have no more to say.
    input: Option<Sender>,
    stop: Cancellation,
}

impl AsyncRead for SshStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.output).poll_read(context, buffer)
    }
}

impl AsyncWrite for SshStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match &mut self.input {
            Some(input) => Pin::new(input).poll_write(context, bytes),
            None => Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.input {
            Some(input) => Pin::new(input).poll_flush(context),
            None => Poll::Ready(Ok(())),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // The other side sees the end of its input and goes on to answer.
        self.input = None;
        Poll::Ready(Ok(()))
    }
}

impl Drop for SshStream {
    fn drop(&mut self) {
        self.stop.abort(CancelCause::Source);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use process::{Containment, Settings, Supervisor};

    #[tokio::test]
    async fn user_and_host_are_never_options() {
        let settings = Settings {
            containment: Containment::ProcessGroup,
            ..Settings::default()
        };
        let tree = Supervisor::start(settings).unwrap().tree();
        let address = Address::parse("ssh://ci@host:2222/run/d.sock").unwrap();
        let ssh = Ssh::new(tree, &["ssh".to_owned()], &address).unwrap();
        assert_eq!(
            ssh.args.join(" "),
            "-T -o BatchMode=yes -o ConnectTimeout=10 -l ci -p 2222 -- host \
             docker --host unix:///run/d.sock system dial-stdio"
        );
    }

    #[test]
    fn a_long_complaint_keeps_its_end() {
        let complaint = Mutex::default();
        for _ in 0..1000 {
            keep(&complaint, "é".as_bytes());
        }
        keep(&complaint, b"the end");
        let kept = complaint.into_inner().unwrap();
        assert!(
            kept.ends_with("the end") && kept.len() <= MAX_COMPLAINT,
            "{kept}"
        );
    }
}
