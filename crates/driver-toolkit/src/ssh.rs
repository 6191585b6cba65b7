//! Scripts on a machine that is reached with OpenSSH.

use crate::failure::Failure;
use crate::remote::{Ended, Output, Stream, Target, program_of_group, quote};
use crate::shared_ssh::SharedSsh;
use crate::stop::{Stage, StopLevel};
use crate::wait::NotReady;
use memchr::memmem::Finder;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How often a connection is tried that fails before the command has started.
const ATTEMPTS: u32 = 3;
const PAUSE: Duration = Duration::from_secs(2);

/// How long output may follow the end of a command, from processes that it has left.
const OUTPUT_GRACE: Duration = Duration::from_secs(1);

/// How long a signal may take to reach the machine.
const SIGNAL_LIMIT: Duration = Duration::from_secs(15);

/// The exit code of `ssh` when the connection failed.
const SSH_FAILED: i32 = 255;

/// The pause between two looks at the request to stop.
const POLL: Duration = Duration::from_millis(50);

/// The most bytes of messages of `ssh` that an error quotes.
const LONGEST_MESSAGE: usize = 2 << 10;

/// A machine that is reached with the program `ssh`.
///
/// Nothing is read from the user's configuration and no host key is stored: a machine of a pool has a new key each time.
/// Set `known_hosts` where the key is known.
#[derive(Debug, Clone)]
pub struct SshHost {
    /// Its name or address.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// The user there.
    pub user: String,
    /// The file with the private key; the keys of the SSH agent without one.
    pub identity: Option<PathBuf>,
    /// The file with the public keys of the machine, in the form of `known_hosts`. Without it any key is accepted.
    pub known_hosts: Option<PathBuf>,
    /// More options for `ssh`, as `-o Name=value`.
    pub options: Vec<OsString>,
    /// A connection that is there already. A script that cannot start over it gets one of its own.
    pub shared: Option<Arc<SharedSsh>>,
}

impl SshHost {
    /// Returns a machine on port 22 with the keys of the SSH agent.
    pub fn new(host: impl Into<String>, user: impl Into<String>) -> Self {
        Self {
            host: host.into(),
            port: 22,
            user: user.into(),
            identity: None,
            known_hosts: None,
            options: Vec::new(),
            shared: None,
        }
    }

    /// Checks that scripts can run: a connection, and the tools they need.
    ///
    /// # Errors
    ///
    /// [`NotReady::NotYet`] when the connection fails, as while the machine boots; [`NotReady::Never`] when a tool is missing.
    pub fn check(&self, tools: &[&str], stage: &Stage<'_>) -> Result<(), NotReady> {
        let mut probe = String::from("for tool in");
        for tool in tools {
            probe.extend([" ", &quote(tool)]);
        }
        probe.push_str("; do command -v \"$tool\" >/dev/null || echo \"$tool\"; done");
        let missing = Captured::default();
        match self.exec_once(&probe, &mut io::empty(), &missing, stage, None)? {
            Outcome::Ended(_) => {}
            // Its SSH server may start anew while it boots.
            Outcome::NotStarted(reason) | Outcome::Lost(reason) => {
                return Err(NotReady::not_yet(reason));
            }
        }
        let missing = missing.text();
        let missing: Vec<_> = missing.split_whitespace().collect();
        if missing.is_empty() {
            return Ok(());
        }
        let tools = missing.join(", ");
        Err(NotReady::never(format!(
            "the machine {} lacks {tools}: install it in the image",
            self.host
        )))
    }

