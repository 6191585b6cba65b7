//! A port for a test server.

use std::net::{Ipv4Addr, TcpListener};

/// Returns a free port of the loopback address, for servers that cannot report a port that they choose themselves.
///
/// # Errors
///
/// Fails when there is none.
pub(super) fn free_port() -> anyhow::Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    Ok(listener.local_addr()?.port())
}
