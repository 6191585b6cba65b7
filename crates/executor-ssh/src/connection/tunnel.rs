//! A channel of one connection as the socket of the next one (`ProxyJump`).

use super::channel::{Channel, Event};
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::thread;
use tokio::runtime::Handle;

/// Returns a socket that is joined to the channel. Both directions end with either of them.
pub(super) fn socket_of(channel: Channel, runtime: &Handle) -> io::Result<UnixStream> {
    let (own, theirs) = UnixStream::pair()?;
    let Channel {
        mut input,
        mut output,
        ..
    } = channel;
    let (mut reader, mut writer) = (own.try_clone()?, own);
    let at_work = runtime.clone();
    thread::Builder::new()
        .name("ssh-to-jump".to_owned())
        .spawn(move || {
            let mut buffer = vec![0; super::worker::PIECE];
            while let Ok(count @ 1..) = reader.read(&mut buffer) {
                if at_work
                    .block_on(input.write(buffer[..count].to_vec()))
                    .is_err()
                {
                    break;
                }
            }
            let _ = reader.shutdown(Shutdown::Both);
        })?;
    let at_work = runtime.clone();
    thread::Builder::new()
        .name("ssh-from-jump".to_owned())
        .spawn(move || {
            while let Some(event) = at_work.block_on(output.next()) {
                match event {
                    Event::Stdout(bytes) if writer.write_all(&bytes).is_ok() => {}
                    Event::Stderr(_) => {}
                    Event::Stdout(_) | Event::Ended(_) => break,
                }
            }
            let _ = writer.shutdown(Shutdown::Both);
        })?;
    Ok(theirs)
}
