use crate::{Web, WebError};
use tokio::time::timeout;
use url::{Host, Url};

impl Web {
    /// Checks whether a server may be reached, for callers that connect to it by other means.
    ///
    /// The name may resolve to another address when the caller looks it up again. [`Web::send`] connects to the
    /// address that it checked.
    ///
    /// # Errors
    ///
    /// When the rules refuse the server, or its name cannot be looked up.
    pub async fn check(&self, url: &Url) -> Result<(), WebError> {
        let clients = self.clients();
        let server = clients.rules.check_url(url)?;
        if clients.routes.proxy(&server).is_some() {
            return clients.rules.check_unseen(&server, url);
        }
        let Some(Host::Domain(name)) = url.host() else {
            return Ok(());
        };
        let within = self.limits().deadline;
        let found = match timeout(within, clients.resolver.addresses(name)).await {
            Ok(Ok(found)) => found,
            Ok(Err(error)) => {
                let reason = format!("the name {name} cannot be looked up: {error}");
                return Err(WebError::Unreachable { server, reason });
            }
            Err(_) => return Err(WebError::Late { server, within }),
        };
        clients.rules.check_addresses(&server, &found)
    }
}
