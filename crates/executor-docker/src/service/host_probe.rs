//! Probes the ports of a service from this host.

use futures_util::future::{join_all, select_all};
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The pause between two attempts: a refused connection is cheap.
const PAUSE: Duration = Duration::from_millis(20);

/// The time limit of one attempt.
const TRY: Duration = Duration::from_secs(2);

/// How much of a response is read for its status.
const LONGEST_STATUS_LINE: usize = 64;

/// Returns whether this host reaches containers of a network with this gateway: the gateway is an address of this host.
///
/// It is not when the engine's networks are in a virtual machine or another network namespace, although its socket is
/// here.
pub(crate) fn is_reachable(gateway: IpAddr) -> bool {
    UdpSocket::bind(SocketAddr::new(gateway, 0)).is_ok()
}

/// Waits until one of the ports accepts a connection.
pub(crate) async fn any_port(address: IpAddr, ports: &[u16]) {
    let ports = ports.iter().map(|&port| Box::pin(open(address, port)));
    let ports: Vec<_> = ports.collect();
    if !ports.is_empty() {
        select_all(ports).await;
    }
}

/// Waits until all of the ports accept connections.
pub(crate) async fn all_ports(address: IpAddr, ports: &[u16]) {
    join_all(ports.iter().map(|&port| open(address, port))).await;
}

async fn open(address: IpAddr, port: u16) {
    loop {
        let connected = tokio::time::timeout(TRY, TcpStream::connect((address, port))).await;
        if matches!(connected, Ok(Ok(_))) {
            return;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Waits for a response with a status from 200 to 399.
pub(crate) async fn http(address: IpAddr, port: u16, path: &str) {
    loop {
        let status = tokio::time::timeout(TRY, status(address, port, path)).await;
        if matches!(status, Ok(Ok(200..=399))) {
            return;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn status(address: IpAddr, port: u16, path: &str) -> io::Result<u16> {
    let mut connection = TcpStream::connect((address, port)).await?;
    let host = SocketAddr::new(address, port);
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: runwright\r\nAccept: */*\r\nConnection: close\r\n\r\n"
    );
    connection.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    let mut beginning = connection.take(LONGEST_STATUS_LINE as u64);
    beginning.read_to_end(&mut answer).await?;
    status_of(&answer).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Parses the status at the beginning of a response.
fn status_of(answer: &[u8]) -> Option<u16> {
    let answer = answer.strip_prefix(b"HTTP/1.")?;
    let (_, rest) = answer.split_first()?;
    let status = rest.strip_prefix(b" ")?.get(..3)?;
    std::str::from_utf8(status).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_is_in_the_first_line() {
        let check = |answer: &str, expect: Option<u16>| {
            assert_eq!(status_of(answer.as_bytes()), expect, "{answer}");
        };
        check("HTTP/1.1 204 No Content\r\n", Some(204));
        check("HTTP/1.0 503", Some(503));
        check("HTTP/1.1 2", None);
        check("HTTP/1.1 abc", None);
        check("SSH-2.0-x", None);
        check("", None);
    }

    #[test]
    fn only_addresses_of_this_host_are_reachable() {
        assert!(is_reachable([127, 0, 0, 1].into()));
        // A documentation address, which no host has.
        assert!(!is_reachable([203, 0, 113, 77].into()));
    }

    #[tokio::test]
    async fn an_opening_port_is_detected() {
        let localhost = IpAddr::from([127, 0, 0, 1]);
        // Bound, so that no other process takes it, and not open yet.
        let taken = tokio::net::TcpSocket::new_v4().unwrap();
        taken.bind((localhost, 0).into()).unwrap();
        let port = taken.local_addr().unwrap().port();
        let open = async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            taken.listen(1).unwrap()
        };
        // Port 1 stays closed; one open port is enough.
        let ports = [1, port];
        let (listener, ()) = tokio::join!(open, any_port(localhost, &ports));
        drop(listener);
    }
}
