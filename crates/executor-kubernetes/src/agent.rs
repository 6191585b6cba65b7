//! The agent in a pod: its upload, and the connections to it.

use crate::bare::alive_file;
use crate::cluster::{Cluster, PERSISTENCE};
use crate::error::KubernetesError;
use crate::exec::{Exec, PodExec, Streams};
use crate::pod::AGENT;
use crate::state::PodState;
use crate::watch::Seen;
use executor_core::ability::{Connection, StepsConnector};
use executor_core::{BuildError, Cancellation, JobTrace, JobTraceExt, Retryability};
use parking_lot::Mutex;
use shells::quote_sh;
use std::borrow::Cow;
use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use steps::agent::Agent;
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader, ReadHalf};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

/// How long a connection may take to begin, and the agent to arrive.
const UPLOAD: Duration = Duration::from_mins(5);

/// The pauses before another attempt. In the first moment of a container, its node may end a command at once and without a reason.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// The pauses before attempts to reach a container that should run, and is not reported yet.
const EARLY: [Duration; 3] = [
    Duration::from_millis(400),
    Duration::from_millis(300),
    Duration::from_millis(300),
];

/// Begins the line after which a connection leads to the agent.
const STARTED: &str = "= start ";

/// Begins the line that says why the agent cannot be written. The end of the command would not come, as its input waits.
const FAILED: &str = "= failed ";

/// The line of a connection that broke before the agent was complete.
const INCOMPLETE: &str = "= incomplete";

/// Begins the line that says why the agent cannot run.
const UNFIT: &str = "= unfit ";

/// The names of processors, in images and in the answer of `uname -m`.
const MACHINES: [(&str, &str); 3] = [
    ("amd64", "x86_64"),
    ("arm64", "aarch64"),
    ("riscv64", "riscv64"),
];

/// The proxy to the agent.
type Stream = BufReader<Exec>;

/// Returns the script of the container: it waits for the agent and becomes it. A job without the agent has a file instead, whose removal
/// ends the container.
pub(crate) fn start_script(orphan_grace: Duration) -> String {
    let serve = steps::agent::serve_command(
        &format!("{AGENT}/agent"),
        &format!("{AGENT}/run"),
        Some(orphan_grace),
    );
    // A runner that was killed before it had sent the agent leaves a pod that ends by itself.
    let most = orphan_grace.max(UPLOAD).as_secs() * 100;
    format!(
        "trap 'exit 143' TERM\nleft={most} alone=\n\
         until [ -x {AGENT}/agent ]; do\n\
         left=$((left - 1))\n[ $left -gt 0 ] || exit 1\n\
         if ! sleep 0.01 2>/dev/null; then sleep 1; left=$((left - 99)); fi\n\
         while [ -e {alive} ]; do alone=1; sleep 1 & wait $!; done\n\
         if [ \"$alone\" ]; then echo 'the connection to a script broke' >/dev/termination-log; exit 1; fi\n\
         done\nexec {}",
        serve.join(" "),
        alive = alive_file()
    )
}

/// Leads to the agent of a pod.
#[derive(Debug)]
pub(crate) struct PodAgent {
    pub(crate) exec: PodExec,
    seen: watch::Receiver<Seen>,
    /// The script of a connection.
    script: String,
    /// The log of the job; a warm pod has none yet.
    trace: Mutex<Option<Arc<dyn JobTrace>>>,
    /// The first connection, until it is used.
    first: Mutex<Option<Stream>>,
    /// Whether the log says that the pod cannot be reached now.
    said: AtomicBool,
}

/// What the first connection learns of the container.
#[derive(Debug)]
pub(crate) struct Found {
    /// The path of bash; empty without it.
    pub(crate) bash: String,
}

impl PodAgent {
    /// Returns the way to the agent of a pod. Each connection creates `directories`.
    ///
    /// # Errors
    ///
    /// When the path of a directory has a byte that no path has.
    pub(crate) fn new(
        cluster: Arc<Cluster>,
        pod: &str,
        seen: watch::Receiver<Seen>,
        directories: &[impl AsRef<str>],
        trace: Option<Arc<dyn JobTrace>>,
    ) -> Result<Self, KubernetesError> {
        let mut words = String::new();
        for directory in directories {
            let word = quote_sh(directory.as_ref());
            let word = word.map_err(|error| KubernetesError::Config(error.to_string()))?;
            words.extend([" ", &word]);
        }
        let proxy = steps::agent::proxy_command("./agent", "run").join(" ");
        let script = format!(
            "cd {AGENT} && mkdir -p -- .{words} || exit 1\n\
             left=3000\n\
             until [ -S run/agent.sock ]; do\n\
             left=$((left - 1))\n[ $left -gt 0 ] || {{ echo 'the agent does not listen' >&2; exit 1; }}\n\
             if ! sleep 0.01 2>/dev/null; then sleep 1; left=$((left - 99)); fi\n\
             done\n\
             echo \"{STARTED}$(command -v bash)\"\nexec {proxy}"
        );
        Ok(Self {
            exec: PodExec {
                cluster,
                pod: pod.to_owned(),
            },
            seen,
            script,
            trace: Mutex::new(trace),
            first: Mutex::default(),
            said: AtomicBool::new(false),
        })
    }

