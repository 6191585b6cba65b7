//! Connecting, checking the host's key, and logging in. It blocks, with a deadline.

use super::channel::Channel;
use super::tunnel;
use crate::config::SshOptions;
use crate::error::SshError;
use crate::known_hosts::KnownKeys;
use crate::target::Target;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use parking_lot::Mutex;
use rustix::net::sockopt;
use ssh2::{ErrorCode, MethodType, Session};
use std::fs;
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Handle;

/// The file with the keys that hold for all users of this host.
const SYSTEM_KNOWN_HOSTS: &str = "/etc/ssh/ssh_known_hosts";

/// Codes of libssh2.
const TIMEOUT: i32 = -9;
const DISCONNECTED: i32 = -13;
const AUTHENTICATION_FAILED: i32 = -18;
const KEY_UNVERIFIED: i32 = -19;
const METHOD_NOT_SUPPORTED: i32 = -33;

/// One attempt to log in.
#[derive(Debug)]
pub(super) struct Login {
    target: Target,
    options: SshOptions,
    deadline: Instant,
    socket: Socket,
    runtime: Handle,
}

/// The socket of an attempt, as soon as there is one.
#[derive(Debug, Clone, Default)]
pub(super) struct Socket(Arc<Mutex<SocketState>>);

#[derive(Debug, Default)]
struct SocketState {
    fd: Option<OwnedFd>,
    is_closed: bool,
}

impl Socket {
    /// Ends all waiting for the socket.
    pub(super) fn close(&self) {
        let mut state = self.0.lock();
        state.is_closed = true;
        if let Some(fd) = &state.fd {
            let _ = rustix::net::shutdown(fd, rustix::net::Shutdown::Both);
        }
    }

    fn set(&self, fd: OwnedFd) -> io::Result<()> {
        let mut state = self.0.lock();
        if state.is_closed {
            return Err(io::ErrorKind::Interrupted.into());
        }
        state.fd = Some(fd);
        Ok(())
    }
}

impl Login {
    pub(super) fn new(target: Target, options: SshOptions, deadline: Instant) -> Self {
        Self {
            target,
            options,
            deadline,
            socket: Socket::default(),
            runtime: Handle::current(),
        }
    }

    /// Returns the socket, to end the attempt.
    pub(super) fn socket(&self) -> Socket {
        self.socket.clone()
    }

    /// Logs in, through the channel of another host if there is one. Returns the session, which does not block any more.
    pub(super) fn log_in(&self, tunnel: Option<Channel>) -> Result<(Session, OwnedFd), SshError> {
        let home = self.options.home.as_deref();
        let own = self.options.config.known_hosts_file.as_deref();
        let own = own.map(|path| crate::client_config::expand(&path.to_string_lossy(), home));
        let own = own.or_else(|| home.map(|home| home.join(".ssh/known_hosts")));
        let files: Vec<PathBuf> = own.into_iter().chain([SYSTEM_KNOWN_HOSTS.into()]).collect();
        let keys = KnownKeys::read(&files, &self.target.host, self.target.port)?;

        let mut session = Session::new().map_err(|error| self.failed(&error, "starting"))?;
        let connected = match tunnel {
            Some(channel) => self.join(channel, &mut session),
            None => self.connect(&mut session),
        };
        let socket = connected.map_err(|source| self.unreachable(source))?;
        prefer(&session, &keys.kinds()).map_err(|error| self.failed(&error, "starting"))?;
        self.limit(&session);
        let shaken = session.handshake();
        shaken.map_err(|error| self.failed(&error, "exchanging keys"))?;
        let (key, _) = session
            .host_key()
            .ok_or_else(|| self.unreachable(io::Error::other("the host sent no key")))?;
        keys.check(key, self.options.config.accept_new_host_keys)?;
        self.authenticate(&session)?;
        session.set_timeout(0);
        session.set_blocking(false);
        Ok((session, socket))
    }

