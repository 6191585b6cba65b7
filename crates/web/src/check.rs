use crate::{Web, WebError};
use tokio::time::timeout;
use url::{Host, Url};

impl Web {
    /// Checks whether a server may be spoken to, for whoever speaks to it by other means.
    ///
    /// Its name is looked up, and may have another address when it is looked up again: what goes through
    /// [`Web::send`] is connected to the address that was checked.
    ///
    /// # Errors
    ///
    /// When the rules refuse it, or its name cannot be looked up.
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
