use async_trait::async_trait;
use std::fmt;
use std::future::poll_fn;
use std::io;
use std::net::IpAddr;
use std::task::Poll;
use std::time::Duration;
use tokio::time::timeout;

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

/// How long a lookup goes unanswered before a second one starts. The system itself waits 5 seconds before it repeats a
/// query whose packet was lost.
const PATIENCE: Duration = Duration::from_secs(1);

/// How long the second lookup may take. A dead first name server costs 5 seconds.
const LONGEST: Duration = Duration::from_secs(6);

/// Looks up a name. The first of two lookups that ends decides.
pub(crate) async fn look_up(resolver: &dyn Resolver, host: &str) -> io::Result<Vec<IpAddr>> {
    let mut first = resolver.addresses(host);
    if let Ok(found) = timeout(PATIENCE, &mut first).await {
        return found;
    }
    let mut second = resolver.addresses(host);
    let either = poll_fn(|context| match first.as_mut().poll(context) {
        Poll::Ready(found) => Poll::Ready(found),
        Poll::Pending => second.as_mut().poll(context),
    });
    timeout(LONGEST, either).await.unwrap_or_else(|_| {
        let seconds = (PATIENCE + LONGEST).as_secs();
        let error = format!("no name server answered within {seconds} seconds");
        Err(io::Error::new(io::ErrorKind::TimedOut, error))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::pending;
    use std::net::Ipv4Addr;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use tokio::time::Instant;

    /// Loses the first queries.
    #[derive(Debug)]
    struct Lossy {
        lost: usize,
        queries: AtomicUsize,
    }

    #[async_trait]
    impl Resolver for Lossy {
        async fn addresses(&self, _: &str) -> io::Result<Vec<IpAddr>> {
            if self.queries.fetch_add(1, Ordering::SeqCst) < self.lost {
                pending::<()>().await;
            }
            Ok(vec![Ipv4Addr::LOCALHOST.into()])
        }
    }

    #[tokio::test(start_paused = true)]
    async fn lost_query_is_repeated_after_a_second() {
        let check = async |lost, seconds, is_found| {
            let queries = AtomicUsize::new(0);
            let resolver = Lossy { lost, queries };
            let start = Instant::now();
            let found = look_up(&resolver, "gitlab.example").await;
            assert_eq!(found.is_ok(), is_found, "{found:?}");
            assert_eq!(start.elapsed().as_secs(), seconds, "{lost} lost");
        };
        check(0, 0, true).await;
        check(1, 1, true).await;
        check(2, 7, false).await;
    }
}