    /// Waits until the agent listens, after sending it unless it is there.
    pub(crate) async fn start(
        &self,
        agent: Option<Agent>,
        cancellation: &Cancellation,
    ) -> Result<Found, KubernetesError> {
        let program = agent.as_ref().map(Program::of).transpose();
        let program = program.map_err(|error| unreadable(&error))?;
        let opening = self.again(|| self.open(program.as_ref(), cancellation));
        let (stream, found) = opening.await?;
        *self.first.lock() = Some(stream);
        Ok(found)
    }

    /// Connects as soon as the container of a pod runs, without waiting for the report of its node; `None` if that has come, or
    /// all attempts failed.
    pub(crate) async fn start_early(
        &self,
        agent: &Agent,
        cancellation: &Cancellation,
    ) -> Option<Found> {
        let program = Program::of(agent).ok()?;
        let mut seen = self.seen.clone();
        let is_waiting = |it: &Seen| {
            let is_pending =
                |it: &PodState| matches!(it, PodState::Pending(_) | PodState::Restarting { .. });
            matches!(it, Seen::Nothing) || matches!(it, Seen::Pod(it) if is_pending(it))
        };
        seen.wait_for(|it| !is_waiting(it)).await.ok()?;
        for pause in EARLY {
            tokio::select! {
                () = sleep(pause) => {}
                _ = seen.wait_for(|it| *it != Seen::Pod(PodState::Starting)) => return None,
            }
            match self.open(Some(&program), cancellation).await {
                Ok((stream, found)) => {
                    *self.first.lock() = Some(stream);
                    return Some(found);
                }
                // There may be no container yet.
                Err(error) if error.is_temporary() => {}
                Err(_) => return None,
            }
        }
        None
    }

    /// Does something again while the connection breaks and the pod runs, for as long as the API server may be away.
    pub(crate) async fn again<T, F>(
        &self,
        mut attempt: impl FnMut() -> F,
    ) -> Result<T, KubernetesError>
    where
        F: Future<Output = Result<T, KubernetesError>>,
    {
        let deadline = Instant::now() + PERSISTENCE;
        let mut pause = FIRST_PAUSE;
        loop {
            match attempt().await {
                Err(error)
                    if error.is_temporary()
                        && Instant::now() < deadline
                        && ended(&self.exec.pod, &self.seen.borrow()).is_none() =>
                {
                    if pause == LONGEST_PAUSE {
                        let error = executor_core::chain(&error);
                        tracing::warn!(pod = self.exec.pod, error, "The pod is reached again.");
                    }
                    sleep(pause).await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
                done => return done,
            }
        }
    }

    /// Sets the log of the job.
    pub(crate) fn set_trace(&self, trace: Arc<dyn JobTrace>) {
        *self.trace.lock() = Some(trace);
    }

    async fn open(
        &self,
        program: Option<&Program<'_>>,
        cancellation: &Cancellation,
    ) -> Result<(Stream, Found), KubernetesError> {
        if let Some(error) = ended(&self.exec.pod, &self.seen.borrow()) {
            return Err(error);
        }
        tokio::select! {
            opened = timeout(UPLOAD, self.connection(program)) => {
                opened.unwrap_or_else(|_| Err(self.exec.broken("it does not answer")))
            }
            cause = cancellation.canceled() => Err(KubernetesError::Canceled(cause)),
        }
    }

    /// Connects with the agent, once it listens, after sending its program if there is one.
    ///
    /// Each command that the node starts in the container takes it a tenth of a second, so one command does both.
    async fn connection(
        &self,
        program: Option<&Program<'_>>,
    ) -> Result<(Stream, Found), KubernetesError> {
        let receiving = program.map(Program::receiving).unwrap_or_default();
        let script = receiving + &self.script;
        let bytes = program.map_or(&[][..], |it| &it.bytes);
        let command = ["sh", "-c", &script];
        let stream = BufReader::new(self.exec.start(&command, Streams::Pipes).await?);
        let (mut output, mut input) = tokio::io::split(stream);
        let sending = async {
            // The reason why it is not taken follows on the output.
            if input.write_all(bytes).await.is_ok() {
                let _ = input.flush().await;
            }
            std::future::pending::<Infallible>().await
        };
        let found = tokio::select! {
            found = find(&mut output) => found,
            never = sending => match never {},
        };
        let stream = output.unsplit(input);
        match found {
            Ok(Line::Started(found)) => Ok((stream, found)),
            Ok(Line::Unfit(reason)) => Err(KubernetesError::NoAgent(reason)),
            Ok(Line::Failed(reason)) => Err(KubernetesError::Pod {
                name: self.exec.pod.clone(),
                reason: format!("the agent cannot be written to {AGENT}: {reason}"),
                retry: Retryability::Permanent,
            }),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                Err(self.exec.failed(stream.get_ref()))
            }
            Err(error) => Err(self.exec.broken(&error.to_string())),
        }
    }
}