    /// Runs a command once; a connection that fails before it has started is an outcome.
    fn exec_once(
        &self,
        command: &str,
        input: &mut (dyn Read + Send),
        output: &dyn Output,
        stage: &Stage<'_>,
        shared: Option<&SharedSsh>,
    ) -> Result<Outcome, Failure> {
        let mark = format!("{:016x}{:016x}", fastrand::u64(..), fastrand::u64(..));
        // `sh` outlives a signal to its process group, so that it reports how the command ended.
        let wrapped =
            format!("trap : TERM INT\necho '{mark} begin '$$\n{command}\necho '{mark} end '$?");
        let mut child = self.start(&format!("exec sh -c {}", quote(&wrapped)), shared)?;
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = (stdin, stdout, stderr) else {
            return Err(Failure::system("ssh has no pipes"));
        };
        let (sender, events) = channel();
        let (begin, input_may_flow) = channel();
        thread::scope(|scope| {
            let errors = sender.clone();
            scope.spawn(move || read_stdout(stdout, &mark, output, &sender));
            scope.spawn(move || read_stderr(stderr, output, &errors));
            // Before the begin, nothing of the input is consumed.
            scope.spawn(move || {
                if input_may_flow.recv().is_ok() {
                    feed(stdin, input);
                }
            });
            let mut following = Following {
                host: self,
                stage,
                begin: Some(begin),
                group: None,
                code: None,
                messages: Vec::new(),
                stopping: None,
            };
            let ended = following.follow(&events);
            // It has ended, or is not needed any more. The threads end with its pipes.
            let _ = child.kill();
            let _ = child.wait();
            following.begin = None;
            for event in &events {
                following.take(event);
            }
            ended.map(|()| following.outcome())
        })
    }

    fn start(&self, remote: &str, shared: Option<&SharedSsh>) -> Result<Child, Failure> {
        let mut command = self.ssh();
        // Where nothing listens, `ssh` opens a connection of its own.
        if let Some(shared) = shared {
            command.arg("-S").arg(shared.socket());
        }
        command.args(["--", &self.host, remote]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        spawn(&mut command)
    }

    /// Returns `ssh` with all its options.
    pub(crate) fn ssh(&self) -> Command {
        let mut command = program_of_group("sh");
        // `ssh` stays in this process group, so that it dies with it, but a polite signal is for the script only.
        command.args([
            "-c",
            "trap '' TERM INT; exec ssh \"$@\"",
            "ssh",
            "-T",
            "-F",
            "none",
        ]);
        for option in [
            "BatchMode=yes",
            "ConnectTimeout=10",
            "ServerAliveInterval=15",
            "ServerAliveCountMax=4",
            "LogLevel=ERROR",
        ] {
            command.args(["-o", option]);
        }
        match &self.known_hosts {
            Some(file) => {
                let mut option = OsString::from("UserKnownHostsFile=");
                option.push(file);
                command
                    .args(["-o", "StrictHostKeyChecking=yes", "-o"])
                    .arg(option);
            }
            None => {
                command.args([
                    "-o",
                    "StrictHostKeyChecking=no",
                    "-o",
                    "UserKnownHostsFile=/dev/null",
                ]);
            }
        }
        if let Some(identity) = &self.identity {
            command
                .args(["-o", "IdentitiesOnly=yes", "-i"])
                .arg(identity);
        }
        command.args(&self.options);
        command.args(["-p", &self.port.to_string(), "-l", &self.user]);
        command.stdin(Stdio::piped());
        command
    }

    /// Sends a signal to a process group of the machine. A connection that fails is tried again.
    fn signal(&self, name: &str, group: u32, stage: &Stage<'_>) {
        // The first form is for a group, the other where the login shell is another process.
        let kill = format!("kill -{name} -{group} || kill -{name} {group}");
        let remote = format!("exec sh -c {}", quote(&kill));
        let deadline = Instant::now() + SIGNAL_LIMIT;
        let mut shared = self.shared.as_deref();
        while Instant::now() < deadline {
            let Ok(mut child) = self.start(&remote, shared.take()) else {
                break;
            };
            drop(child.stdin.take());
            let mut status = child.try_wait();
            while matches!(status, Ok(None)) && Instant::now() < deadline {
                thread::sleep(POLL);
                status = child.try_wait();
            }
            let _ = child.kill();
            let _ = child.wait();
            // Another code is that of `kill`: there is no such process any more.
            if matches!(status, Ok(Some(status)) if status.code() != Some(SSH_FAILED)) {
                return;
            }
        }
        stage.log(format!("SIG{name} did not reach {} in time", self.host));
    }
}

impl Target for SshHost {
    fn exec(
        &self,
        command: &str,
        input: &mut (dyn Read + Send),
        output: &dyn Output,
        stage: &Stage<'_>,
    ) -> Result<Ended, Failure> {
        let mut attempt = 1;
        let mut shared = self.shared.as_deref();
        loop {
            match self.exec_once(command, input, output, stage, shared.take())? {
                Outcome::Ended(ended) => return Ok(ended),
                Outcome::Lost(reason) => {
                    return Err(Failure::system(format!(
                        "the connection to {} was lost while a script ran, which is not started again: {reason}",
                        self.host
                    )));
                }
                Outcome::NotStarted(reason) if attempt == ATTEMPTS => {
                    return Err(Failure::system(format!(
                        "connect to {}: {reason}",
                        self.host
                    )));
                }
                Outcome::NotStarted(reason) => {
                    stage.log(format!("connect to {}: {reason}", self.host));
                }
            }
            stage.stop.sleep(PAUSE)?;
            attempt += 1;
        }
    }
}

pub(crate) fn spawn(command: &mut Command) -> Result<Child, Failure> {
    command
        .spawn()
        .map_err(|error| Failure::system(format!("start ssh: {error}")))
}

/// How an attempt to run a command ended.
enum Outcome {
    Ended(Ended),
    /// `ssh` failed, with this message, before the command started.
    NotStarted(String),
    /// The connection was lost, with this message, while the command ran.
    Lost(String),
}

/// What the reading threads report.
enum Event {
    /// The command starts, in this process group.
    Begin(u32),
    /// The command ended with this code.
    End(i32),
    /// A message of `ssh`, or output of the command.
    Message(Vec<u8>),
    /// No more output follows.
    Closed,
}

struct Following<'a> {
    host: &'a SshHost,
    stage: &'a Stage<'a>,
    /// Lets the input flow.
    begin: Option<Sender<()>>,
    group: Option<u32>,
    code: Option<i32>,
    /// The end of what `ssh` and the command have printed on standard error.
    messages: Vec<u8>,
    stopping: Option<StopLevel>,
}

