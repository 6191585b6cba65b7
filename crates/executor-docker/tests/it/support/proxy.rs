//! A proxy in front of a registry that counts requests and injects faults.

use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// The fault that is injected into a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// None: the request is forwarded.
    None,
    /// The response has this status.
    Status(u16),
    /// The connection is reset after this many bytes of the response.
    Reset(usize),
    /// No response is sent.
    Stall,
    /// The response is sent in pieces of this many bytes, one every 5 ms.
    Slow(usize),
}

type Plan = dyn Fn(&str, usize) -> Fault + Send + Sync;

struct Shared {
    registry: u16,
    plan: Box<Plan>,
    requests: Mutex<Vec<String>>,
}

/// The proxy, stopped on drop.
pub(crate) struct Proxy {
    pub(crate) port: u16,
    shared: Arc<Shared>,
    _tasks: JoinSet<()>,
}

impl Proxy {
    /// Starts a proxy. The plan receives the request line and the number of requests of the same kind so far:
    /// `manifests`, `blobs` or the initial `/v2/`.
    pub(crate) async fn start(
        registry: u16,
        plan: impl Fn(&str, usize) -> Fault + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared {
            registry,
            plan: Box::new(plan),
            requests: Mutex::default(),
        });
        let mut tasks = JoinSet::new();
        let served = Arc::clone(&shared);
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                connections.spawn(serve(Arc::clone(&served), client));
            }
        });
        Self {
            port,
            shared,
            _tasks: tasks,
        }
    }

    /// Returns how many requests had `part` in their request line.
    pub(crate) fn count(&self, part: &str) -> usize {
        let requests = self.shared.requests.lock();
        requests.iter().filter(|line| line.contains(part)).count()
    }
}

fn kind(line: &str) -> &'static str {
    ["/manifests/", "/blobs/"]
        .into_iter()
        .find(|kind| line.contains(kind))
        .unwrap_or("/v2/")
}

async fn serve(shared: Arc<Shared>, mut client: TcpStream) {
    let Some(head) = read_head(&mut client).await else {
        return;
    };
    let line = head.lines().next().unwrap_or_default().to_owned();
    let number = {
        let mut requests = shared.requests.lock();
        let same = requests.iter().filter(|other| kind(other) == kind(&line));
        let number = same.count() + 1;
        requests.push(line.clone());
        number
    };
    let fault = (shared.plan)(&line, number);
    match fault {
        Fault::Stall => return std::future::pending().await,
        Fault::Status(status) => {
            let answer =
                format!("HTTP/1.1 {status} No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            let _ = client.write_all(answer.as_bytes()).await;
            return;
        }
        Fault::Reset(0) => return client.set_zero_linger().unwrap(),
        _ => {}
    }
    let mut registry = TcpStream::connect(("127.0.0.1", shared.registry))
        .await
        .unwrap();
    // One request per connection, so that the response ends with the connection.
    let head = head.replacen("\r\n", "\r\nConnection: close\r\n", 1);
    registry.write_all(head.as_bytes()).await.unwrap();
    let mut buffer = vec![
        0;
        if let Fault::Slow(bytes) = fault {
            bytes
        } else {
            16 << 10
        }
    ];
    let mut sent = 0;
    loop {
        let Ok(bytes @ 1..) = registry.read(&mut buffer).await else {
            return;
        };
        if client.write_all(&buffer[..bytes]).await.is_err() {
            return;
        }
        sent += bytes;
        match fault {
            Fault::Reset(most) if sent >= most => return client.set_zero_linger().unwrap(),
            Fault::Slow(_) => tokio::time::sleep(Duration::from_millis(5)).await,
            _ => {}
        }
    }
}

async fn read_head(client: &mut TcpStream) -> Option<String> {
    let mut head = vec![client.read_u8().await.ok()?];
    // Engines try TLS first and wait for a response.
    if head[0] == 0x16 {
        return None;
    }
    while !head.ends_with(b"\r\n\r\n") {
        head.push(client.read_u8().await.ok()?);
    }
    String::from_utf8(head).ok()
}
