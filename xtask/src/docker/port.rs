//! A port for a server of the tests.

use std::net::{Ipv4Addr, TcpListener};

/// Returns a port of the loopback address that nobody has just now. Servers that cannot say which one they took are
/// told one.
///
/// # Errors
///
/// Fails when there is none.
pub(super) fn free_port() -> anyhow::Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    Ok(listener.local_addr()?.port())
}
