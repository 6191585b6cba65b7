use super::error_output::ErrorOutput;
use super::forwarded_stream::ForwardedStream;
use super::login::Login;
use super::route::Route;
use super::stream::SshStream;
use crate::engine::address::Address;
use crate::engine::connection::Stream;
use process::{CaptureLimits, Captured, Command, NeverStop, ProcessTree, Stdin, Supervisor};
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;

/// How long an ssh may take that speaks with nobody elsewhere.
const LOCAL: Duration = Duration::from_secs(10);

/// Logs in to another host and speaks with the engine there. Cheap to clone; the clones share the login.
#[derive(Debug, Clone)]
pub(crate) struct SshClient {
    pub(super) supervisor: Supervisor,
    tree: ProcessTree,
    pub(super) route: Route,
    pub(super) error_output: ErrorOutput,
    shared: Arc<Mutex<Shared>>,
}

/// What is known of logins.
#[derive(Debug, Default)]
enum Shared {
    /// Nobody has looked.
    #[default]
    Unknown,
    /// The user has one that is used already, or there can be none.
    NotOurs,
    /// There was none yet, or it has ended.
    Ended,
    Open(Arc<Login>),
}

impl SshClient {
    /// Reads the address; `None` if it is not one of ssh.
    pub(crate) fn new(
        supervisor: &Supervisor,
        command: &[String],
        address: &Address,
    ) -> Option<Self> {
        Some(Self {
            supervisor: supervisor.clone(),
            tree: supervisor.tree(),
            route: Route::new(command, address)?,
            error_output: ErrorOutput::default(),
            shared: Arc::default(),
        })
    }

    /// Returns what ssh said last on its standard error.
    pub(crate) fn error_output(&self) -> Option<String> {
        self.error_output.text()
    }

    /// Opens a connection to the engine: over the login, which is made first where there is none.
    pub(crate) async fn connect(&self) -> io::Result<Box<dyn Stream>> {
        // A login may have ended without anybody having noticed.
        for _ in 0..2 {
            let Some(login) = self.login().await? else {
                return self.dial(None);
            };
            match login.connect().await {
                Ok(Some(stream)) => return Ok(Box::new(ForwardedStream::new(stream, login))),
                Ok(None) => return self.dial(Some(&login)),
                Err(error) if has_ended(&error) => self.forget(&login).await,
                Err(error) => return Err(error),
            }
        }
        self.dial(None)
    }

    /// Returns the login; `None` where it is not for us to have one. Who comes while one is made waits for it.
    async fn login(&self) -> io::Result<Option<Arc<Login>>> {
        let mut shared = self.shared.lock().await;
        if matches!(*shared, Shared::Unknown) {
            let has_one = self.user_shares_one().await;
            *shared = if has_one {
                Shared::NotOurs
            } else {
                Shared::Ended
            };
        }
        match &*shared {
            Shared::NotOurs => return Ok(None),
            Shared::Open(login) => return Ok(Some(Arc::clone(login))),
            Shared::Unknown | Shared::Ended => {}
        }
        let Some(login) = Login::begin(self).await? else {
            *shared = Shared::NotOurs;
            return Ok(None);
        };
        let login = Arc::new(login);
        *shared = Shared::Open(Arc::clone(&login));
        Ok(Some(login))
    }

    /// Sees that nobody uses this login any more.
    async fn forget(&self, login: &Arc<Login>) {
        let mut shared = self.shared.lock().await;
        if matches!(&*shared, Shared::Open(open) if Arc::ptr_eq(open, login)) {
            *shared = Shared::Ended;
        }
    }

    /// Whether the user's settings of ssh share a login already, which may be the only way in where a login asks for
    /// more than a key. Whatever says no settings has none.
    async fn user_shares_one(&self) -> bool {
        let said = self.say(self.route.settings()).await;
        said.is_ok_and(|said| {
            let text = String::from_utf8_lossy(&said.stdout);
            let path = text
                .lines()
                .find_map(|line| line.strip_prefix("controlpath "));
            path.is_some_and(|path| path != "none")
        })
    }

    /// Starts an ssh for one connection; over the login's, if it still lives.
    fn dial(&self, login: Option<&Login>) -> io::Result<Box<dyn Stream>> {
        let stream = self.start(self.route.dial(login.map(Login::control).as_deref()))?;
        Ok(Box::new(stream))
    }

    /// Starts an ssh whose ends are ours.
    pub(super) fn start(&self, words: Vec<String>) -> io::Result<SshStream> {
        let command = self.command(words).stdin(Stdin::Piped);
        let process = self.tree.spawn(&command).map_err(io::Error::other)?;
        SshStream::of(process, &self.error_output)
    }

    /// Runs an ssh that only speaks with another one here, or with nobody.
    pub(super) async fn say(&self, words: Vec<String>) -> io::Result<Captured> {
        let limits = CaptureLimits {
            deadline: LOCAL,
            ..CaptureLimits::default()
        };
        let said = self
            .tree
            .output(&self.command(words), &limits, &NeverStop)
            .await;
        said.map_err(io::Error::other)
    }

    fn command(&self, words: Vec<String>) -> Command {
        Command::new(&self.route.program)
            .args(words)
            // It is the runner's own tool: it needs the home directory, the agent, the search path.
            .envs(self.tree.environment().iter())
    }
}

/// Whether nobody listens any more where a login did.
fn has_ended(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound
    )
}