/// The program of an agent.
struct Program<'a> {
    bytes: Cow<'a, [u8]>,
    /// The processor that it is for; a pattern of the shell.
    machine: &'static str,
}

impl<'a> Program<'a> {
    fn of(agent: &'a Agent) -> io::Result<Self> {
        let mut machines = MACHINES.iter();
        let known = machines.find(|(name, _)| agent.runs_on("linux", name));
        Ok(Self {
            bytes: agent.bytes()?,
            machine: known.map_or("*", |(_, machine)| machine),
        })
    }

    /// Returns the script that receives the program. The file has its name when it is complete and was tried. What `head` reads too much is
    /// nothing: no more is sent until the agent listens.
    ///
    /// `head` and `wc` of busybox handle each byte for itself, which takes a tenth of a second. `dd` takes the file in one block, and its
    /// report begins with the number of whole blocks. Older ones do not know `fullblock`.
    fn receiving(&self) -> String {
        let (count, machine) = (self.bytes.len(), self.machine);
        format!(
            "( umask 022\ncd {AGENT} || exit 1\n\
             case $(uname -m) in {machine}) ;; *) echo \"{UNFIT}the agent is for {machine}, the container for $(uname -m)\"; exit 1 ;; esac\n\
             if dd count=0 iflag=fullblock </dev/null >/dev/null 2>&1; then\n\
             why=$(dd bs={count} count=1 iflag=fullblock 2>&1 >new$$)\n\
             else why=$(head -c {count} 2>&1 >new$$); fi || {{ rm -f new$$; echo \"{FAILED}$why\"; exit 1; }}\n\
             case $why in 1+0*) ;; *) [ \"$(wc -c <new$$)\" -eq {count} ] || {{ rm -f new$$; echo '{INCOMPLETE}'; exit 1; }} ;; esac\n\
             chmod 755 new$$ || exit 1\n\
             why=$(./new$$ --version 2>&1 >/dev/null) || {{ rm -f new$$; echo \"{UNFIT}the agent does not start there: $why\"; exit 1; }}\n\
             mv -f new$$ agent ) || exit 1\n"
        )
    }
}

/// What the script of a connection says.
enum Line {
    /// The output is the agent's from here on.
    Started(Found),
    /// Why the agent cannot run.
    Unfit(String),
    /// Why its program cannot be written.
    Failed(String),
}

/// Reads up to the line that says how it goes on.
async fn find(output: &mut ReadHalf<Stream>) -> io::Result<Line> {
    let mut line = Vec::new();
    loop {
        match output.read_u8().await? {
            b'\n' => {
                let printed = String::from_utf8_lossy(&line);
                if let Some(bash) = printed.strip_prefix(STARTED) {
                    let bash = bash.trim().to_owned();
                    return Ok(Line::Started(Found { bash }));
                }
                if let Some(reason) = printed.strip_prefix(UNFIT) {
                    return Ok(Line::Unfit(reason.trim().to_owned()));
                }
                if let Some(reason) = printed.strip_prefix(FAILED) {
                    return Ok(Line::Failed(reason.trim().to_owned()));
                }
                if printed == INCOMPLETE {
                    return Err(io::Error::other("the agent did not arrive whole"));
                }
                line.clear();
            }
            byte => line.push(byte),
        }
    }
}

/// Returns the error of a pod that has ended, or is gone.
pub(crate) fn ended(name: &str, seen: &Seen) -> Option<KubernetesError> {
    let reason = match seen {
        Seen::Pod(PodState::Ended { reason, .. }) => reason.clone(),
        Seen::Gone => "it was deleted".to_owned(),
        _ => return None,
    };
    Some(KubernetesError::Pod {
        name: name.to_owned(),
        reason,
        retry: Retryability::Permanent,
    })
}

fn unreadable(error: &io::Error) -> KubernetesError {
    KubernetesError::Config(format!("read the agent: {error}"))
}

#[async_trait::async_trait]
impl StepsConnector for PodAgent {
    async fn connect(
        &self,
        cancellation: &Cancellation,
    ) -> Result<Box<dyn Connection>, BuildError> {
        let first = self.first.lock().take();
        if let Some(stream) = first {
            return Ok(Box::new(stream));
        }
        let opened = self.open(None, cancellation).await;
        // A role or a login that is missing now may come back, and the script runs on.
        let opened = opened.map_err(KubernetesError::into_temporary);
        match &opened {
            Ok(_) => self.said.store(false, Ordering::Relaxed),
            Err(KubernetesError::Canceled(_)) => {}
            Err(error) => {
                let trace = self.trace.lock().clone();
                if let Some(trace) = trace
                    && !self.said.swap(true, Ordering::Relaxed)
                {
                    let reason = executor_core::chain(error);
                    trace.warning_line(&format!("the pod cannot be reached now: {reason}"));
                }
            }
        }
        let (stream, _) = opened?;
        Ok(Box::new(stream))
    }
}
