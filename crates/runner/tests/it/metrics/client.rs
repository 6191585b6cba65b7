//! A client that sends what a test wants.

use std::net::SocketAddr;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    /// The head, in lower case.
    pub(super) head: String,
    pub(super) body: String,
}

/// Reads a page.
pub(super) async fn get(address: SocketAddr, path: &str) -> Answer {
    ask(address, &format!("GET {path} HTTP/1.1\r\nHost: h\r\n\r\n")).await
}

/// Sends a request as it is, and reads until the server closes the connection.
pub(super) async fn ask(address: SocketAddr, request: &str) -> Answer {
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    stream.write_all(request.as_bytes()).await.expect("sent");
    let mut answer = String::new();
    let read = stream.read_to_string(&mut answer).await;
    read.expect("an answer");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    let status = head.split(' ').nth(1).expect("a status");
    Answer {
        status: status.parse().expect("a number"),
        head: head.to_lowercase(),
        body: body.to_owned(),
    }
}
