//! A proxy that cuts connections after a number of bytes.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

/// Forwards connections to a port.
pub(crate) struct FaultProxy {
    pub(crate) port: u16,
    state: Arc<State>,
}

struct State {
    target: u16,
    /// After how many bytes from the host the current connection is cut; `u64::MAX` for never.
    left: AtomicU64,
    cuts: AtomicU64,
    /// How many bytes went to the host.
    sent: AtomicU64,
    is_over: AtomicBool,
}

impl FaultProxy {
    pub(crate) fn start(target: u16) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(State {
            target,
            left: AtomicU64::new(u64::MAX),
            cuts: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
        });
        let own = Arc::clone(&state);
        thread::spawn(move || {
            for client in listener.incoming() {
                if own.is_over.load(Ordering::SeqCst) {
                    return;
                }
                serve(&own, client.unwrap());
            }
        });
        Self { port, state }
    }

    /// Cuts all connections once this many more bytes have come from the host.
    pub(crate) fn cut_after(&self, bytes: u64) {
        self.state.left.store(bytes, Ordering::SeqCst);
    }

    /// Returns how many bytes went to the host.
    pub(crate) fn sent(&self) -> u64 {
        self.state.sent.load(Ordering::SeqCst)
    }

    /// Returns how often it has cut.
    pub(crate) fn cuts(&self) -> u64 {
        self.state.cuts.load(Ordering::SeqCst)
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        self.state.is_over.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
    }
}

fn serve(state: &Arc<State>, client: TcpStream) {
    let Ok(server) = TcpStream::connect((Ipv4Addr::LOCALHOST, state.target)) else {
        return;
    };
    let (mut from_client, mut to_server) =
        (client.try_clone().unwrap(), server.try_clone().unwrap());
    let counter = Arc::clone(state);
    thread::spawn(move || {
        let mut buffer = vec![0; 16 * 1024];
        while let Ok(count @ 1..) = from_client.read(&mut buffer) {
            counter.sent.fetch_add(count as u64, Ordering::SeqCst);
            if to_server.write_all(&buffer[..count]).is_err() {
                break;
            }
        }
        let _ = to_server.shutdown(Shutdown::Both);
    });
    let (state, mut server, mut client) = (Arc::clone(state), server, client);
    thread::spawn(move || {
        let mut buffer = vec![0; 16 * 1024];
        while let Ok(count @ 1..) = server.read(&mut buffer) {
            let count = count as u64;
            let left = state.left.load(Ordering::SeqCst);
            let passed = usize::try_from(count.min(left)).unwrap();
            if client.write_all(&buffer[..passed]).is_err() {
                break;
            }
            if left <= count {
                state.left.store(u64::MAX, Ordering::SeqCst);
                state.cuts.fetch_add(1, Ordering::SeqCst);
                break;
            }
            if left != u64::MAX {
                state.left.store(left - count, Ordering::SeqCst);
            }
        }
        let _ = server.shutdown(Shutdown::Both);
        let _ = client.shutdown(Shutdown::Both);
    });
}
