use async_trait::async_trait;
use std::fmt;
use std::io;
use std::net::IpAddr;

/// Who knows the addresses of a name.
///
/// A name is looked up once for a connection, and the connection goes to one of the addresses that
/// were given then.
#[async_trait]
pub trait Resolver: fmt::Debug + Send + Sync {
    /// Returns all addresses of a host.
    ///
    /// # Errors
    ///
    /// When the name is not known, or nobody can be asked.
    async fn addresses(&self, host: &str) -> io::Result<Vec<IpAddr>>;
}

/// Asks the system, which reads its `hosts` file and asks its name servers.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemResolver;

#[async_trait]
impl Resolver for SystemResolver {
    async fn addresses(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        let found = tokio::net::lookup_host((host, 0)).await?;
        Ok(found.map(|address| address.ip()).collect())
    }
}