impl Following<'_> {
    /// Follows the command until its end, the end of the connection, or a request to stop that cannot wait.
    fn follow(&mut self, events: &Receiver<Event>) -> Result<(), Failure> {
        let mut until = None;
        loop {
            match events.recv_timeout(POLL) {
                Ok(Event::Closed) | Err(RecvTimeoutError::Disconnected) => return Ok(()),
                Ok(event) => self.take(event),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if self.code.is_some() {
                let until = *until.get_or_insert_with(|| Instant::now() + OUTPUT_GRACE);
                if Instant::now() >= until {
                    return Ok(());
                }
            }
            let late = Instant::now() >= self.stage.deadline;
            let level = if late {
                Some(StopLevel::Kill)
            } else {
                self.stage.stop.level()
            };
            if level > self.stopping {
                self.stopping = level;
                match self.group {
                    None => return Err(Failure::Stopped),
                    Some(group) if level == Some(StopLevel::Kill) => {
                        self.host.signal("KILL", group, self.stage);
                        return Err(Failure::Stopped);
                    }
                    Some(group) => self.host.signal("TERM", group, self.stage),
                }
            }
        }
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Begin(group) => {
                self.group = Some(group);
                self.begin.take().map(|begin| begin.send(()));
            }
            Event::End(code) => self.code = Some(code),
            Event::Message(text) => {
                self.messages.extend(text);
                let surplus = self.messages.len().saturating_sub(LONGEST_MESSAGE);
                self.messages.drain(..surplus);
            }
            Event::Closed => {}
        }
    }

    fn outcome(&self) -> Outcome {
        if let Some(code) = self.code {
            return Outcome::Ended(Ended::Exited(code));
        }
        let messages = String::from_utf8_lossy(&self.messages);
        let message = messages
            .trim()
            .lines()
            .last()
            .unwrap_or("ssh ended without a message");
        if self.group.is_none() {
            return Outcome::NotStarted(message.to_owned());
        }
        Outcome::Lost(message.to_owned())
    }
}

/// Copies the input; the command may end before it has read all of it.
fn feed(mut stdin: impl Write, input: &mut (dyn Read + Send)) {
    let _ = io::copy(input, &mut stdin);
}

/// Passes on standard output without the lines of the wrapper. What comes before these is from the start files of the user's shell.
fn read_stdout(mut stdout: impl Read, mark: &str, output: &dyn Output, events: &Sender<Event>) {
    let mut buffer = vec![0; 64 << 10];
    let mut marks = Marks::new(mark);
    let (mut begun, mut closed) = (false, false);
    while let Ok(count @ 1..) = stdout.read(&mut buffer) {
        marks.feed(&buffer[..count], |part| match part {
            Part::Output(bytes) if !begun => drop(events.send(Event::Message(bytes.to_vec()))),
            // A reader that has gone ends the output, not the script.
            Part::Output(bytes) => closed = closed || output.write(Stream::Stdout, bytes).is_err(),
            Part::Begin(group) => {
                begun = true;
                drop(events.send(Event::Begin(group)));
            }
            Part::End(code) => drop(events.send(Event::End(code))),
        });
    }
    marks.finish(|bytes| {
        if begun {
            drop(output.write(Stream::Stdout, bytes));
        }
    });
    let _ = events.send(Event::Closed);
}

