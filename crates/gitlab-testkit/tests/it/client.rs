//! A minimal HTTP client, enough to read the server's responses.

use gitlab_testkit::GitLab;
use serde_json::Value;
use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// A response of the server.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Said {
    pub(crate) fn header(&self, name: &str) -> &str {
        let mut all = self.headers.iter();
        all.find(|(known, _)| known == name)
            .map_or("", |(_, value)| value)
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).expect("the body is JSON")
    }
}

/// Requests `target`; returns `None` if the response is incomplete.
pub(crate) fn try_ask(
    gitlab: &GitLab,
    method: &str,
    target: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Option<Said> {
    try_send(gitlab.address(), method, target, headers, body.as_bytes())
}

/// Requests `target` of any server; returns `None` if the response is incomplete.
pub(crate) fn try_send(
    address: SocketAddr,
    method: &str,
    target: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Option<Said> {
    let mut request = format!(
        "{method} {target} HTTP/1.0\r\nhost: test\r\ncontent-length: {}\r\n",
        body.len()
    );
    for (name, value) in headers {
        let _ = write!(request, "{name}: {value}\r\n");
    }
    let mut bytes = format!("{request}\r\n").into_bytes();
    bytes.extend_from_slice(body);
    send_bytes(address, method, &bytes)
}

/// Sends a whole request as it is, after which the server has to close the connection.
pub(crate) fn send_bytes(address: SocketAddr, method: &str, request: &[u8]) -> Option<Said> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream
        .set_read_timeout(Some(Duration::from_mins(1)))
        .expect("it has time");
    stream.write_all(request).ok()?;
    let mut said = Vec::new();
    stream.read_to_end(&mut said).ok()?;
    read(&said, method)
}

fn read(said: &[u8], method: &str) -> Option<Said> {
    let end = said.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&said[..end]);
    let body = &said[end + 4..];
    let mut lines = head.lines();
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let headers = lines.filter_map(|line| line.split_once(": "));
    let said = Said {
        status,
        headers: headers
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect(),
        body: String::from_utf8_lossy(body).into_owned(),
    };
    let length = said.header("content-length").parse().ok();
    let has_none = status == 304 || method == "HEAD";
    let is_whole = length.is_none_or(|length: usize| body.len() == length || has_none);
    is_whole.then_some(said)
}

/// Requests `target` without a token.
pub(crate) fn get(gitlab: &GitLab, target: &str) -> Said {
    try_ask(gitlab, "GET", target, &[], "").expect("the server answers")
}

/// Requests `target` with a personal access token.
pub(crate) fn get_as(gitlab: &GitLab, token: &str, target: &str) -> Said {
    try_ask(gitlab, "GET", target, &[("private-token", token)], "").expect("the server answers")
}
