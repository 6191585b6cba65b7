use super::forwarded_stream::ForwardedStream;
use super::login::Login;
use super::program::SshProgram;
use super::route::Route;
use crate::engine::address::Address;
use crate::engine::connection::Stream;
use process::Supervisor;
use std::io;
use std::sync::Arc;
use tokio::sync::Mutex;

/// Connects to the engine on another host. Cheap to clone; the clones share the login.
#[derive(Debug, Clone)]
pub(crate) struct SshClient {
    program: SshProgram,
    shared: Arc<Mutex<Shared>>,
}

/// The state of the login.
#[derive(Debug, Default)]
enum Shared {
    /// Not checked yet.
    #[default]
    Unknown,
    /// The user shares a login, or none is possible.
    NotOurs,
    /// There is none yet, or it has ended.
    Ended,
    Open(Arc<Login>),
}

impl SshClient {
    /// Returns a client; `None` unless the address is one of ssh.
    pub(crate) fn new(
        supervisor: &Supervisor,
        command: &[String],
        address: &Address,
    ) -> Option<Self> {
        Some(Self {
            program: SshProgram::new(supervisor, Route::new(command, address)?),
            shared: Arc::default(),
        })
    }

    /// Returns the last error output of ssh.
    pub(crate) fn error_output(&self) -> Option<String> {
        self.program.error_output.text()
    }

    /// Opens a connection to the engine over the login, logging in when necessary.
    pub(crate) async fn connect(&self) -> io::Result<Box<dyn Stream>> {
        // The login may have ended unnoticed.
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

    /// Returns the login; `None` when we may not have one. Concurrent calls wait for the same login.
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
        let Some(login) = Login::begin(&self.program).await? else {
            *shared = Shared::NotOurs;
            return Ok(None);
        };
        let login = Arc::new(login);
        *shared = Shared::Open(Arc::clone(&login));
        Ok(Some(login))
    }

    /// Drops an ended login.
    async fn forget(&self, login: &Arc<Login>) {
        let mut shared = self.shared.lock().await;
        if matches!(&*shared, Shared::Open(open) if Arc::ptr_eq(open, login)) {
            *shared = Shared::Ended;
        }
    }

    /// Returns whether the user's settings of ssh share a login, which may be the only way in where a login needs more than
    /// a key. An ssh that prints no settings has none.
    async fn user_shares_one(&self) -> bool {
        let output = self.program.run(self.program.route.settings()).await;
        output.is_ok_and(|output| {
            let text = String::from_utf8_lossy(&output.stdout);
            let path = text
                .lines()
                .find_map(|line| line.strip_prefix("controlpath "));
            path.is_some_and(|path| path != "none")
        })
    }

    /// Starts an ssh for one connection, over the login if there is one.
    fn dial(&self, login: Option<&Login>) -> io::Result<Box<dyn Stream>> {
        let control = login.map(Login::control);
        let stream = self
            .program
            .start(self.program.route.dial(control.as_deref()))?;
        Ok(Box::new(stream))
    }
}

/// Returns whether the login's socket has no listener.
fn has_ended(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound
    )
}
