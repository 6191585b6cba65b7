use crate::resolver::look_up;
use crate::route::{Proxy, Routes};
use crate::rules::Rules;
use crate::trust::Trust;
use crate::{Origin, Resolver, WebError};
use parking_lot::Mutex;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Client, redirect};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::{self, Handle};

/// How many clients are kept.
const KEPT: usize = 64;

/// The clients, one for each server: a connection is used only for the server whose address was checked.
///
/// There is also one for each runtime: the runtime that opened a connection drives it, and it may be blocked or
/// gone when another runtime sends a request.
#[derive(Debug)]
pub(crate) struct Clients {
    pub(crate) rules: Arc<Rules>,
    pub(crate) routes: Routes,
    pub(crate) trust: Trust,
    pub(crate) resolver: Arc<dyn Resolver>,
    kept: Mutex<HashMap<(runtime::Id, Origin), Client>>,
}

impl Clients {
    pub(crate) fn new(
        rules: Rules,
        routes: Routes,
        trust: Trust,
        resolver: Arc<dyn Resolver>,
    ) -> Self {
        Self {
            rules: Arc::new(rules),
            routes,
            trust,
            resolver,
            kept: Mutex::default(),
        }
    }

    /// Returns the client for a server.
    pub(crate) fn client(&self, server: &Origin) -> Result<Client, WebError> {
        let mut kept = self.kept.lock();
        let key = (Handle::current().id(), server.clone());
        if let Some(client) = kept.get(&key) {
            return Ok(client.clone());
        }
        let client = self.make(server)?;
        if kept.len() >= KEPT {
            // With this many servers, no single one is used often enough to keep its connection.
            kept.clear();
        }
        kept.insert(key, client.clone());
        Ok(client)
    }

    fn make(&self, server: &Origin) -> Result<Client, WebError> {
        let proxy = self.routes.proxy(server);
        let encrypted = server.scheme == "https" || proxy.is_some_and(|proxy| proxy.encrypted);
        let trust = if encrypted {
            self.trust.config()
        } else {
            self.trust.none()
        };
        let trust = trust.map_err(|reason| WebError::Untrusted {
            server: server.clone(),
            reason: format!("there is nobody to trust: {reason}"),
            help: "install your system's certificates (`ca-certificates`), or name a file with some in `SSL_CERT_FILE`"
                .to_owned(),
        })?;
        let lookup = Lookup {
            resolver: Arc::clone(&self.resolver),
            rules: Arc::clone(&self.rules),
            server: server.clone(),
            proxy: proxy.cloned(),
        };
        let mut builder = Client::builder()
            .tls_backend_preconfigured(trust)
            .dns_resolver(Arc::new(lookup))
            // This crate does all of these itself, under its rules.
            .redirect(redirect::Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            // The proxies of the environment are in the options already.
            .no_proxy()
            .pool_max_idle_per_host(8)
            .pool_idle_timeout(Duration::from_secs(30))
            .user_agent(concat!("runwright/", env!("CARGO_PKG_VERSION")));
        let setup = |_| WebError::Setup(format!("no client can be made for {server}"));
        if let Some(proxy) = proxy {
            builder = builder.proxy(reqwest::Proxy::all(&proxy.url).map_err(setup)?);
        }
        builder.build().map_err(setup)
    }
}

/// Looks up a server for its client and checks the addresses. The client connects to those that are returned.
#[derive(Debug)]
struct Lookup {
    resolver: Arc<dyn Resolver>,
    rules: Arc<Rules>,
    server: Origin,
    proxy: Option<Proxy>,
}

impl Resolve for Lookup {
    fn resolve(&self, name: Name) -> Resolving {
        let resolver = Arc::clone(&self.resolver);
        let rules = Arc::clone(&self.rules);
        let server = self.server.clone();
        let proxy = self.proxy.clone();
        Box::pin(async move {
            let host = name.as_str();
            let unreachable = |reason: String| WebError::Unreachable {
                server: server.clone(),
                reason,
            };
            // A client looks up its own server or its proxy. Any other name has not been checked.
            if host != proxy.as_ref().map_or(&server.host, |proxy| &proxy.host) {
                let reason = format!("{host} is not what was to be looked up");
                return Err(unreachable(reason).into());
            }
            let found = look_up(&*resolver, host).await.map_err(|error| {
                unreachable(format!("the name {host} cannot be looked up: {error}"))
            })?;
            if found.is_empty() {
                return Err(unreachable(format!("the name {host} has no address")).into());
            }
            if proxy.is_none() {
                rules.check_addresses(&server, &found)?;
            }
            // The client fills in the port.
            let found = found.into_iter().map(|address| SocketAddr::new(address, 0));
            Ok(Box::new(found) as Addrs)
        })
    }
}
