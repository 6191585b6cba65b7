use async_trait::async_trait;
use std::fmt;
use std::io;
use std::net::IpAddr;

/// Looks up the addresses of names.
///
/// A name is looked up once for a connection, which then uses one of the addresses that this
/// lookup returned.
#[async_trait]
pub trait Resolver: fmt::Debug + Send + Sync {
    /// Returns all addresses of a host.
    ///
    /// # Errors
    ///
    /// When the name is unknown, or no name server responds.
    async fn addresses(&self, host: &str) -> io::Result<Vec<IpAddr>>;
}

/// The resolver of the system, which reads its `hosts` file and queries its name servers.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemResolver;

#[async_trait]
impl Resolver for SystemResolver {
    async fn addresses(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        let found = tokio::net::lookup_host((host, 0)).await?;
        Ok(found.map(|address| address.ip()).collect())
    }
}
