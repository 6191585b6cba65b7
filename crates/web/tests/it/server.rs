use parking_lot::{Mutex, MutexGuard};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// A request as the server receives it.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    /// The method, such as `GET`.
    pub(crate) method: String,
    /// The target: a path, or a whole address when the client uses a proxy.
    pub(crate) target: String,
    pub(crate) body: String,
    headers: Vec<(String, String)>,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
}

/// The connection that a response is written to.
pub(crate) trait Wire: Read + Write {
    /// Writes a whole response and keeps the connection open for another request.
    fn answer(&mut self, status: &str, headers: &[(&str, &str)], body: &[u8]) -> io::Result<()> {
        let mut head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n", body.len());
        for (name, value) in headers {
            let _ = write!(head, "{name}: {value}\r\n");
        }
        self.write_all(format!("{head}\r\n").as_bytes())?;
        self.write_all(body)?;
        self.flush()
    }

    /// Writes the text verbatim and closes the connection.
    fn raw(&mut self, text: &str) -> io::Result<()> {
        self.write_all(text.as_bytes())?;
        self.flush()?;
        Err(io::ErrorKind::ConnectionAborted.into())
    }
}

impl<T: Read + Write> Wire for T {}

type Handler = dyn Fn(&Seen, &mut dyn Wire) -> io::Result<()> + Send + Sync;

/// A server on this machine that records its requests. A handler that fails closes its connection.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    seen: Mutex<Vec<Seen>>,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    closed: bool,
    sockets: Vec<TcpStream>,
    threads: Vec<JoinHandle<()>>,
}

impl Server {
    /// Starts a server at a free port.
    pub(crate) fn start(
        handler: impl Fn(&Seen, &mut dyn Wire) -> io::Result<()> + Send + Sync + 'static,
    ) -> Self {
        Self::listen("127.0.0.1:0", None, handler)
    }

    /// Starts a server that speaks TLS.
    pub(crate) fn start_tls(
        config: ServerConfig,
        handler: impl Fn(&Seen, &mut dyn Wire) -> io::Result<()> + Send + Sync + 'static,
    ) -> Self {
        Self::listen("127.0.0.1:0", Some(Arc::new(config)), handler)
    }

    /// Starts a server at an address.
    pub(crate) fn listen(
        address: &str,
        tls: Option<Arc<ServerConfig>>,
        handler: impl Fn(&Seen, &mut dyn Wire) -> io::Result<()> + Send + Sync + 'static,
    ) -> Self {
        let handler: Arc<Handler> = Arc::new(handler);
        Self::serve(address, move |socket, shared| match &tls {
            None => talk(socket, shared, &*handler),
            Some(config) => {
                let connection = ServerConnection::new(Arc::clone(config)).expect("a server");
                talk(StreamOwned::new(connection, socket), shared, &*handler)
            }
        })
    }

    /// Starts a server that speaks a protocol other than HTTP.
    pub(crate) fn speaking(
        speak: impl Fn(TcpStream) -> io::Result<()> + Send + Sync + 'static,
    ) -> Self {
        Self::serve("127.0.0.1:0", move |socket, _| speak(socket))
    }

    fn serve(
        address: &str,
        speak: impl Fn(TcpStream, &Shared) -> io::Result<()> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(address).expect("a port");
        let address = listener.local_addr().expect("an address");
        let shared = Arc::new(Shared::default());
        let speak = Arc::new(speak);
        let accepting = thread::spawn({
            let shared = Arc::clone(&shared);
            move || {
                for socket in listener.incoming().flatten() {
                    let mut open = shared.open();
                    if open.closed {
                        return;
                    }
                    open.sockets.push(socket.try_clone().expect("a socket"));
                    let (shared, speak) = (Arc::clone(&shared), Arc::clone(&speak));
                    let thread = thread::spawn(move || {
                        let end = socket.try_clone().expect("a socket");
                        let _ = speak(socket, &shared);
                        let _ = end.shutdown(Shutdown::Both);
                    });
                    open.threads.push(thread);
                }
            }
        });
        Self {
            address,
            shared,
            accepting: Some(accepting),
        }
    }

    /// Returns an address of this server.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Returns an address of this server with a name that resolves to it.
    pub(crate) fn url_as(&self, scheme: &str, name: &str, path: &str) -> String {
        format!("{scheme}://{name}:{}{path}", self.address.port())
    }

    /// Returns the requests received so far.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.shared.seen.lock().clone()
    }

    /// Returns the targets of the requests received so far.
    pub(crate) fn targets(&self) -> Vec<String> {
        self.seen().into_iter().map(|seen| seen.target).collect()
    }

    /// Returns the number of connections accepted so far.
    pub(crate) fn connections(&self) -> usize {
        self.shared.open().sockets.len()
    }
}

impl Server {
    /// Waits until the server has accepted this many connections: a client can connect before the server accepts.
    pub(crate) fn wait_for_connections(&self, count: usize) {
        let until = Instant::now() + Duration::from_secs(30);
        while self.connections() < count {
            assert!(Instant::now() < until, "{} connections", self.connections());
            thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(self.connections(), count);
    }
}

impl Shared {
    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let threads = {
            let mut open = self.shared.open();
            open.closed = true;
            for socket in &open.sockets {
                let _ = socket.shutdown(Shutdown::Both);
            }
            std::mem::take(&mut open.threads)
        };
        // Wakes the accepting thread.
        let _ = TcpStream::connect(self.address);
        for thread in threads.into_iter().chain(self.accepting.take()) {
            let _ = thread.join();
        }
    }
}

fn talk(stream: impl Read + Write, shared: &Shared, handler: &Handler) -> io::Result<()> {
    let mut stream = BufReader::new(stream);
    loop {
        let seen = read(&mut stream)?;
        shared.seen.lock().push(seen.clone());
        handler(&seen, stream.get_mut())?;
    }
}

/// Reads a request; a closed connection is an error like any other.
pub(crate) fn read(stream: &mut impl BufRead) -> io::Result<Seen> {
    let mut line = || {
        let mut line = String::new();
        match stream.read_line(&mut line)? {
            0 => Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
            _ => Ok(line.trim_end().to_owned()),
        }
    };
    let first = line()?;
    let mut words = first.split(' ').map(str::to_owned);
    let (method, target) = (words.next(), words.next());
    let mut headers = Vec::new();
    loop {
        let header = line()?;
        let Some((name, value)) = header.split_once(": ") else {
            break;
        };
        headers.push((name.to_owned(), value.to_owned()));
    }
    let mut seen = Seen {
        method: method.unwrap_or_default(),
        target: target.unwrap_or_default(),
        body: String::new(),
        headers,
    };
    let length = seen
        .header("content-length")
        .and_then(|text| text.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body)?;
    seen.body = String::from_utf8(body).expect("text");
    Ok(seen)
}
