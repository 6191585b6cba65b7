use crate::server::{Seen, Server, Wire, read};
use parking_lot::Mutex;
use std::io::{self, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread;

/// The requests to a proxy: the target, and the proxy's user.
pub(crate) type Asked = Arc<Mutex<Vec<(String, Option<String>)>>>;

/// Starts a proxy whose tunnels all lead to one server, whatever name is requested.
pub(crate) fn tunnels(to: SocketAddr) -> (Server, Asked) {
    let asked = Asked::default();
    let proxy = Server::speaking({
        let asked = Arc::clone(&asked);
        move |mut client| {
            let mut reader = BufReader::new(client.try_clone()?);
            let seen = read(&mut reader)?;
            note(&asked, seen.target.clone(), credential(&seen));
            if seen.method != "CONNECT" {
                return client.answer("405 Method Not Allowed", &[], b"");
            }
            client.write_all(b"HTTP/1.1 200 Connected\r\n\r\n")?;
            join(client, to)
        }
    });
    (proxy, asked)
}

/// Starts a SOCKS proxy with a user and a password, whose connections all lead to one server.
pub(crate) fn socks(to: SocketAddr) -> (Server, Asked) {
    let asked = Asked::default();
    let proxy = Server::speaking({
        let asked = Arc::clone(&asked);
        move |mut client| {
            let [_, methods] = take(&mut client)?;
            let offered = take_some(&mut client, methods)?;
            let user = if offered.contains(&2) {
                client.write_all(&[5, 2])?;
                let [_, length] = take(&mut client)?;
                let user = take_some(&mut client, length)?;
                let [length] = take(&mut client)?;
                let password = take_some(&mut client, length)?;
                client.write_all(&[1, 0])?;
                Some(format!("{}:{}", text(user), text(password)))
            } else {
                client.write_all(&[5, 0])?;
                None
            };
            let [_, _, _, kind] = take(&mut client)?;
            let target = match kind {
                1 => take::<4>(&mut client)?
                    .map(|byte| byte.to_string())
                    .join("."),
                3 => {
                    let [length] = take(&mut client)?;
                    text(take_some(&mut client, length)?)
                }
                _ => "an address of IPv6".to_owned(),
            };
            let port = u16::from_be_bytes(take(&mut client)?);
            note(&asked, format!("{target}:{port}"), user);
            client.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0])?;
            join(client, to)
        }
    });
    (proxy, asked)
}

pub(crate) fn credential(seen: &Seen) -> Option<String> {
    seen.header("proxy-authorization").map(str::to_owned)
}

fn note(asked: &Asked, target: String, user: Option<String>) {
    asked.lock().push((target, user));
}

/// Copies data in both directions until one side closes.
fn join(client: TcpStream, to: SocketAddr) -> io::Result<()> {
    let server = TcpStream::connect(to)?;
    let (mut from_client, mut to_server) = (client.try_clone()?, server.try_clone()?);
    let there = thread::spawn(move || {
        let _ = io::copy(&mut from_client, &mut to_server);
        let _ = to_server.shutdown(Shutdown::Write);
    });
    let (mut server, mut client) = (server, client);
    let _ = io::copy(&mut server, &mut client);
    let _ = client.shutdown(Shutdown::Both);
    let _ = there.join();
    Ok(())
}

fn take<const N: usize>(client: &mut TcpStream) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    client.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn take_some(client: &mut TcpStream, length: u8) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::from(length)];
    client.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("text")
}