fn read_stderr(mut stderr: impl Read, output: &dyn Output, events: &Sender<Event>) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(count @ 1..) = stderr.read(&mut buffer) {
        let _ = output.write(Stream::Stderr, &buffer[..count]);
        let _ = events.send(Event::Message(buffer[..count].to_vec()));
    }
}

/// A part of the output of the wrapper.
#[derive(Debug, PartialEq, Eq)]
enum Part<'a> {
    Output(&'a [u8]),
    Begin(u32),
    End(i32),
}

/// Finds the lines of the wrapper in a stream. The mark of the end may follow output without a line end.
struct Marks {
    finder: Finder<'static>,
    held: Vec<u8>,
}

impl Marks {
    fn new(mark: &str) -> Self {
        Self {
            finder: Finder::new(mark.as_bytes()).into_owned(),
            held: Vec::new(),
        }
    }

    fn feed(&mut self, bytes: &[u8], mut emit: impl FnMut(Part<'_>)) {
        self.held.extend_from_slice(bytes);
        let mark = self.finder.needle();
        let mut rest = self.held.as_slice();
        while let Some(at) = self.finder.find(rest) {
            let Some(length) = rest[at..].iter().position(|byte| *byte == b'\n') else {
                break;
            };
            if at > 0 {
                emit(Part::Output(&rest[..at]));
            }
            let line = String::from_utf8_lossy(&rest[at + mark.len()..at + length]);
            match line.trim().split_once(' ') {
                Some(("begin", group)) => emit(Part::Begin(group.parse().unwrap_or_default())),
                Some(("end", code)) => emit(Part::End(code.parse().unwrap_or(255))),
                _ => {}
            }
            rest = &rest[at + length + 1..];
        }
        let kept = self
            .finder
            .find(rest)
            .map_or_else(|| partial(rest, mark), |at| rest.len() - at);
        let passed = rest.len() - kept;
        if passed > 0 {
            emit(Part::Output(&rest[..passed]));
        }
        let done = self.held.len() - kept;
        self.held.drain(..done);
    }

    fn finish(self, emit: impl FnOnce(&[u8])) {
        if !self.held.is_empty() {
            emit(&self.held);
        }
    }
}

/// Returns the length of the longest end of `bytes` with which `mark` begins.
fn partial(bytes: &[u8], mark: &[u8]) -> usize {
    let longest = bytes.len().min(mark.len() - 1);
    (1..=longest)
        .rev()
        .find(|length| bytes.ends_with(&mark[..*length]))
        .unwrap_or(0)
}

/// Keeps standard output.
#[derive(Default)]
struct Captured(Mutex<Vec<u8>>);

impl Captured {
    fn text(&self) -> String {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl Output for Captured {
    fn write(&self, stream: Stream, bytes: &[u8]) -> io::Result<()> {
        if stream == Stream::Stdout {
            let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            all.extend_from_slice(bytes);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_found_at_every_split() {
        let text = b"hello\nMARK begin 42\none\nMAR two MARK end 7\nlate";
        for first in 0..text.len() {
            for second in first..text.len() {
                let mut marks = Marks::new("MARK");
                let (mut output, mut events) = (Vec::new(), Vec::new());
                for piece in [&text[..first], &text[first..second], &text[second..]] {
                    marks.feed(piece, |part| match part {
                        Part::Output(bytes) => output.extend_from_slice(bytes),
                        Part::Begin(group) => events.push(("begin", i64::from(group))),
                        Part::End(code) => events.push(("end", i64::from(code))),
                    });
                }
                marks.finish(|bytes| output.extend_from_slice(bytes));
                assert_eq!(events, [("begin", 42), ("end", 7)], "{first} {second}");
                assert_eq!(output, b"hello\none\nMAR two late", "{first} {second}");
            }
        }
    }
}