    fn connect(&self, session: &mut Session) -> io::Result<OwnedFd> {
        let Target { host, port, .. } = &self.target;
        let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
        for address in (host.as_str(), *port).to_socket_addrs()? {
            let left = self.left();
            match TcpStream::connect_timeout(&address, left) {
                Ok(stream) => {
                    stream.set_nodelay(true)?;
                    sockopt::set_socket_keepalive(&stream, true)?;
                    // A peer that is gone without a word is noticed by what the keepalive sends.
                    let patience = self
                        .options
                        .config
                        .keepalive_seconds()
                        .saturating_mul(2_000);
                    sockopt::set_tcp_user_timeout(&stream, patience)?;
                    return self.adopt(stream, session);
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn join(&self, channel: Channel, session: &mut Session) -> io::Result<OwnedFd> {
        self.adopt(tunnel::socket_of(channel, &self.runtime)?, session)
    }

    fn adopt<S>(&self, stream: S, session: &mut Session) -> io::Result<OwnedFd>
    where
        S: AsFd + std::os::fd::AsRawFd + 'static,
    {
        let own = stream.as_fd().try_clone_to_owned()?;
        self.socket.set(own.try_clone()?)?;
        session.set_tcp_stream(stream);
        Ok(own)
    }

    fn authenticate(&self, session: &Session) -> Result<(), SshError> {
        self.limit(session);
        let user = &self.target.user;
        let offered = match session.auth_methods(user) {
            Ok(methods) => methods.to_owned(),
            // Some hosts let anybody in.
            Err(_) if session.authenticated() => return Ok(()),
            Err(error) => return Err(self.failed(&error, "logging in")),
        };
        let has = |method: &str| offered.split(',').any(|it| it == method);
        let mut tried = Vec::new();
        if has("publickey") {
            let mut keys = self.target.identities.clone();
            match &self.target.identity {
                Some(named) => keys = vec![named.clone()],
                None => self.ask_agent(session, None, &mut tried).map(drop)?,
            }
            for key in keys {
                if session.authenticated() {
                    return Ok(());
                }
                self.try_key(session, &key, &mut tried)?;
            }
        }
        if !session.authenticated()
            && let Some(password) = &self.target.password
        {
            if has("password") {
                self.limit(session);
                if let Err(error) = session.userauth_password(user, password) {
                    self.note_refusal(session, &error, "the password", &mut tried)?;
                }
            } else {
                tried.push("the host takes no password".to_owned());
            }
        }
        if session.authenticated() {
            return Ok(());
        }
        if tried.is_empty() {
            tried.push("there is no key and no password to try".to_owned());
        }
        Err(SshError::Login {
            host: self.target.address(),
            user: user.clone(),
            tried: format!("{} (the host takes {offered})", tried.join("; ")),
        })
    }

    /// Offers the keys of the user's SSH agent, or only the one with this public key. Returns whether it has such a key.
    fn ask_agent(
        &self,
        session: &Session,
        only: Option<&[u8]>,
        tried: &mut Vec<String>,
    ) -> Result<bool, SshError> {
        let Some(socket) = &self.options.auth_socket else {
            return Ok(false);
        };
        let silent = |error: &dyn std::fmt::Display| {
            let socket = socket.display();
            format!("no SSH agent answers at {socket} (SSH_AUTH_SOCK): {error}")
        };
        match self.await_agent(socket) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let within = self.options.config.connect_within().as_secs();
                let text = format!("the SSH agent did not answer within {within} s");
                return Err(self.unreachable(io::Error::new(io::ErrorKind::TimedOut, text)));
            }
            Err(error) => {
                tried.push(silent(&error));
                return Ok(false);
            }
        }
        let connected = session.agent().and_then(|mut agent| {
            agent.set_identity_path(socket)?;
            agent.connect()?;
            agent.list_identities()?;
            let keys = agent.identities()?;
            Ok((agent, keys))
        });
        let (agent, mut keys) = match connected {
            Ok(connected) => connected,
            Err(error) => {
                tried.push(silent(&error));
                return Ok(false);
            }
        };
        keys.retain(|key| only.is_none_or(|only| only == key.blob()));
        for key in &keys {
            self.limit(session);
            let Err(error) = agent.userauth(&self.target.user, key) else {
                return Ok(true);
            };
            let what = format!("key {} of the SSH agent", key.comment());
            self.note_refusal(session, &error, &what, tried)?;
        }
        Ok(!keys.is_empty())
    }

    /// Asks the SSH agent for its keys and waits for its answer until the deadline. libssh2 would wait for ever.
    fn await_agent(&self, socket: &Path) -> io::Result<()> {
        const REQUEST_IDENTITIES: u8 = 11;
        let mut agent = UnixStream::connect(socket)?;
        agent.set_read_timeout(Some(self.left()))?;
        agent.write_all(&[0, 0, 0, 1, REQUEST_IDENTITIES])?;
        agent.read_exact(&mut [0; 5])
    }

    fn try_key(
        &self,
        session: &Session,
        path: &Path,
        tried: &mut Vec<String>,
    ) -> Result<(), SshError> {
        let is_named = self.target.identity.is_some();
        let key = match fs::read_to_string(path) {
            Ok(key) => key,
            Err(error) if !is_named && error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) if is_named => {
                let text = format!("identity-file {}: {error}", path.display());
                return Err(SshError::config(text));
            }
            Err(source) => {
                let path = path.to_owned();
                return Err(SshError::Read { path, source });
            }
        };
        let what = format!("key {}", path.display());
        if key.contains("PRIVATE KEY") && is_readable_by_others(path) {
            tried.push(format!(
                "{what} was not used, since others may read it (`chmod 600`)"
            ));
            return Ok(());
        }
        self.limit(session);
        match session.userauth_pubkey_memory(&self.target.user, None, &key, None) {
            Ok(()) => Ok(()),
            Err(error) if is_key_error(&error) => {
                let why = "it has a passphrase, or a format that is not supported";
                // The agent's other keys were tried before those without a name.
                let advice = if self.options.auth_socket.is_none() {
                    "there is no SSH agent (SSH_AUTH_SOCK) that has it"
                } else if !is_named {
                    "the SSH agent does not have it (`ssh-add` adds it)"
                } else if let Some(public) = public_key(path, &key) {
                    if self.ask_agent(session, Some(&public), tried)? {
                        return Ok(());
                    }
                    "the SSH agent does not have it (`ssh-add` adds it)"
                } else {
                    "there is no public key beside it, as the file with `.pub`, to find it in the SSH agent"
                };
                tried.push(format!("{what} cannot be used: {why}, and {advice}"));
                Ok(())
            }
            Err(error) => self.note_refusal(session, &error, &what, tried),
        }
    }

    /// Notes that the host refused a key or the password.
    ///
    /// # Errors
    ///
    /// When it did not answer at all, or permits no further attempt: then it says that it disconnects.
    fn note_refusal(
        &self,
        session: &Session,
        error: &ssh2::Error,
        what: &str,
        tried: &mut Vec<String>,
    ) -> Result<(), SshError> {
        if is_refusal(error) {
            tried.push(format!("{what} was refused"));
            return Ok(());
        }
        let code = match error.code() {
            // This code does not say why there was no answer; the code of another request does.
            ErrorCode::Session(KEY_UNVERIFIED) => {
                let asked = session.auth_methods(&self.target.user);
                asked.err().map_or(error.code(), |error| error.code())
            }
            code => code,
        };
        if code != ErrorCode::Session(DISCONNECTED) {
            return Err(self.failed(error, "logging in"));
        }
        tried.push(format!(
            "the host closed the connection instead of an answer to {what}, as it does after too many attempts (MaxAuthTries); \
             with identity-file, one key is tried"
        ));
        Err(SshError::Login {
            host: self.target.address(),
            user: self.target.user.clone(),
            tried: tried.join("; "),
        })
    }

    /// Lets the next call of the session end before the deadline.
    fn limit(&self, session: &Session) {
        let left = u32::try_from(self.left().as_millis()).unwrap_or(u32::MAX);
        session.set_timeout(left);
    }

    /// Returns the time until the deadline, which is never zero: that would be no limit.
    fn left(&self) -> Duration {
        let left = self.deadline.saturating_duration_since(Instant::now());
        left.max(Duration::from_millis(1))
    }

    fn failed(&self, error: &ssh2::Error, doing: &'static str) -> SshError {
        match error.code() {
            ErrorCode::Session(TIMEOUT) => SshError::Silent {
                host: self.target.address(),
                doing,
                within: self.options.config.connect_within(),
            },
            // Without the number of libssh2, which says nothing to a user.
            _ => self.unreachable(error.message().to_owned()),
        }
    }

    fn unreachable(&self, source: impl Into<executor_core::BoxError>) -> SshError {
        SshError::Unreachable {
            host: self.target.address(),
            source: source.into(),
        }
    }
}

/// Returns whether other users have permissions for a file of this user, which ssh refuses too.
fn is_readable_by_others(path: &Path) -> bool {
    let own = rustix::process::geteuid().as_raw();
    fs::metadata(path).is_ok_and(|it| it.uid() == own && it.mode() & 0o077 != 0)
}

/// Prefers keys of known types: with a key of another type the host would look changed.
fn prefer(session: &Session, kinds: &[String]) -> Result<(), ssh2::Error> {
    let supported = session.supported_algs(MethodType::HostKey)?;
    let is_known = |method: &str| {
        let kind = if method.starts_with("rsa-sha2-") {
            "ssh-rsa"
        } else {
            method
        };
        kinds.iter().any(|it| it == kind)
    };
    let (known, others): (Vec<_>, Vec<_>) = supported.into_iter().partition(|it| is_known(it));
    if known.is_empty() {
        return Ok(());
    }
    session.method_pref(MethodType::HostKey, &[known, others].concat().join(","))
}

/// Returns the public half of a private key with this content: it stands in the file, or beside it in one with `.pub`. The file
/// may also be a public key, whose private half only the SSH agent has.
fn public_key(path: &Path, content: &str) -> Option<Vec<u8>> {
    let of_line = |line: &str| STANDARD.decode(line.split_whitespace().nth(1)?).ok();
    let body = content
        .trim()
        .strip_prefix("-----BEGIN OPENSSH PRIVATE KEY-----")
        .and_then(|it| it.split("-----").next());
    let Some(body) = body else {
        let beside = || {
            let mut beside = path.as_os_str().to_owned();
            beside.push(".pub");
            of_line(&fs::read_to_string(beside).ok()?)
        };
        return of_line(content)
            .filter(|_| !content.starts_with('-'))
            .or_else(beside);
    };
    let body: String = body.split_whitespace().collect();
    let bytes = STANDARD.decode(body).ok()?;
    // Before the key are the names of a cipher and of a derivation, the options of that, and the number of keys.
    let mut rest = bytes.strip_prefix(b"openssh-key-v1\0")?;
    for _ in 0..3 {
        rest = take_string(rest)?.1;
    }
    Some(take_string(rest.get(4..)?)?.0.to_owned())
}

/// Splits off a string that has its length before it, as in the protocol.
fn take_string(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk()?;
    rest.split_at_checked(usize::try_from(u32::from_be_bytes(*length)).ok()?)
}

/// Returns whether the host answered that it refuses a key or password.
fn is_refusal(error: &ssh2::Error) -> bool {
    match error.code() {
        ErrorCode::Session(AUTHENTICATION_FAILED) => true,
        // libssh2 has the same code for an answer that did not come.
        ErrorCode::Session(KEY_UNVERIFIED) => !error.message().starts_with("Waiting for"),
        _ => false,
    }
}

/// Returns whether a key could not be read or used by libssh2.
fn is_key_error(error: &ssh2::Error) -> bool {
    const FILE: i32 = -16;
    const KEYFILE: i32 = -48;
    matches!(
        error.code(),
        ErrorCode::Session(FILE | KEYFILE | METHOD_NOT_SUPPORTED)
    )
}
